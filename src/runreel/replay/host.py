"""The replay's side of the conversation: answer what the agent's process asks, keep what it tells."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from runreel.canonical import Mismatch, dumps, loads
from runreel.record.convert import rebuild, thaw
from runreel.replay import wire
from runreel.replay.cleaning import mask
from runreel.replay.divergences import contract_changed, near
from runreel.replay.matching import Matcher
from runreel.replay.protocol import Channel, Frame
from runreel.replay.sandbox.findings import TELEMETRY_HOSTS
from runreel.replay.unifying import Call
from runreel.replay.values import Divergence, Entry, Raised
from runreel.replay.wire.values import HttpRequest, HttpResponse, ModelRequest
from runreel.values import Value

# An agent that goes on asking after so many calls without an answer is in a loop that only an answer would end.
MOST_REFUSALS = 200


@dataclass(slots=True)
class Host:
    """Serves one child until its end of the stream closes. `told` holds what it said of itself, by frame type.

    The child opens its debugger at the first call that asks for the recorded step `break_at`.
    """

    matcher: Matcher
    channel: Channel
    told: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    network: list[dict[str, str]] = field(default_factory=list)
    network_at: dict[str, int] = field(default_factory=dict)
    otlp: list[tuple[str, str, bytes]] = field(default_factory=list, repr=False)
    notes: dict[str, None] = field(default_factory=dict)
    parsers: list[Mapping[str, Any]] = field(default_factory=list)
    refusals: int = 0
    break_at: int | None = None
    _stop: str = ""

    def serve(self) -> bool:
        """Answer until the child is gone: True. False where it is to be ended: it asks on and on without getting
        answers, or somebody left the debugger in it or in a program of its own."""
        while (frame := self.channel.receive()) is not None:
            if self.refusals >= MOST_REFUSALS:
                return False
            if "id" in frame.head:
                reply = self._call(frame) if frame.type == "call" else self._http(frame)
                # A child that is gone by now hears of it no more; the next receive says so.
                with contextlib.suppress(OSError):
                    self.channel.send(
                        Frame("reply", {**reply.head, **self._stopped(), "id": frame.get("id")}, reply.body)
                    )
            elif frame.type == "left":
                self.told["left"] = frame.head
                return False
            else:
                self._hear(frame)
        return True

    def _hear(self, frame: Frame) -> None:
        if frame.type == "otlp":
            self.otlp.append((frame.get("signal"), frame.get("encoding"), frame.body))
        elif frame.type == "network":
            facts = {name: str(value) for name, value in frame.head.items()}
            self.network.append(facts)
            self.network_at.setdefault(mask(facts.get("target", "")), len(self.matcher.divergences))
        elif frame.type == "parser":
            self.parsers.append(dict(frame.head))
        elif frame.type == "drew":
            self.matcher.drawn.add(str(frame.get("kind")), frame.get("value"))
        elif frame.type == "note":
            self.notes[frame.get("text")] = None
        elif frame.type == "unanswered":
            self.matcher.divergences.append(_unanswered(frame))
        elif frame.type == "forked":
            self.notes["a forked process asked for a recorded answer, which it cannot get: use threads"] = None
            self.matcher.divergences.append(_forked(frame))
        else:
            self.told[frame.type] = frame.head

    def _ask(self, call: Call) -> Entry | Divergence:
        """Ask the matcher; remember whether this is the call to stop at."""
        found = self.matcher.ask(call)
        step = found.seq if isinstance(found, Entry) else found.recorded
        if step is not None and step == self.break_at:
            self.break_at = None  # an SDK's or the agent's second try is answered without another stop
            title = f"step {step} ({call.kind} {call.name})"
            self._stop = title if isinstance(found, Entry) else f"{title}, which diverges: {explain(found)};"
            self.notes[f"stopped in the debugger at step {step}; what was changed there is part of this replay"] = None
        return found

    def _stopped(self) -> dict[str, str]:
        stop, self._stop = self._stop, ""
        return {"stop": stop} if stop else {}

    # --- tools and retrievals -----------------------------------------------------------------------------------------

    def _call(self, frame: Frame) -> Frame:
        asked = loads(frame.body.decode())
        assert isinstance(asked, Mapping)
        defaults = asked.get("defaults")
        call = Call(
            frame.get("kind"),
            frame.get("name"),
            asked.get("arguments"),
            frame.get("call_id"),
            defaults if isinstance(defaults, Mapping) else {},
            via=frame.get("via", ""),
        )
        found = self._ask(call)
        if isinstance(found, Divergence):
            return self._refused(found)
        self._compare_contract(found, frame.get("contract", ""))
        answer = found.answer
        if isinstance(answer, Raised):
            head = {"how": "raised", "error_type": answer.type, "clock_ns": found.end_ns}
            if "causes" in answer.fields:
                head["causes"] = thaw(answer.fields["causes"])
            if "arguments" in answer.fields:
                head["arguments"] = answer.fields["arguments"]
            return Frame("reply", head, dumps(answer.message).encode())
        self._note_known(call, answer.value, asked.get("known"))
        # What the conventions say of a model's answer is not what the recorded function returned.
        value = rebuild(answer.value, answer.fields.get("replay")) if found.kind == "llm" else answer.value
        return Frame("reply", {"how": "returned", "clock_ns": found.end_ns}, dumps(value).encode())

    def _compare_contract(self, entry: Entry, now: str) -> None:
        """A contract that judges a recorded call otherwise is a finding, whatever the agent makes of it."""
        if not now:
            return
        fields = next((step.fields for step in self.matcher.tape.run.steps if step.seq == entry.seq), {})
        recorded = fields.get("contract")
        was = recorded.get("decision") if isinstance(recorded, Mapping) else None
        if was and was != now:
            self.matcher.divergences.append(contract_changed(entry, was, now))

    def _note_known(self, call: Call, recorded: Value, known: Value) -> None:
        """Note a prompt whose text or version is another one in the code by now: what was recorded was served."""
        if not isinstance(known, Mapping) or not isinstance(recorded, Mapping):
            return
        rules, bindings = self.matcher.rules, self.matcher.bindings
        changed = [
            name
            for name, now in known.items()
            if name in recorded and isinstance(rules.unify(recorded[name], now, bindings), Mismatch)
        ]
        if changed:
            told = call.request.get("arguments") if isinstance(call.request, Mapping) else None
            name = str(told.get("key")) if isinstance(told, Mapping) else call.name
            text = f"prompt {name}: its {' and '.join(sorted(changed))} in the code is another one than in the record"
            self.notes[f"{text}; the agent was given the recorded one, version {recorded.get('version')!s}"] = None

    def _refused(self, divergence: Divergence) -> Frame:
        self.refusals += 1
        return Frame("reply", {"how": "diverged", "message": explain(divergence)})

    # --- HTTP ---------------------------------------------------------------------------------------------------------

    def _http(self, frame: Frame) -> Frame:
        headers = tuple((name, value) for name, value in frame.get("headers"))
        request = HttpRequest(frame.get("method"), frame.get("url"), headers, frame.body)
        asked = wire.parse(request)
        if asked is None:
            return self._no_model(request, frame.get("stack", ()))
        return self._model(request, asked)

    def _model(self, request: HttpRequest, asked: ModelRequest) -> Frame:
        """Answer a request to a model, from the record: the one place to answer it from elsewhere."""
        call = model_call(asked)
        # What an SDK tries again by itself is no call of its agent's, and must not take the answer of the next one.
        again = self.matcher.again(call) if wire.is_own_retry(request) else None
        found = again or self._ask(call)
        if isinstance(found, Divergence):
            self.refusals += 1
            return _response(wire.refuse(asked, explain(found), found.type), 0)
        self._note_gaps(asked, found)
        return self._answered(asked, call, found)

    def _note_gaps(self, asked: ModelRequest, entry: Entry) -> None:
        for what in wire.gaps(asked, entry.answer):
            self.notes[f"{entry.title()}: no record holds {what}: the agent was answered without it"] = None
        for what in wire.not_recorded(asked, entry.answer):
            self.notes[f"not recorded, and so not as it was: {what}"] = None

    def _answered(self, asked: ModelRequest, call: Call, entry: Entry) -> Frame:
        if wire.may_come_again(asked, entry.answer):
            self.matcher.expect_again(call, entry)
        try:
            return _response(wire.render(asked, entry.answer), entry.end_ns)
        except TimeoutError as error:
            how, text = "timeout", str(error)
        except ConnectionError as error:
            how, text = "lost", str(error)
        # The SDK tries again by itself, as it did when it was recorded: one step, several requests.
        self.matcher.expect_again(call, entry)
        return Frame("reply", {"how": how, "message": text, "clock_ns": entry.end_ns})

    def _no_model(self, request: HttpRequest, stack: Sequence[str]) -> Frame:
        """Refuse a request that is no model's: nothing recorded answers it, and it does not go out."""
        self.refusals += 1
        host = urlsplit(request.url).hostname or "?"
        if any(host == name or host.endswith(f".{name}") for name in TELEMETRY_HOSTS):
            self.notes[f"telemetry of a vendor was not sent: {request.method} {host}"] = None
        else:
            self.matcher.divergences.append(_unknown_http(request.method, host, self.matcher.calls, stack))
        return Frame("reply", {"how": "refused", "message": f"a replay makes no live calls: {request.method} {host}"})


