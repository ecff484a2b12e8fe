"""Pydantic AI's own spans, formats 2 to 6: the conventions' messages, and keys of its own for the rest.

The agent's span sums up the usage of its model calls under names of their own, and holds the whole conversation.
"""

from collections.abc import Mapping
from typing import Final

from runreel.semconv.content import understand
from runreel.semconv.dialect import Dialect, Source, Switch, arguments_source
from runreel.semconv.messages import definitions
from runreel.semconv.view import ABSENT, Found, View
from runreel.values import Kind, Value

_ALL: Final = "pydantic_ai.all_messages"
_NEW: Final = "pydantic_ai.new_message_index"
_REQUEST: Final = "model_request_parameters"
_ROUTE: Final = "pydantic_ai.decision.route"
_FINGERPRINT: Final = frozenset({_ALL, _REQUEST, _ROUTE, "gen_ai.agent.call.id"})
# Of what the model was asked for beside messages and tools: where it says something else than usual.
_USUAL: Final[Mapping[str, Value]] = {"output_mode": "text", "allow_text_output": True, "output_object": None}


def _claims(view: View) -> bool:
    return view.span.scope.name.startswith("pydantic-ai") or not _FINGERPRINT.isdisjoint(view.span.attributes)


def _kind(view: View) -> tuple[Kind, str] | None:
    if _ROUTE in view.span.attributes:
        return "decision", _ROUTE
    if _ALL in view.span.attributes and not view.text("gen_ai.operation.name"):
        return "agent", _ALL
    return None


def _asked(view: View) -> Found:
    """What the agent was given: the conversation up to the first answer of this run."""
    for source, key, raw in view.locate((_ALL,)):
        found = understand("messages", raw, "user", view.memo)
        if not isinstance(found.value, tuple):
            return Found(None, found.state, found.reason, source, (key,))
        start = view.get(_NEW)
        first = start if isinstance(start, int) and 0 <= start < len(found.value) else 0
        end = next((at for at in range(first, len(found.value)) if _answers(found.value[at])), len(found.value))
        return Found(found.value[:end], found.state, found.reason, source, (key,))
    return ABSENT


def _answers(message: Value) -> bool:
    return isinstance(message, Mapping) and message.get("role") == "assistant"


def _parameters(view: View) -> Mapping[str, Value]:
    raw = view.get(_REQUEST)
    ok, parsed = view.memo.parse(raw) if isinstance(raw, str) else (True, raw)
    return parsed if ok and isinstance(parsed, Mapping) else {}


def _definitions(view: View) -> Found:
    """The tools, from the request's parameters where the conventions' attribute is not there (before format 3)."""
    if view.get("gen_ai.tool.definitions") is not None:
        return ABSENT
    found: list[Value] = []
    for key in ("function_tools", "output_tools"):
        listed = _parameters(view).get(key)
        found += [
            {name: tool.get(name) for name in ("name", "description", "parameters_json_schema")}
            for tool in (listed if isinstance(listed, tuple) else ())
            if isinstance(tool, Mapping)
        ]
    return Found(definitions(tuple(found), view.memo), "whole", "", "attributes", (_REQUEST,)) if found else ABSENT


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind == "decision":
        return {"type": "route"}
    if kind != "llm":
        return {}
    asked = _parameters(view)
    return {f"params.{key}": asked.get(key) for key, usual in _USUAL.items() if key in asked and asked[key] != usual}


_DETAILS: Final = "gen_ai.usage.details."
_ON: Final = "set include_content=True (its default) in the agent's InstrumentationSettings"

DIALECT = Dialect(
    name="pydantic_ai",
    title="Pydantic AI",
    claims=_claims,
    kind=_kind,
    scalars={
        "agent.name": ("gen_ai.agent.name", "agent_name"),
        "llm.usage.cache_read": ("gen_ai.usage.cache_read.input_tokens", f"{_DETAILS}cache_read_tokens"),
        "llm.usage.cache_write": (
            "gen_ai.usage.cache_write.input_tokens",
            "gen_ai.usage.cache_creation.input_tokens",
            f"{_DETAILS}cache_write_tokens",
        ),
        "llm.usage.reasoning": ("gen_ai.usage.reasoning.output_tokens", f"{_DETAILS}reasoning_tokens"),
        "decision.options": ("pydantic_ai.decision.route_options",),
        "run.agent_id": ("agent_name",),
    },
    contents={
        "agent.input": Source((_ALL,), read=_asked),
        "agent.output": Source(("final_result",)),
        "llm.tool_definitions": Source((_REQUEST,), read=_definitions),
        "tool.input": arguments_source("tool_arguments"),
        "tool.output": Source(("tool_response",)),
        "decision.output": Source((_ROUTE,)),
    },
    extras=_extras,
    coded={
        "llm.params.extra": (_REQUEST,),
        "decision.type": (_ROUTE,),
        "run.run_id": ("gen_ai.agent.call.id",),
    },
    switches=(Switch("pydantic-ai", _ON, _ON),),
)
