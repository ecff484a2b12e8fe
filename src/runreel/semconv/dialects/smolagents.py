"""smolagents under OpenInference: tool arguments in a wrapper, roles of its own, and `final_answer` for the end.

`final_answer` is how an agent ends: its argument is the run's answer, and nothing outside is called. Messages are
recorded as the agent keeps them; what reaches the model has other roles, and one message for several of a role.
"""

from collections.abc import Mapping, Sequence
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
    ours = view.span.scope.name.startswith("openinference.instrumentation.smolagents")
    return ours or view.names.begin("smolagents.")


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
    return replace(found, value=_merged([_role(one) for one in found.value]))


def _merged(messages: Sequence[Value]) -> tuple[Value, ...]:
    """Make one message of those that follow each other with one role, as smolagents does when it sends them.

    An empty text is not recorded, and leaves a message without parts: it was sent, with a line end after it.
    """
    out: list[Value] = []
    for message in messages:
        last = out[-1] if out else None
        if isinstance(message, Mapping) and isinstance(last, Mapping) and message.get("role") == last.get("role"):
            out[-1] = {**last, "parts": _joined((*_parts(last), *_parts(message)))}
        else:
            out.append(message)
    return tuple(out)


def _parts(message: Mapping[str, Value]) -> tuple[Value, ...]:
    parts = message.get("parts")
    return parts if isinstance(parts, tuple) and parts else ({"type": "text", "content": ""},)


def _joined(parts: Sequence[Value]) -> tuple[Value, ...]:
    out: list[Value] = []
    for part in parts:
        before, now = (_text(out[-1]) if out else None), _text(part)
        if before is not None and now is not None:
            out[-1] = {"type": "text", "content": f"{before}\n{now}"}
        else:
            out.append(part)
    return tuple(out)


def _text(part: Value) -> str | None:
    said = part.get("content") if isinstance(part, Mapping) and part.get("type") == "text" else None
    return said if isinstance(said, str) else None


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
