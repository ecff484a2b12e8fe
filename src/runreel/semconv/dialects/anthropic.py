"""Anthropic's SDK: its own spans, which carry no content, and OpenTelemetry's instrumentation around them.

Both are written for one call. The SDK's own is the inner one, nearer to the wire, and has the answer's own words for
how it ended.
"""

from collections.abc import Mapping
from typing import Final

from runreel.semconv.dialect import Dialect, Switch
from runreel.semconv.view import View
from runreel.values import Kind, Value

_SDK: Final = "com.anthropic.sdk.python"
_SCOPES: Final = ("com.anthropic.sdk", "opentelemetry.instrumentation.genai.anthropic")
_THINKING: Final = ("type", "budget_tokens")


def _claims(view: View) -> bool:
    return view.span.scope.name.startswith(_SCOPES)


def _kind(view: View) -> tuple[Kind, str] | None:
    """Counting tokens, listing models and the like are requests, and no model calls."""
    if view.span.scope.name.startswith("com.anthropic.sdk") and not view.text("gen_ai.operation.name"):
        return "other", "gen_ai.operation.name"
    return None


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind != "llm":
        return {}
    thinking = {key: value for key in _THINKING if (value := view.get(f"anthropic.thinking.{key}")) is not None}
    return {"params.thinking": thinking}


_SETTING: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON: Final = (
    f"switch on opentelemetry-instrumentation-genai-anthropic and set {_SETTING}=SPAN_ONLY at the sender: the SDK's "
    "own spans carry no content (`true` is not valid there: it is refused and means no content)"
)

DIALECT = Dialect(
    name="anthropic",
    title="Anthropic SDK",
    claims=_claims,
    kind=_kind,
    scalars={
        "llm.finish_reasons": ("anthropic.message.stop_reason", "gen_ai.response.finish_reasons"),
        "llm.params.service_tier": ("anthropic.request.service_tier",),
        "llm.service_tier": ("anthropic.response.service_tier",),
    },
    extras=_extras,
    coded={"llm.params.extra": tuple(f"anthropic.thinking.{key}" for key in _THINKING)},
    switches=(Switch("com.anthropic.sdk", _ON, _ON),),
)