def model_call(asked: ModelRequest) -> Call:
    """Return a model request in the form that entries have."""
    request: Value = {
        "model": asked.model,
        "messages": asked.messages,
        "tools": asked.tool_definitions,
        "params": asked.params,
    }
    return Call("llm", asked.model, request, api=asked.api, via=f"wire {asked.api}")


def explain(divergence: Divergence) -> str:
    """Say in one sentence what diverged; the agent's process may log it anywhere, so it holds no value."""
    what = f"{divergence.kind} {divergence.name}".strip()
    step = f" of step {divergence.recorded}" if divergence.recorded is not None else ""
    path = f" at {mask(divergence.path)}" if divergence.path else ""
    reason = f": {divergence.reason}" if divergence.type == "unrecorded_call" else ""
    nearest = next((one for one in divergence.nearest if one.seq != divergence.recorded), None)
    close = f"; nearest recorded: {near(nearest)}" if nearest else ""
    return f"runreel replay: {divergence.type}{step} ({what}){path}{reason}{close}"


def _response(response: HttpResponse, end_ns: int) -> Frame:
    head: dict[str, Any] = {"status": response.status, "headers": [list(pair) for pair in response.headers]}
    if end_ns:
        head["clock_ns"] = end_ns
    if isinstance(response.body, bytes):
        return Frame("reply", head, response.body)
    chunks, head["end"] = _drained(response.body)
    head["chunks"] = [len(chunk) for chunk in chunks]
    return Frame("reply", head, b"".join(chunks))


