"""The OpenAI Agents SDK under its two instrumentations: a hand-off is a decision, and no call of a tool.

OpenInference writes the hand-off as a tool span; OpenTelemetry's writes none, and leaves model spans to the
instrumentation of the OpenAI client. Neither puts the model's call id on tool spans.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv.dialect import Dialect, Source, Switch, read_source
from runreel.semconv.dialects import openinference
from runreel.semconv.messages import Message, holes
from runreel.semconv.view import Found, View
from runreel.values import Kind, Value

_HANDOFF: Final = "handoff to "
_OTEL: Final = "opentelemetry.instrumentation.genai.openai_agents"
_OTEL_BEFORE: Final = "opentelemetry.instrumentation.openai_agents_v2"
_IN: Final = openinference.DIALECT.contents["llm.input"]
_OUT: Final = openinference.DIALECT.contents["llm.output"]
# The answer's own fields, which stand among the parameters: the instrumentation takes both from the answer.
_ANSWER: Final = frozenset(
    f"llm.params.{name}"
    for name in (
        "access_programs",
        "background",
        "completed_at",
        "conversation",
        "created_at",
        "error",
        "id",
        "incomplete_details",
        "instructions",
        "object",
        "prompt_cache_key",
        "safety_identifier",
        "status",
        "usage",
    )
)


def _claims(view: View) -> bool:
    return view.span.scope.name.startswith("openinference.instrumentation.openai_agents")


def _claims_otel(view: View) -> bool:
    return view.span.scope.name.startswith((_OTEL, _OTEL_BEFORE))


def _kind(view: View) -> tuple[Kind, str] | None:
    if view.span.name.startswith(_HANDOFF) and view.text(openinference.KIND_KEY).upper() == "TOOL":
        return "decision", "span name"
    return None


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    return {"type": "handoff"} if kind == "decision" and view.span.name.startswith(_HANDOFF) else {}


def _with_arguments(source: Source) -> Source:
    """Read messages, with the arguments that the instrumentation leaves out: those that are `{}`.

    Hidden content takes the names of calls along, so a call with a name was made without arguments.
    """

    def read(view: View) -> Found:
        found = read_source(view, source)
        if not isinstance(found.value, tuple) or not found.reason.startswith("content_off"):
            return found
        filled = [_filled(one) for one in found.value if isinstance(one, Mapping)]
        return found if holes(filled) else Found(tuple(filled), "whole", "", found.source, found.keys)

    return replace(source, read=read)


def _filled(message: Message) -> Message:
    parts = message.get("parts")
    return {**message, "parts": tuple(map(_part, parts))} if isinstance(parts, tuple) else message


def _part(part: Value) -> Value:
    if isinstance(part, Mapping) and part.get("type") == "tool_call" and part.get("name"):
        return {**part, "arguments": {} if part.get("arguments") is None else part["arguments"]}
    return part


DIALECT = Dialect(
    name="openinference.openai_agents",
    title="OpenAI Agents under OpenInference",
    claims=_claims,
    kind=_kind,
    contents={
        "llm.input": _with_arguments(_IN),
        "llm.output": _with_arguments(_OUT),
        "decision.input": Source(("input.value",)),
        "decision.output": Source(("output.value",)),
    },
    extras=_extras,
    coded={"decision.type": ("span name",)},
    base=openinference.DIALECT,
    hides=_ANSWER | {"llm.model_requested"},
)

_SETTING: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON: Final = f"set {_SETTING}=SPAN_ONLY at the sender (`true` is not valid there: it is refused and means no content)"
_MODELS: Final = (
    "install and switch on opentelemetry-instrumentation-genai-openai too: the instrumentation of the OpenAI Agents "
    "SDK leaves model spans to it"
)

OTEL = Dialect(
    name="otel.openai_agents",
    title="OpenAI Agents under OpenTelemetry",
    claims=_claims_otel,
    switches=(Switch(_OTEL, _ON, _ON, _MODELS), Switch(_OTEL_BEFORE, _ON, _ON, _MODELS)),
)
