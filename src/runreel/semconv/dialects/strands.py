"""Strands Agents: content on span events a message each (Bedrock's blocks), on the conventions' events, or on the span.

The event-loop cycle around each model call repeats its messages, and the agent's span sums up the usage. Results of
tools are lists of Bedrock's blocks, whatever the tool returned: a result of one block is read as what stands in it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv import messages as shapes
from runreel.semconv.content import tool_arguments, understand
from runreel.semconv.dialect import Dialect, Source, Switch, read_keys, read_source
from runreel.semconv.dialects import otel
from runreel.semconv.message_events import CHOICE, Body, answered, finish_reasons, sent
from runreel.semconv.view import ABSENT, Found, Memo, View
from runreel.values import Kind, Value

_SCOPE: Final = "strands.telemetry.tracer"
_NAME: Final = "strands-agents"
_CYCLE: Final = "event_loop.cycle_id"
_TOOL: Final = "gen_ai.tool.message"
_RESULT: Final = "gen_ai.tool.call.result"
_USAGE: Final = "gen_ai.usage."


def _claims(view: View) -> bool:
    attributes = view.span.attributes
    named = _NAME in (attributes.get("gen_ai.provider.name"), attributes.get("gen_ai.system"))
    return named or view.span.scope.name == _SCOPE or _CYCLE in attributes


def _kind(view: View) -> tuple[Kind, str] | None:
    if view.text("gen_ai.operation.name").startswith("memory."):
        return "memory", "gen_ai.operation.name"
    return ("agent", _CYCLE) if _CYCLE in view.span.attributes else None


def _blocks(value: Value, memo: Memo) -> Value:
    """Return the content blocks that a text is the JSON of, else the text."""
    ok, parsed = memo.parse(value) if isinstance(value, str) else (False, None)
    return parsed if ok and isinstance(parsed, tuple) else value


def _body(body: Body, role: str, memo: Memo) -> shapes.Message:
    if "content" not in body:
        return {"role": role, "parts": ({"type": "text"},)}
    return {"role": role, "parts": shapes.parts(_blocks(body["content"], memo), memo)}


def _input(view: View) -> Found:
    """The messages, each result of a tool as its model is told it."""
    found = sent(view, _body)
    if found.state == "absent":
        found = read_source(view, otel.DIALECT.contents["llm.input"])
    if not isinstance(found.value, tuple):
        return found
    return replace(found, value=tuple(map(_with_told, found.value)))


def _with_told(message: Value) -> Value:
    parts = message.get("parts") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(parts, tuple):
        return message
    return {**message, "parts": tuple(map(_result, parts))}


def _result(part: Value) -> Value:
    if not isinstance(part, Mapping) or part.get("type") != "tool_call_response" or "response" not in part:
        return part
    return {**part, "response": _told(part["response"])}


def _told(blocks: Value) -> Value:
    """Return what stands in a result's only block, where that is a text or a value; else the blocks."""
    only = blocks[0] if isinstance(blocks, tuple) and len(blocks) == 1 else None
    if isinstance(only, Mapping) and len(only) == 1:
        return next((only[key] for key in ("text", "json") if key in only), blocks)
    return blocks


def _event(view: View, name: str, key: str) -> Value:
    return next((one.attributes[key] for one in view.span.events if one.name == name and key in one.attributes), None)


def _tool_input(view: View) -> Found:
    raw = _event(view, _TOOL, "content")
    return ABSENT if raw is None else replace(tool_arguments(raw, view.memo), source="events", keys=(_TOOL,))


def _tool_output(view: View) -> Found:
    raw = _event(view, CHOICE, "message")
    if raw is None:
        found = read_keys(view, (_RESULT,), "value")
    else:
        found = replace(understand("value", raw, "", view.memo), source="events", keys=(CHOICE,))
    return replace(found, value=_told(_blocks(found.value, view.memo)))


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind == "memory":
        return {"op": view.text("gen_ai.operation.name").removeprefix("memory.")}
    return {"finish_reasons": finish_reasons(view)} if kind == "llm" else {}


_ALWAYS: Final = (
    "content is always sent by Strands: let nothing between it and here drop span events "
    "(OTEL_SPAN_EVENT_COUNT_LIMIT, a processor)"
)

DIALECT = Dialect(
    name="strands",
    title="Strands Agents",
    claims=_claims,
    kind=_kind,
    scalars={
        "agent.name": ("gen_ai.agent.name", "agent_name"),
        "llm.usage.cache_read": (f"{_USAGE}cache_read.input_tokens", f"{_USAGE}cache_read_input_tokens"),
        "llm.usage.cache_write": (
            f"{_USAGE}cache_write.input_tokens",
            f"{_USAGE}cache_creation.input_tokens",
            f"{_USAGE}cache_write_input_tokens",
        ),
    },
    contents={
        "agent.input": Source(("gen_ai.*.message",), read=lambda view: sent(view, _body)),
        "agent.output": Source((CHOICE,), read=lambda view: answered(view, _body)),
        "llm.input": Source(("gen_ai.*.message", "gen_ai.input.messages"), read=_input),
        "llm.output": Source((CHOICE,), read=lambda view: answered(view, _body)),
        "tool.input": Source((_TOOL,), read=_tool_input),
        "tool.output": Source((CHOICE, _RESULT), read=_tool_output),
    },
    extras=_extras,
    coded={"llm.finish_reasons": (CHOICE,), "memory.op": ("gen_ai.operation.name",)},
    switches=(Switch(_SCOPE, _ALWAYS, _ALWAYS),),
)
