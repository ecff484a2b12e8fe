"""Langfuse's SDK: observations with a type, inputs and outputs as free JSON, usage that leaves cached tokens out.

Its span processor also marks other instrumentations' spans with the trace's attributes: those spans stay theirs.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv import messages as shapes
from runreel.semconv.content import tool_arguments, understand
from runreel.semconv.dialect import Dialect, Source, Switch, read_keys
from runreel.semconv.view import ABSENT, Found, View
from runreel.values import Kind, Value

SCOPE: Final = "langfuse-sdk"
_OBSERVATION: Final = "langfuse.observation."
KIND_KEY: Final = _OBSERVATION + "type"
_KINDS: Final[Mapping[str, Kind]] = {
    "generation": "llm",
    "embedding": "llm",
    "tool": "tool",
    "retriever": "retrieval",
    "agent": "agent",
    "chain": "agent",
    "span": "agent",
    "guardrail": "decision",
    "evaluator": "decision",
}
_TELLING: Final = (KIND_KEY, _OBSERVATION + "input", _OBSERVATION + "output", _OBSERVATION + "model.name")
_IN: Final = _OBSERVATION + "input"
_OUT: Final = _OBSERVATION + "output"
_CACHE_READ: Final = ("cache_read_input_tokens", "input_cached_tokens", "input_cache_read", "cached_tokens")
_CACHE_WRITE: Final = ("cache_creation_input_tokens", "input_cache_creation")
_REASONING: Final = ("output_reasoning_tokens", "output_reasoning", "reasoning_tokens")


def _claims(view: View) -> bool:
    return view.span.scope.name == SCOPE or any(key in view.span.attributes for key in _TELLING)


def _kind(view: View) -> tuple[Kind, str] | None:
    named = view.text(KIND_KEY)
    if named in _KINDS:
        return _KINDS[named], KIND_KEY
    if view.text(_OBSERVATION + "model.name"):
        return "llm", _OBSERVATION + "model.name"
    # An observation without a type is a plain one; a type nobody knows says nothing.
    plain = not named and view.span.scope.name == SCOPE
    return ("agent", _IN) if plain and (_IN in view.span.attributes or _OUT in view.span.attributes) else None


def _json(view: View, key: str) -> Mapping[str, Value]:
    raw = view.get(key)
    if isinstance(raw, str):
        ok, raw = view.memo.parse_container(raw)
        return raw if ok and isinstance(raw, Mapping) else {}
    return raw if isinstance(raw, Mapping) else {}


def _input(view: View) -> Found:
    return read_keys(view, (_IN,), "messages", "user")


def _output(view: View) -> Found:
    """The answer: a message, a text, or any JSON that a caller set."""
    return read_keys(view, (_OUT,), "messages", "assistant")


def _definitions(view: View) -> Found:
    """The tools: wrapped SDKs write them beside the messages."""
    tools = _json(view, _IN).get("tools")
    if not isinstance(tools, tuple):
        return ABSENT
    return Found(shapes.definitions(tools, view.memo), "whole", "", "attributes", (_IN,))


def _tool_input(view: View) -> Found:
    """The arguments; `@observe` writes what a function was called with as `{args, kwargs}`."""
    for source, key, raw in view.locate((_IN,)):
        found = replace(tool_arguments(raw, view.memo), source=source, keys=(key,))
        whole = found.value
        if isinstance(whole, Mapping) and set(whole) == {"args", "kwargs"} and not whole["args"]:
            return replace(found, value=whole["kwargs"], text=None)
        return found
    return ABSENT


def _documents(view: View) -> Found:
    found = read_keys(view, (_OUT,), "json")
    value = found.value
    if isinstance(value, Mapping) and isinstance(value.get("documents"), tuple):
        value = value["documents"]
    if found.state != "whole":
        return found
    return replace(understand("documents", value, "", view.memo), source=found.source, keys=found.keys)


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind != "llm":
        return {}
    out: dict[str, Value] = dict(_usage(_json(view, _OBSERVATION + "usage_details")))
    for key, value in _json(view, _OBSERVATION + "model.parameters").items():
        out[f"params.{key}"] = value
    if view.text(KIND_KEY) == "embedding":
        out["operation"] = "embeddings"
    calls = _json(view, _OUT).get("tool_calls")
    functions = [one.get("function") for one in (calls if isinstance(calls, tuple) else ()) if isinstance(one, Mapping)]
    out["tool_call_texts"] = tuple(one.get("arguments") if isinstance(one, Mapping) else None for one in functions)
    return out


def _usage(details: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return usage that includes cached and reasoning tokens: beside `input` and `output` stand what these leave out.

    Where the sender's own total says that they are included already, they are.
    """
    given, written = _count(details, ("input",)), _count(details, ("output",))
    if given is None and written is None:
        given = _count(details, ("input_tokens", "prompt_tokens"))
        written = _count(details, ("output_tokens", "completion_tokens"))
    elif details.get("total") != (given or 0) + (written or 0):
        given = (given or 0) + _sum(details, ("input_", "cache_"))
        written = (written or 0) + _sum(details, ("output_",))
    return {
        "usage.input_tokens": given,
        "usage.output_tokens": written,
        "usage.cache_read": _count(details, _CACHE_READ),
        "usage.cache_write": _count(details, _CACHE_WRITE),
        "usage.reasoning": _count(details, _REASONING),
    }


