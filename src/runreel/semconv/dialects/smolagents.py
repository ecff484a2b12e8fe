"""smolagents under OpenInference: tool arguments in a wrapper, roles of its own, and `final_answer` for the end.

`final_answer` is how an agent ends: its argument is the run's answer, and nothing outside is called.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv.content import tool_arguments
from runreel.semconv.dialect import Dialect, Source, read_keys, read_source
from runreel.semconv.dialects import openinference
from runreel.semconv.view import ABSENT, Found, View
from runreel.values import Kind, Value

_FINAL: Final = "final_answer"
# What these are when they reach the model: smolagents turns the roles over as it sends them.
_ROLES: Final[Mapping[str, str]] = {"tool-call": "assistant", "tool-response": "user"}


def _claims(view: View) -> bool:
    return view.span.scope.name.startswith("openinference.instrumentation.smolagents") or any(
        key.startswith("smolagents.") for key in view.span.attributes
    )


def _kind(view: View) -> tuple[Kind, str] | None:
    ends = view.text(openinference.KIND_KEY).upper() == "TOOL" and view.text("tool.name") == _FINAL
    return ("other", "tool.name") if ends else None


def _parsed(view: View, key: str) -> Mapping[str, Value]:
    ok, parsed = view.memo.parse(view.text(key))
    return parsed if ok and isinstance(parsed, Mapping) else {}


def _tool_input(view: View) -> Found:
    """The arguments by name; those given by place get the names that the tool's parameters have."""
    for source, key, raw in view.locate(("input.value",)):
        found = replace(tool_arguments(raw, view.memo), source=source, keys=(key,))
        wrapper = found.value
        named = wrapper.get("kwargs") if isinstance(wrapper, Mapping) else None
        if not isinstance(wrapper, Mapping) or not isinstance(named, Mapping):
            return found
        placed = wrapper.get("args")
        names = tuple(_parsed(view, "tool.parameters"))
        listed = placed if isinstance(placed, tuple) else ()
        if len(listed) > len(names):
            return replace(found, text=None)
        made = {**dict(zip(names, listed, strict=False)), **named}
        return replace(found, value=made, text=None)
    return ABSENT


def _task(view: View) -> Found:
    """What the agent was asked, out of the arguments of its `run`."""
    found = read_keys(view, ("input.value",), "value")
    task = _parsed(view, "input.value").get("task")
    return replace(found, value=task) if isinstance(task, str) and found.state == "whole" else found


def _input(view: View) -> Found:
    found = read_source(view, openinference.DIALECT.contents["llm.input"])
    if not isinstance(found.value, tuple):
        return found
    return replace(found, value=tuple(_role(one) for one in found.value))


def _role(message: Value) -> Value:
    said = message.get("role") if isinstance(message, Mapping) else None
    known = _ROLES.get(said) if isinstance(said, str) else None
    return {**message, "role": known} if known and isinstance(message, Mapping) else message


DIALECT = Dialect(
    name="openinference.smolagents",
    title="smolagents under OpenInference",
    claims=_claims,
    kind=_kind,
    scalars={"llm.model_requested": ("llm.model_name",)},
    contents={
        "agent.input": Source(("input.value",), read=_task),
        "llm.input": replace(openinference.DIALECT.contents["llm.input"], read=_input),
        "tool.input": Source(("input.value",), read=_tool_input),
    },
    base=openinference.DIALECT,
    hides=frozenset({"llm.model", "tool.input"}),
)
