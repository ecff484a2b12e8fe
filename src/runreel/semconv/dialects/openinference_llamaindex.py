"""LlamaIndex under OpenInference: a tool's arguments as its method was called, its result inside the library's output.

What puts a request together is called a model call there, and is none. What is told of the model is not of the request.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv.dialect import Dialect, Source
from runreel.semconv.dialects import openinference
from runreel.semconv.view import ABSENT, Found, View
from runreel.values import Kind, Value

_PREPARING: Final = "._prepare_chat_with_tools"
_RETRIEVING: Final = (".retrieve", ".aretrieve")
_OBJECT = re.compile(r"<[\w.\[\]]+ object at 0x[0-9a-f]+>", re.ASCII)
# What the library knows of a model; none of it is asked for.
_OF_THE_MODEL: Final = (
    "class_name",
    "context_window",
    "is_chat_model",
    "is_function_calling_model",
    "num_output",
    "system_role",
)


def _claims(view: View) -> bool:
    return view.span.scope.name.startswith("openinference.instrumentation.llama_index")


def _kind(view: View) -> tuple[Kind, str] | None:
    named = view.text(openinference.KIND_KEY).upper()
    if named == "LLM" and view.span.name.endswith(_PREPARING):
        return "other", "span name"
    if named == "TOOL" and _is_handoff(view):
        return "decision", "tool.name"
    return None


def _is_handoff(view: View) -> bool:
    """Say whether a tool is the one that an `AgentWorkflow` makes for its agents to hand over."""
    declared = _map(view, "tool.parameters", "properties")
    return view.text("tool.name") == "handoff" and {"to_agent", "reason"} <= set(declared)


def _map(view: View, key: str, *path: str) -> Mapping[str, Value]:
    ok, found = view.memo.parse(view.text(key))
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if ok and isinstance(found, Mapping) else {}


def _arguments(view: View) -> Found:
    """The arguments by name; a single one without a name as it is. The workflow's context is none."""
    whole = _map(view, "input.value")
    if not set(whole) <= {"args", "kwargs"}:
        return ABSENT
    named, bare = whole.get("kwargs"), whole.get("args")
    given = {key: one for key, one in named.items() if not _is_object(one)} if isinstance(named, Mapping) else {}
    made: Value = {**({"args": bare} if isinstance(bare, tuple) and bare else {}), **given}
    if isinstance(bare, tuple) and len(bare) == 1 and not given:
        made = bare[0]
    return Found(made, "whole", "", "attributes", ("input.value",))


def _is_object(value: Value) -> bool:
    return isinstance(value, str) and _OBJECT.fullmatch(value) is not None


def _result(view: View) -> Found:
    """What the tool returned, where the text that the model was told is that value's; else the text."""
    whole = _map(view, "output.value")
    blocks = whole.get("blocks")
    if not isinstance(blocks, tuple):
        return ABSENT
    texts = [one["text"] for one in blocks if isinstance(one, Mapping) and isinstance(one.get("text"), str)]
    told, raw = "\n".join(map(str, texts)), whole.get("raw_output")
    value: Value = raw if len(texts) == len(blocks) and str(_plain(raw)) == told else told
    return Found(value, "whole", "", "attributes", ("output.value",))


def _plain(value: Value) -> object:
    """Return a value as the library's code had it, so that its text is the same."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return {key: _plain(one) for key, one in value.items()} if isinstance(value, Mapping) else value


def _chosen(view: View) -> Found:
    """The agent that a hand-off goes to."""
    found = _arguments(view)
    name = found.value.get("to_agent") if isinstance(found.value, Mapping) else None
    return replace(found, value=name) if isinstance(name, str) else ABSENT


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind == "retrieval" and view.span.name.endswith(_RETRIEVING):
        return {"name": view.span.name.rpartition(".")[0]}
    return {"type": "handoff"} if kind == "decision" else {}


DIALECT = Dialect(
    name="openinference.llamaindex",
    title="LlamaIndex under OpenInference",
    claims=_claims,
    kind=_kind,
    scalars={"llm.model_requested": ("llm.model_name",)},
    contents={
        "tool.input": Source(("input.value",), read=_arguments),
        "tool.output": Source(("output.value",), read=_result),
        "decision.input": Source(("input.value",), read=_arguments),
        "decision.output": Source(("input.value",), read=_chosen),
    },
    extras=_extras,
    coded={"decision.type": ("tool.name",), "retrieval.name": ("span name",)},
    base=openinference.DIALECT,
    hides=frozenset(f"llm.params.{name}" for name in _OF_THE_MODEL),
)
