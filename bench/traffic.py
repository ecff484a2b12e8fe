"""Deterministic traffic of LLM agents as OTLP traces: the same seed gives the same bytes, on every machine.

    spans = make_run(steps=20, seed=7)
    for body in batches(make_runs(10, seed=1), 64): ...

A run is one trace: a root `invoke_agent` span and, per step, a `chat` span that sends the whole growing history again
(system prompt, tool definitions, every message so far), then an `execute_tool` span, and every few steps a `retrieval`
span. Payloads are OpenTelemetry's GenAI attributes, as JSON strings.
"""

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import texts
from texts import Planted

Attribute: TypeAlias = "str | int | float | bool | list[str]"

PAYLOAD_KEYS = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.retrieval.documents",
)
"""The attributes that carry content; the rest is about a kilobyte a span."""

_START_NS = 1_764_000_000_000_000_000
_TENANT = "acme"


@dataclass(frozen=True, slots=True)
class Agent:
    """What is constant across the runs of one agent."""

    id: str
    name: str
    model: str
    provider: str
    system: str
    tools: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TrafficEvent:
    name: str
    time_ns: int
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class TrafficSpan:
    """One span before it is encoded. Ids are bytes; `status` is OTLP's code; `planted` is what was put into it."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Attribute]
    events: tuple[TrafficEvent, ...] = ()
    status: int = 0
    planted: tuple[Planted, ...] = ()


@dataclass(frozen=True, slots=True)
class Mix:
    """What runs are made of.

    Attributes:
        tool_bytes: Smallest and largest tool result, log-uniform between.
        retrieval_every: A retrieval before every so many model calls; 0 means none.
        chunks, chunk_bytes: How many documents a retrieval returns, and how long each is.
        planted_every: A personal value or secret about every so many characters of text from outside; 0 plants none.
    """

    tool_bytes: tuple[int, int] = (1000, 40000)
    retrieval_every: int = 4
    chunks: int = 5
    chunk_bytes: int = 2000
    planted_every: int = 1500


DEFAULT_MIX = Mix()


def make_agent(seed: int = 0) -> Agent:
    """Return an agent with a prompt of 2 to 8 KB and tool definitions of 4 to 10 KB."""
    rng = random.Random(f"agent-{seed}")
    tools: list[dict[str, Any]] = []
    size, wanted = 0, rng.randint(4000, 10000)
    while size < wanted:
        tools.append(_tool(rng))
        size += len(json.dumps(tools[-1]))
    name = f"{rng.choice(texts.DOMAIN)}-{rng.choice(texts.DOMAIN)}-agent"
    model = rng.choice(["gpt-5.2", "claude-sonnet-5", "gemini-3-pro"])
    return Agent(f"agent-{seed}", name, model, "openai", texts.prose(rng, rng.randint(2000, 8000)), tools)


def _tool(rng: random.Random) -> dict[str, Any]:
    name = f"{rng.choice(texts.DOMAIN)}_{rng.choice(texts.DOMAIN)}"
    description = texts.prose(rng, rng.randint(120, 500))
    properties = {
        parameter: {"type": rng.choice(["string", "integer", "boolean", "array"]), "description": texts.sentence(rng)}
        for parameter in rng.sample(texts.DOMAIN, rng.randint(2, 6))
    }
    parameters = {"type": "object", "required": sorted(properties)[:2], "properties": properties}
    return {"type": "function", "name": name, "description": description, "parameters": parameters}


def make_run(steps: int = 20, seed: int = 0, agent: Agent | None = None, mix: Mix = DEFAULT_MIX) -> list[TrafficSpan]:
    """Return the spans of one run of `steps` model calls: 2 * steps of them, and one for each retrieval."""
    return _Run(seed, agent or make_agent(seed % 5), mix).spans(steps)


def make_runs(
    count: int, seed: int = 0, steps: tuple[int, int] = (2, 25), agent: Agent | None = None, mix: Mix = DEFAULT_MIX
) -> Iterator[TrafficSpan]:
    """Yield the spans of `count` runs whose lengths are log-uniform in `steps`: 5 to 60 spans each by default."""
    rng = random.Random(f"runs-{seed}")
    low, high = steps
    for number in range(count):
        length = texts.size(rng, low, high) if low != high else low
        yield from make_run(length, seed * 100_000 + number, agent, mix)


class _Run:
    """One run while it is made: its clock, its history, its spans."""

    def __init__(self, seed: int, agent: Agent, mix: Mix) -> None:
        self._rng = random.Random(f"run-{seed}")
        self._seed, self._agent, self._mix = seed, agent, mix
        self._trace_id = self._rng.getrandbits(128).to_bytes(16, "big")
        self._now_ns = _START_NS + seed * 10**9
        self._history: list[dict[str, Any]] = []
        self._spans: list[TrafficSpan] = []
        self._base: dict[str, Attribute] = {
            "gen_ai.provider.name": agent.provider,
            "gen_ai.agent.name": agent.name,
            "gen_ai.agent.id": agent.id,
            "gen_ai.conversation.id": self._trace_id.hex(),
            "tenant.id": _TENANT,
            "session.id": f"s-{seed % 97}",
            "user.id": f"u-{seed % 31}",
        }
        self._system = _json([{"type": "text", "content": agent.system}])
        self._tools = _json(agent.tools)

    def spans(self, steps: int) -> list[TrafficSpan]:
        self._ask()
        every = self._mix.retrieval_every
        for step in range(steps):
            if every and step % every == every - 1:
                self._retrieve()
            self._step(last=step == steps - 1)
        root, last = self._spans[0], self._spans[-1]
        answered = {"gen_ai.output.messages": last.attributes.get("gen_ai.output.messages", "[]")}
        self._spans[0] = replace(root, end_ns=self._now_ns, attributes={**root.attributes, **answered})
        return self._spans

    def _ask(self) -> None:
        rng = self._rng
        planted: list[Planted] = []
        content = texts.salt(rng, texts.prose(rng, texts.size(rng, 200, 3000)), self._mix.planted_every, planted)
        message = {"role": "user", "parts": [{"type": "text", "content": content}]}
        self._history.append(message)
        attributes: dict[str, Attribute] = {
            **self._base,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.request.model": self._agent.model,
            "gen_ai.input.messages": _json([message]),
        }
        self._span(f"invoke_agent {self._agent.name}", 1, attributes, 1, planted)

    def _retrieve(self) -> None:
        rng, mix = self._rng, self._mix
        planted: list[Planted] = []
        documents: list[dict[str, Any]] = [
            {
                "id": f"doc-{rng.randint(1, 5000)}",
                "score": round(rng.random(), 4),
                "content": texts.salt(rng, texts.prose(rng, mix.chunk_bytes), mix.planted_every, planted),
            }
            for _ in range(mix.chunks)
        ]
        source = f"kb-{self._seed % 7}"
        took_ms = rng.randint(5, 90)
        attributes: dict[str, Attribute] = {
            **self._base,
            "gen_ai.operation.name": "retrieval",
            "gen_ai.data_source.id": source,
            "gen_ai.retrieval.query.text": texts.sentence(rng),
            "gen_ai.retrieval.documents": _json(documents),
        }
        self._span(f"retrieval {source}", took_ms, attributes, 3, planted)
        content = "Context:\n" + "\n---\n".join(document["content"] for document in documents)
        self._history.append({"role": "user", "parts": [{"type": "text", "content": content}]})

    def _step(self, *, last: bool) -> None:
        rng = self._rng
        parts = [{"type": "text", "content": texts.prose(rng, texts.size(rng, 80, 3000 if last else 900))}]
        call: dict[str, Any] | None = None
        if not last:
            tool = rng.choice(self._agent.tools)
            call_id = f"call_{texts.pick(rng, texts.BASE62, 24)}"
            arguments = {name: texts.sentence(rng)[:60] for name in tool["parameters"]["required"]}
            call = {"type": "tool_call", "id": call_id, "name": tool["name"], "arguments": arguments}
            parts.append(call)
        self._chat(parts, "stop" if last else "tool_call")
        self._history.append({"role": "assistant", "parts": parts})
        if call:
            self._call(call)

    def _chat(self, parts: Sequence[Mapping[str, Any]], finish: str) -> None:
        rng, model = self._rng, self._agent.model
        output = _json([{"role": "assistant", "parts": parts, "finish_reason": finish}])
        given = _json(self._history)
        took_ms = rng.randint(400, 9000)
        attributes: dict[str, Attribute] = {
            **self._base,
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": model,
            "gen_ai.response.model": model + "-2026-10-01",
            "gen_ai.response.id": "resp_" + texts.pick(rng, texts.BASE62, 28),
            "gen_ai.request.temperature": 0.2,
            "gen_ai.request.max_tokens": 8192,
            "gen_ai.response.finish_reasons": [finish],
            "gen_ai.usage.input_tokens": (len(given) + len(self._system) + len(self._tools)) // 4,
            "gen_ai.usage.output_tokens": (len(output) - 2) // 4,
            "gen_ai.usage.cache_read.input_tokens": len(given) // 5,
            "gen_ai.output.type": "text",
            "server.address": "api.example.com",
            "server.port": 443,
            "gen_ai.system_instructions": self._system,
            "gen_ai.tool.definitions": self._tools,
            "gen_ai.input.messages": given,
            "gen_ai.output.messages": output,
        }
        self._span(f"chat {model}", took_ms, attributes, 3)

    def _call(self, call: Mapping[str, Any]) -> None:
        rng = self._rng
        planted: list[Planted] = []
        size = texts.size(rng, *self._mix.tool_bytes)
        result = texts.salt(rng, rng.choice(texts.KINDS)(rng, size), self._mix.planted_every, planted)
        took_ms = rng.randint(5, 3000)
        attributes: dict[str, Attribute] = {
            **self._base,
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call["name"],
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call["id"],
            "gen_ai.tool.call.arguments": _json(call["arguments"]),
            "gen_ai.tool.call.result": _json(result),
        }
        self._span(f"execute_tool {call['name']}", took_ms, attributes, 1, planted, failed=rng.random() <= 0.04)
        response = {"type": "tool_call_response", "id": call["id"], "response": result}
        self._history.append({"role": "tool", "parts": [response]})

    def _span(
        self,
        name: str,
        took_ms: int,
        attributes: Mapping[str, Attribute],
        kind: int,
        planted: Sequence[Planted] = (),
        *,
        failed: bool = False,
    ) -> None:
        rng = self._rng
        span_id = rng.getrandbits(64).to_bytes(8, "big")
        start_ns, self._now_ns = self._now_ns, self._now_ns + took_ms * 10**6
        events: tuple[TrafficEvent, ...] = ()
        if failed:
            said: dict[str, Attribute] = {
                "exception.type": "ToolError",
                "exception.message": texts.sentence(rng),
                "exception.stacktrace": texts.code(rng, 900),
            }
            events = (TrafficEvent("exception", self._now_ns, said),)
        parent = self._spans[0].span_id if self._spans else b""
        status = 2 if failed else 0
        self._spans.append(
            TrafficSpan(
                self._trace_id, span_id, parent, name, kind, start_ns, self._now_ns, attributes, events, status,
                tuple(planted),
            )
        )  # fmt: skip


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_RESOURCE = {
    "service.name": "agent-svc",
    "service.version": "1.4.2",
    "deployment.environment.name": "prod",
    "telemetry.sdk.language": "python",
    "telemetry.sdk.name": "opentelemetry",
    "telemetry.sdk.version": "1.45.2",
    "host.name": "node-7",
}
_SCOPE = ("opentelemetry.instrumentation.openai", "2.3.0")


def encode(spans: Iterable[TrafficSpan]) -> bytes:
    """Return the spans as one ExportTraceServiceRequest."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    of_resource = request.resource_spans.add()
    _fill(of_resource.resource.attributes, _RESOURCE)
    of_scope = of_resource.scope_spans.add()
    of_scope.scope.name, of_scope.scope.version = _SCOPE
    for span in spans:
        out = of_scope.spans.add()
        out.trace_id, out.span_id, out.parent_span_id = span.trace_id, span.span_id, span.parent_id
        out.name, out.flags = span.name, 0x100
        out.kind = span.kind  # type: ignore[assignment]  # an int where the stubs know an enum
        out.start_time_unix_nano, out.end_time_unix_nano = span.start_ns, span.end_ns
        _fill(out.attributes, span.attributes)
        for event in span.events:
            said = out.events.add()
            said.name, said.time_unix_nano = event.name, event.time_ns
            _fill(said.attributes, event.attributes)
        if span.status:
            out.status.code = span.status  # type: ignore[assignment]
    return request.SerializeToString()


def batches(spans: Iterable[TrafficSpan], size: int) -> Iterator[bytes]:
    """Yield requests of `size` spans each; the last may have fewer."""
    waiting: list[TrafficSpan] = []
    for span in spans:
        waiting.append(span)
        if len(waiting) == size:
            yield encode(waiting)
            waiting = []
    if waiting:
        yield encode(waiting)


def _fill(attributes: Any, values: Mapping[str, Attribute]) -> None:
    for key, value in values.items():
        entry = attributes.add()
        entry.key = key
        _put(entry.value, value)


def _put(out: Any, value: Attribute) -> None:
    if isinstance(value, bool):
        out.bool_value = value
    elif isinstance(value, int):
        out.int_value = value
    elif isinstance(value, float):
        out.double_value = value
    elif isinstance(value, list):
        out.array_value.SetInParent()
        for item in value:
            _put(out.array_value.values.add(), item)
    else:
        out.string_value = value
