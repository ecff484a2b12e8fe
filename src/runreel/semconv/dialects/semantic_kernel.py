"""Semantic Kernel: messages as log events whose body is the text of a JSON object, or (.NET) as span events.

Its scopes write ordinary log lines too; these have no event name and are no messages.
"""

from collections.abc import Mapping
from typing import Final

from runreel.semconv.dialect import Dialect, Source, Switch
from runreel.semconv.message_events import CHOICE, answered, finish_reasons, sent
from runreel.semconv.view import View
from runreel.values import Kind, Value

_SCOPES: Final = ("semantic_kernel.", "Microsoft.SemanticKernel")
_FINISH: Final = "gen_ai.response.finish_reason"


def _claims(view: View) -> bool:
    return view.span.scope.name.startswith(_SCOPES) or "sk.available_functions" in view.span.attributes


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    """The provider's own words for the finish stand in the answer's event; the span has the name of an enum."""
    if kind != "llm":
        return {}
    said = view.text(_FINISH).rpartition(".")[2].lower()
    return {"finish_reasons": finish_reasons(view) or ((said,) if said else ())}


_SETTING: Final = "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE"
_ON: Final = f"set {_SETTING}=true at the sender, and export its log events too: messages come as log events"

DIALECT = Dialect(
    name="semantic_kernel",
    title="Semantic Kernel",
    claims=_claims,
    scalars={
        "llm.usage.input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.response.prompt_tokens"),
        "llm.usage.output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.response.completion_tokens"),
    },
    contents={
        "llm.input": Source(("gen_ai.*.message",), read=sent),
        "llm.output": Source((CHOICE,), read=answered),
    },
    extras=_extras,
    coded={"llm.finish_reasons": (CHOICE, _FINISH)},
    switches=tuple(Switch(scope, _ON, _ON) for scope in _SCOPES),
)