def _drained(body: Iterator[bytes]) -> tuple[list[bytes], str]:
    """Read a stream to its end; return its pieces and how it broke off, if it did."""
    chunks: list[bytes] = []
    try:
        chunks.extend(body)
    except TimeoutError:
        return chunks, "timeout"
    except ConnectionError:
        return chunks, "lost"
    return chunks, ""


def _unknown_http(method: str, host: str, calls: int, stack: Sequence[str]) -> Divergence:
    at = f", at {mask(' < '.join(stack))}" if stack else ""
    return Divergence(
        "network_attempt",
        name=f"{method} {host}",
        replayed=calls,
        reason=f"an HTTP request that goes to no model, outside of any recorded tool{at}",
        advice="put it behind a tool: @runreel.record.tool, or --tool NAME=module:function",
    )


def _unanswered(frame: Frame) -> Divergence:
    return Divergence(
        "unstubbed_tool",
        name=frame.get("name", ""),
        reason="a program that would have run without the replay: its tools would have been live; it was not started",
        advice="start a Python that has runreel installed, without -E, -I and -S, while it is replayed",
    )


def _forked(frame: Frame) -> Divergence:
    return Divergence(
        "unrecorded_call",
        name=frame.get("name", ""),
        reason="asked for in a forked process, which cannot be answered",
        advice="run the agent's work in threads or tasks while it is replayed",
    )
