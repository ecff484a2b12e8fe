"""Decide which recorded answer a live call gets, and what is a divergence.

A candidate is an entry of the same kind and name whose request unifies with the live one. Among several, what could
have been asked by now comes first, then the same call id, then what needs nothing assumed, then the recorded order. A
changed request is never given an old answer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runreel.canonical import Bindings, Mismatch, canonical
from runreel.replay import unifying
from runreel.replay.compare import likeness
from runreel.replay.tape import Tape, parts_of
from runreel.replay.unifying import Call, Rules, tokens_in
from runreel.replay.values import Divergence, Entry, Nearest, OnDivergence, Raised, Returned, Streamed
from runreel.values import Kind, Value

_MOST_NEAREST = 3
_Key = tuple[str, str, str, bytes]


@dataclass(slots=True)
class Matcher:
    """The state of one replay: what has been answered, what is bound, what diverged. Not thread-safe."""

    tape: Tape
    rules: Rules
    on_divergence: OnDivergence = "stop"
    bindings: Bindings = field(default_factory=Bindings)
    answered: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    reproduced: int = 0
    divergences: list[Divergence] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    calls: int = 0
    _settled: set[int] = field(default_factory=set)
    _given: set[int] = field(default_factory=set)
    _said: dict[_Key, Divergence] = field(default_factory=dict)
    _changed_ones: set[int] = field(default_factory=set)
    _noticed: dict[int, int] = field(default_factory=dict)
    _early: dict[int, set[int]] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    _again: dict[_Key, Entry] = field(default_factory=dict)

    def serve(self, value: Value) -> None:
        """Say that the agent has been given this value: its tokens now stand for themselves."""
        self.rules = replace(self.rules, served=self.rules.served | tokens_in(value))

    def ask(self, call: Call) -> Entry | Divergence:
        """Return the entry that answers a call, or the divergence that it is."""
        self.calls += 1
        if call.kind == "llm" and isinstance(call.request, Mapping):
            self._see_results(call.request.get("messages"))
        waiting = [entry for entry in self._like(call) if entry.seq not in self._settled]
        found = self._match(call, waiting)
        if found is None:
            return self._again.get(_key(call)) or self._diverge(call, waiting)
        entry, bindings = found
        self.bindings = bindings
        self._note(entry, call)
        late = self._notice(entry)
        if late:
            self._early[len(self.divergences)] = late
            self.divergences.append(self._out_of_order(entry, call, late))
        self._give(entry)
        return entry

    def _like(self, call: Call) -> list[Entry]:
        """Return the entries a call can be compared with. The model's name is part of the request, not of the call."""
        return [
            entry
            for entry in self.tape.entries
            if entry.kind == call.kind and (call.kind == "llm" or entry.name == call.name)
        ]

    def _match(self, call: Call, waiting: Sequence[Entry]) -> tuple[Entry, Bindings] | None:
        fitting: list[tuple[Entry, Bindings]] = []
        for entry in waiting:
            if not unifying.possible(entry, call):
                continue
            bindings = unifying.compare(entry, call, self.bindings, self.rules)
            if isinstance(bindings, Bindings):
                fitting.append((entry, bindings))
        if not fitting:
            return None
        rank = {entry.seq: self._rank(entry, call, bindings) for entry, bindings in fitting}
        first = min(fitting, key=lambda found: rank[found[0].seq])
        self._note_twins(first[0], [entry for entry, _ in fitting], call)
        return first

    def _rank(self, entry: Entry, call: Call, bindings: Bindings) -> tuple[bool, bool, int, int]:
        other_id = bool(call.call_id) and entry.call_id != call.call_id
        return (not self._could_come(entry), other_id, len(bindings.assumed), entry.seq)

    def _late(self, entry: Entry) -> set[int]:
        """Return the calls whose answers the recorded call could have seen, and that have not come, nor diverged."""
        on_tape = {other.seq for other in self.tape.entries}
        return set(entry.after & on_tape - self._settled - self._changed_ones)

    def _could_come(self, entry: Entry) -> bool:
        return not self._late(entry)

    def _notice(self, entry: Entry) -> set[int]:
        """Remember which calls should have come before this one: if they never do, this is where they are missing."""
        late = self._late(entry)
        for seq in late:
            self._noticed.setdefault(seq, len(self.divergences))
        return late

    def _note_twins(self, chosen: Entry, fitting: Sequence[Entry], call: Call) -> None:
        """Two parallel calls with equal arguments and other answers cannot be told apart without their ids."""
        if call.call_id and chosen.call_id == call.call_id:
            return
        for other in fitting:
            parallel = other.seq not in chosen.after and chosen.seq not in other.after
            if other is not chosen and parallel and other.answer != chosen.answer:
                self._say(
                    f"steps {chosen.seq} and {other.seq} ({chosen.kind} {chosen.name}) are parallel calls with equal "
                    "arguments and different answers, and the call carries no id: answered in recorded order"
                )

    def _note(self, entry: Entry, call: Call) -> None:
        fields = unifying.not_compared(entry, call)
        if fields:
            self._say(f"not compared, since the record does not hold it: {', '.join(fields)} of model requests")

    def _say(self, note: str) -> None:
        self.notes[note] = None

    def _give(self, entry: Entry) -> None:
        self._settled.add(entry.seq)
        self._given.add(entry.seq)
        self.answered[entry.kind, entry.name] += 1
        if isinstance(entry.answer, (Returned, Streamed)):
            self.serve(entry.answer.value)
        else:
            self.serve((entry.answer.message, *entry.answer.fields.values()))

    def expect_again(self, call: Call, entry: Entry) -> None:
        """Say that the same request may come again and then gets the same answer: an SDK's own retries."""
        self._again[_key(call)] = entry

    def again(self, call: Call) -> Entry | None:
        """Return the entry that a request may get once more, None where it did not have to be expected again."""
        return self._again.get(_key(call))

    # --- results that no boundary gave --------------------------------------------------------------------------------

    def _see_results(self, messages: Value) -> None:
        """Look for results of recorded calls that nobody asked for.

        A recorded failure came about again in the agent's own code (arguments that do not parse, an unknown argument).
        A recorded result without a boundary is a tool that ran for real.
        """
        waiting = {
            entry.call_id: entry
            for entry in reversed(self.tape.entries)
            if entry.kind == "tool" and entry.call_id and entry.seq not in self._settled
        }
        for part in parts_of(messages, "tool_call_response"):
            entry = waiting.pop(str(part.get("id")), None)
            if entry is None or entry.seq in self._changed_ones:
                continue
            if entry.name in self._refused:  # what the agent made of being refused
                self._changed_ones.add(entry.seq)
                continue
            self._settled.add(entry.seq)
            # A tool without a span of its own shows its failures only in the text of its result: that arguments did
            # not parse is all that can be told. Whatever else came without a boundary's answer ran for real.
            if isinstance(entry.answer, Raised) or (
                entry.source == "synthesised" and not isinstance(entry.request, Mapping)
            ):
                self.reproduced += 1
            else:
                self.divergences.append(_unstubbed(entry))

    # --- divergences --------------------------------------------------------------------------------------------------

    def _diverge(self, call: Call, waiting: Sequence[Entry]) -> Entry | Divergence:
        key = _key(call)
        if key in self._said:  # the SDK or the agent tries the same again
            return self._said[key]
        expected = self._expected(call, waiting)
        if expected is not None:
            self._notice(expected)
            self._changed_ones.add(expected.seq)
        divergence = self._unrecorded(call) if expected is None else self._changed(call, expected)
        self.divergences.append(divergence)
        if self.on_divergence == "continue" and expected is not None and self._is_only(expected, call, waiting):
            self._give(expected)
            return expected
        self._said[key] = divergence
        self._refused.add(call.name)
        return divergence

    def _expected(self, call: Call, waiting: Sequence[Entry]) -> Entry | None:
        """Return the recorded call that this one stands in the place of."""

        def rank(entry: Entry) -> tuple[bool, bool, float, int]:
            same_id = bool(call.call_id) and entry.call_id == call.call_id
            alike = likeness(entry.request, call.request)
            return (not same_id, not self._could_come(entry), -alike, entry.seq)

        return min(waiting, key=rank, default=None)

    def _is_only(self, expected: Entry, call: Call, waiting: Iterable[Entry]) -> bool:
        same_id = bool(call.call_id) and expected.call_id == call.call_id
        return same_id or [entry for entry in waiting if self._could_come(entry)] == [expected]

    def _changed(self, call: Call, expected: Entry) -> Divergence:
        found = unifying.compare(expected, call, self.bindings, self.rules)
        assert isinstance(found, Mismatch)
        return Divergence(
            "input_mismatch",
            kind=call.kind,
            name=expected.name,
            recorded=expected.seq,
            replayed=self.calls,
            path=found.path,
            was=found.was,
            now=found.now,
            has_was=True,
            has_now=True,
            reason=found.reason,
            nearest=self._nearest(call),
            advice=_ADVICE["input_mismatch"],
            call_id=call.call_id,
        )

    def _unrecorded(self, call: Call) -> Divergence:
        alike = self._like(call)
        times = len(alike)
        reason = f"recorded {times} times, asked for once more" if times else "never recorded"
        if times == 1:
            reason = "recorded once, asked for again"
        return Divergence(
            "unrecorded_call",
            kind=call.kind,
            name=call.name,
            replayed=self.calls,
            now=call.request,
            has_now=True,
            reason=reason,
            nearest=self._nearest(call),
            advice=_ADVICE["unrecorded_call"],
            call_id=call.call_id,
        )

    def _nearest(self, call: Call) -> tuple[Nearest, ...]:
        found = []
        for entry in self._like(call):
            difference = unifying.compare(entry, call, self.bindings, self.rules)
            path = difference.path if isinstance(difference, Mismatch) else ""
            alike = likeness(entry.request, call.request)
            found.append(Nearest(entry.seq, entry.kind, entry.name, path, round(alike, 3), entry.seq in self._given))
        found.sort(key=lambda one: (-one.likeness, one.seq))
        return tuple(found[:_MOST_NEAREST])

    def _out_of_order(self, entry: Entry, call: Call, late: set[int]) -> Divergence:
        listed = ", ".join(map(str, sorted(late)))
        return Divergence(
            "order_mismatch",
            kind=entry.kind,
            name=entry.name,
            recorded=entry.seq,
            replayed=self.calls,
            reason=f"came before step {listed}, whose answer the recorded call could have seen",
            advice=_ADVICE["order_mismatch"],
            call_id=call.call_id,
        )

    # --- the end ------------------------------------------------------------------------------------------------------

    def finish(self, *, stopped: bool) -> tuple[tuple[Divergence, ...], int]:
        """Return every divergence in order, and how many recorded calls were not reached because of one.

        A call that never came stands where the first one came that should have followed it. `stopped`: the agent ended
        early, with an exception. What it then did not ask for any more is one fact, not a divergence for each call.
        """
        missing: dict[int, list[Divergence]] = {}
        not_reached = 0
        end = len(self.divergences)
        for entry in self.tape.entries:
            if entry.seq in self._settled or entry.seq in self._changed_ones:
                continue
            noticed = self._noticed.get(entry.seq)
            if noticed is None and end and (stopped or not self._changed_ones.isdisjoint(entry.after)):
                not_reached += 1
            else:
                missing.setdefault(end if noticed is None else noticed, []).append(_missing(entry))
        found: list[Divergence] = []
        for position, divergence in enumerate(self.divergences):
            found += missing.get(position, ())
            late = self._early.get(position)
            # Out of order is only what came before a call that came, too.
            if late is None or late & self._settled:
                found.append(self._settle(divergence))
        return (*found, *missing.get(end, ())), not_reached

    def _settle(self, divergence: Divergence) -> Divergence:
        """A changed call whose recorded one was asked for after all was a call more, not a changed one."""
        if divergence.type == "input_mismatch" and divergence.recorded in self._given and self.on_divergence == "stop":
            return replace(
                divergence,
                type="unrecorded_call",
                recorded=None,
                reason="the recorded calls of this name were all made as well",
                advice=_ADVICE["unrecorded_call"],
            )
        return divergence


def _key(call: Call) -> _Key:
    return call.kind, call.name, call.call_id, canonical(call.request)


_ADVICE: Mapping[str, str] = {
    "input_mismatch": "the agent's code, prompt or input changed what it asks here; if that is meant, record a new run",
    "unrecorded_call": "the agent does something it did not do when it was recorded; nothing recorded answers it",
    "missing_call": "the agent no longer does what it did when it was recorded",
    "order_mismatch": "the agent asks in another order than it was recorded, across a dependency",
    "unstubbed_tool": "name the function that runs: --tool NAME=module:function",
}


def _unstubbed(entry: Entry) -> Divergence:
    return Divergence(
        "unstubbed_tool",
        kind=entry.kind,
        name=entry.name,
        recorded=entry.seq,
        reason="its result reached the model, but no boundary was asked: another function than the one found ran",
        advice=_ADVICE["unstubbed_tool"],
        call_id=entry.call_id,
    )


def _missing(entry: Entry) -> Divergence:
    return Divergence(
        "missing_call",
        kind=entry.kind,
        name=entry.name,
        recorded=entry.seq,
        was=entry.request,
        has_was=True,
        reason="recorded, never asked for",
        advice=_ADVICE["missing_call"],
        call_id=entry.call_id,
    )