def _count(details: Mapping[str, Value], keys: tuple[str, ...]) -> int | None:
    found = (details.get(key) for key in keys)
    return next((one for one in found if isinstance(one, int) and not isinstance(one, bool)), None)


def _sum(details: Mapping[str, Value], prefixes: tuple[str, ...]) -> int:
    return sum(_count(details, (key,)) or 0 for key in details if key.startswith(prefixes))


_IO = (
    "leave capture_input and capture_output of @observe at True at the sender, and "
    "LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED unset; observations made by hand need update(input=..., output=...)"
)

DIALECT = Dialect(
    name="langfuse",
    title="Langfuse SDK",
    claims=_claims,
    kind=_kind,
    scalars={
        "llm.model": (_OBSERVATION + "model.name",),
        "llm.prompt_name": (_OBSERVATION + "prompt.name",),
        "llm.prompt_version": (_OBSERVATION + "prompt.version",),
        "run.agent_version": ("langfuse.release", "langfuse.version"),
        "run.env": ("langfuse.environment",),
        "run.conversation_id": ("langfuse.session.id",),
        "run.user_ref": ("langfuse.user.id",),
    },
    contents={
        "agent.input": Source((_IN,)),
        "agent.output": Source((_OUT,)),
        "llm.input": Source((_IN,), read=_input),
        "llm.output": Source((_OUT,), read=_output),
        "llm.tool_definitions": Source((_IN,), read=_definitions),
        "tool.input": Source((_IN,), read=_tool_input),
        "tool.output": Source((_OUT,)),
        "retrieval.input": Source((_IN,)),
        "retrieval.output": Source((_OUT,), read=_documents),
        "decision.input": Source((_IN,)),
        "decision.output": Source((_OUT,)),
    },
    extras=_extras,
    coded={
        "llm.params.extra": (_OBSERVATION + "model.parameters",),
        "llm.usage.input_tokens": (_OBSERVATION + "usage_details",),
        "llm.usage.output_tokens": (_OBSERVATION + "usage_details",),
        "llm.usage.cache_read": (_OBSERVATION + "usage_details",),
        "llm.usage.cache_write": (_OBSERVATION + "usage_details",),
        "llm.usage.reasoning": (_OBSERVATION + "usage_details",),
        "llm.operation": (KIND_KEY,),
        "llm.tool_call_texts": (_OUT,),
    },
    switches=(Switch(SCOPE, _IO, _IO),),
)
