"""Claude Code, after its documentation: spans named `claude_code.*`, and log events for what was said.

Bodies of requests and answers come only as log events, and only if raw bodies are switched on. Its input tokens leave
out what came from the cache.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv import messages as shapes
from runreel.semconv.content import tool_arguments, understand
from runreel.semconv.dialect import Dialect, Source, Switch
from runreel.semconv.view import ABSENT, Found, View, event_name
from runreel.values import Kind, LogEvent, Value

_NAME: Final = "claude_code."
_SCOPE: Final = "com.anthropic.claude_code"
_KINDS: Final[Mapping[str, Kind]] = {
    "interaction": "agent",
    "llm_request": "llm",
    "tool": "tool",
    "tool.blocked_on_user": "decision",
    "hook": "decision",
}
_REQUEST: Final = "api_request_body"
_ANSWER: Final = "api_response_body"
_NOT_PARAMS: Final = frozenset({"model", "messages", "system", "tools", "stream", "metadata"})


def _claims(view: View) -> bool:
    return view.span.scope.name.startswith(_SCOPE) or view.span.name.startswith(_NAME)


def _kind(view: View) -> tuple[Kind, str] | None:
    kind = _KINDS.get(view.span.name.removeprefix(_NAME)) or _KINDS.get(view.text("span.type"))
    return (kind, "span name") if kind else ("other", "span name")


def _events(view: View, name: str) -> Iterator[LogEvent]:
    """Yield the log events of a name: short, or with the product's name, or only as the body."""
    for log in view.logs:
        said = event_name(log) or (log.body if isinstance(log.body, str) else "")
        if said.removeprefix(_NAME) == name:
            yield log


def _body(view: View, name: str) -> Found:
    """Return the JSON body of a request or an answer; one that is stored elsewhere, or cut, is said to be."""
    for log in _events(view, name):
        raw = log.attributes.get("body")
        if raw is None:
            if isinstance(log.attributes.get("body_ref"), str):
                return Found(None, "external", "external: the body was written to a file, body_ref names it", "logs")
            continue
        if log.attributes.get("body_truncated") in (True, "true"):
            return Found(raw, "cut", "said_truncated: body_truncated is true", "logs", (name,))
        return replace(understand("json", raw, "", view.memo), source="logs", keys=(name,))
    return ABSENT


def _input(view: View) -> Found:
    found = _body(view, _REQUEST)
    if not isinstance(found.value, Mapping):
        return found
    made = shapes.messages(found.value.get("messages"), "user", view.memo)
    system = found.value.get("system")
    if system is not None:
        made = ({"role": "system", "parts": shapes.parts(system, view.memo)}, *made)
    return replace(found, value=made)


def _output(view: View) -> Found:
    found = _body(view, _ANSWER)
    if not isinstance(found.value, Mapping):
        return found
    made = dict(shapes.message({"role": "assistant", "content": found.value.get("content")}, "assistant", view.memo))
    if found.value.get("stop_reason") is not None:
        made["finish_reason"] = shapes.finish(found.value["stop_reason"])
    return replace(found, value=(made,))


def _definitions(view: View) -> Found:
    found = _body(view, _REQUEST)
    tools = found.value.get("tools") if isinstance(found.value, Mapping) else None
    return replace(found, value=shapes.definitions(tools, view.memo)) if tools is not None else ABSENT


def _tool_input(view: View) -> Found:
    places = [("attributes", view.span.attributes)]
    places += [("logs", log.attributes) for log in _events(view, "tool_result")]
    for source, attributes in places:
        for key in ("tool_input", "tool_parameters", "full_command"):
            if attributes.get(key) is not None:
                return replace(tool_arguments(attributes[key], view.memo), source=source, keys=(key,))
    return ABSENT


def _tool_output(view: View) -> Found:
    for event in view.span.events:
        if event.name == "tool.output" and event.attributes.get("output") is not None:
            found = understand("value", event.attributes["output"], "", view.memo)
            return replace(found, source="events", keys=("tool.output",))
    return ABSENT


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind == "decision":
        return {"type": "tool_choice"}
    if kind != "llm":
        return {}
    out: dict[str, Value] = {}
    read, write = (_count(view, f"cache_{name}_tokens") for name in ("read", "creation"))
    own = _count(view, "input_tokens")
    if own is not None:
        out["usage.input_tokens"] = own + (read or 0) + (write or 0)
    asked = _body(view, _REQUEST).value
    for key, value in asked.items() if isinstance(asked, Mapping) else ():
        if key not in _NOT_PARAMS:
            out["params.stop" if key == "stop_sequences" else f"params.{key}"] = value
    first = view.get("ttft_ms")
    if isinstance(first, int | float):
        out["time_to_first_chunk"] = first / 1000
    return out


def _count(view: View, key: str) -> int | None:
    value = view.get(key)
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) else None


_BODIES: Final = "set CLAUDE_CODE_ENABLE_TELEMETRY=1 and OTEL_LOG_RAW_API_BODIES=1 at the sender, and export its logs"
_IN: Final = f"{_BODIES}; for arguments of tools OTEL_LOG_TOOL_DETAILS=1"
_OUT: Final = f"{_BODIES}; for results of tools OTEL_LOG_TOOL_CONTENT=1"

DIALECT = Dialect(
    name="claude_code",
    title="Claude Code",
    claims=_claims,
    kind=_kind,
    scalars={
        "llm.model": ("gen_ai.response.model", "model"),
        "llm.usage.output_tokens": ("output_tokens",),
        "llm.usage.cache_read": ("cache_read_tokens",),
        "llm.usage.cache_write": ("cache_creation_tokens",),
        "llm.finish_reasons": ("stop_reason",),
        "llm.response_id": ("gen_ai.response.id", "request_id"),
        "tool.name": ("tool_name",),
        "tool.call_id": ("tool_use_id",),
        "decision.reason": ("source",),
        "run.conversation_id": ("session.id",),
        "run.user_ref": ("user.id",),
    },
    contents={
        "agent.input": Source(("user_prompt",)),
        "llm.input": Source((_REQUEST,), read=_input),
        "llm.output": Source((_ANSWER,), read=_output),
        "llm.tool_definitions": Source((_REQUEST,), read=_definitions),
        "tool.input": Source(("tool_input", "tool_parameters", "full_command"), read=_tool_input),
        "tool.output": Source(("tool.output",), read=_tool_output),
        "decision.output": Source(("decision",)),
    },
    extras=_extras,
    coded={
        "llm.usage.input_tokens": ("input_tokens", "cache_read_tokens", "cache_creation_tokens"),
        "llm.params.extra": (_REQUEST,),
        "llm.time_to_first_chunk": ("ttft_ms",),
        "decision.type": ("span name",),
    },
    switches=(Switch(_SCOPE, _IN, _OUT),),
    verified=False,
)
