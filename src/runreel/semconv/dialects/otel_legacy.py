"""OpenTelemetry's GenAI conventions up to 1.36: `gen_ai.system`, and an event for each message.

The events are log events (their name in the record, or in an attribute), or events on the span. Before those, one
event held all messages as text: `gen_ai.content.prompt`, `gen_ai.content.completion`.
"""

from collections.abc import Mapping
from typing import Final

from runreel.semconv.content import understand
from runreel.semconv.dialect import Dialect, Source, Switch
from runreel.semconv.message_events import Body, ReadBody, answered, finish_reasons, message_events, read_body, sent
from runreel.semconv.messages import Message, finish
from runreel.semconv.view import ABSENT, Found, Memo, View
from runreel.values import Kind, Value

_SCOPES: Final = (
    "opentelemetry.instrumentation.openai_v2",
    "opentelemetry.instrumentation.vertexai",
    "opentelemetry.instrumentation.botocore",
)
_EVENTS: Final = ("gen_ai.*.message", "gen_ai.choice")
_OLDEST: Final[Mapping[str, tuple[str, str]]] = {
    "gen_ai.prompt": ("gen_ai.content.prompt", "user"),
    "gen_ai.completion": ("gen_ai.content.completion", "assistant"),
}


def _claims(view: View) -> bool:
    attributes = view.span.attributes
    if "gen_ai.provider.name" in attributes:
        return False
    scope = view.span.scope.name
    if "gen_ai.system" in attributes:
        return not scope.startswith("opentelemetry.instrumentation.genai.")
    return scope.startswith(_SCOPES) and view.names.begin("gen_ai.")


def _reader(view: View) -> ReadBody:
    """Return how to read a body. Where the span's other events hold content, one that has none is an empty text."""
    if not any(_has_content(body) for _, _, body in message_events(view)):
        return read_body

    def read(body: Body, role: str, memo: Memo) -> Message:
        empty = "content" not in body and not body.get("tool_calls") and role != "tool"
        return read_body({**body, "content": ""} if empty else body, role, memo)

    return read


def _has_content(body: Body) -> bool:
    inner = body.get("message")
    return "content" in body or (isinstance(inner, Mapping) and "content" in inner)


def _input(view: View) -> Found:
    found = sent(view, _reader(view))
    return found if found is not ABSENT else _oldest(view, "gen_ai.prompt")


def _output(view: View) -> Found:
    found = answered(view, _reader(view))
    if found is not ABSENT:
        return found
    found = _oldest(view, "gen_ai.completion")
    reasons = view.get("gen_ai.response.finish_reasons")
    if not isinstance(found.value, tuple) or not isinstance(reasons, tuple):
        return found
    filled: list[Value] = []
    for index, one in enumerate(found.value):
        if isinstance(one, Mapping) and "finish_reason" not in one and index < len(reasons):
            one = {**one, "finish_reason": finish(reasons[index])}
        filled.append(one)
    return Found(tuple(filled), found.state, found.reason, found.source, found.keys)


def _oldest(view: View, key: str) -> Found:
    """Return messages from the one attribute that held them all, on an event or on the span."""
    event_name, role = _OLDEST[key]
    places = [("events", event.attributes.get(key)) for event in view.span.events if event.name == event_name]
    places.append(("attributes", view.span.attributes.get(key)))
    for source, raw in places:
        if raw is not None:
            found = understand("messages", raw, role, view.memo)
            return Found(found.value, found.state, found.reason and f"{found.reason} ({key})", source, (key,))
    return ABSENT


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    """The finish reason of a stream stands on its event only; of tool calls the model's text is kept as it was."""
    if kind != "llm":
        return {}
    return {"finish_reasons": finish_reasons(view), "tool_call_texts": tuple(_call_texts(view))}


def _call_texts(view: View) -> list[Value]:
    out: list[Value] = []
    for _, name, body in message_events(view):
        inner = body.get("message") if name == "gen_ai.choice" else None
        calls = inner.get("tool_calls") if isinstance(inner, Mapping) else None
        for call in calls if isinstance(calls, tuple) else ():
            function = call.get("function") if isinstance(call, Mapping) else None
            out.append(function.get("arguments") if isinstance(function, Mapping) else None)
    return out


_SETTING = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON = (
    f"set {_SETTING}=true at the sender, and export its log events too: this instrumentation sends messages as log "
    "events (with OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental, from 2.4b0 on: SPAN_ONLY, on the span)"
)

DIALECT = Dialect(
    name="otel_legacy",
    title="OpenTelemetry GenAI up to 1.36",
    claims=_claims,
    scalars={
        "llm.params.seed": ("gen_ai.openai.request.seed", "gen_ai.request.seed"),
        "llm.params.n": ("gen_ai.request.choice.count", "gen_ai.openai.request.choice.count"),
        "llm.service_tier": ("gen_ai.openai.response.service_tier",),
    },
    contents={
        "llm.input": Source((*_EVENTS[:1], "gen_ai.prompt"), read=_input),
        "llm.output": Source((*_EVENTS[1:], "gen_ai.completion"), read=_output),
    },
    extras=_extras,
    coded={"llm.finish_reasons": ("gen_ai.choice",), "llm.tool_call_texts": ("gen_ai.choice",)},
    switches=tuple(Switch(scope, _ON, _ON) for scope in _SCOPES),
)
