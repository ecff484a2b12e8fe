"""Understands what LangChain and LangGraph write down, whichever instrumentation carries it.

Messages come as `{"lc": 1, "id": [.., "AIMessage"], "kwargs": {..}}`, as `{"type": "ai", "data": {..}}` or flat with
a `type`; a model's answer as `{"generations": [[{"message": ..}]]}`; a tool's result as a message of its own.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

from runreel.canonical import freeze
from runreel.semconv import messages as shapes
from runreel.semconv.view import Memo
from runreel.values import Value

_ROLES: Final[Mapping[str, str]] = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "HumanMessageChunk": "user",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "chat": "user",
    "remove": "remove",
}
_CLASSES: Final[Mapping[str, str]] = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
    "ChatMessage": "chat",
}
_LONGEST: Final = 1 << 16
"""Longest text that is read as Python: reading is quick, but not linear."""
# What a conditional edge answers: the name of a node, `__end__`; never prose.
_NODE = re.compile(r"[A-Za-z_][\w.:-]{0,63}", re.ASCII)


def flat(value: Value) -> Mapping[str, Value] | None:
    """Return a LangChain message as its own fields with `type`, None where the value is none."""
    if not isinstance(value, Mapping):
        return None
    named = value.get("id")
    inner = value.get("kwargs") if "lc" in value else value.get("data")
    if isinstance(inner, Mapping):
        class_name = named[-1] if isinstance(named, tuple) and named else None
        kind = inner.get("type") or value.get("type")
        if isinstance(class_name, str) and class_name in _CLASSES:
            kind = _CLASSES[class_name]
        return {**inner, "type": kind} if kind in _ROLES and "content" in inner else None
    return value if value.get("type") in _ROLES and "content" in value else None


def message(value: Value, memo: Memo) -> shapes.Message | None:
    """Return a LangChain message in our shape, None where the value is none."""
    found = flat(value)
    if found is None:
        return None
    kind = found["type"]
    role = _ROLES[kind] if isinstance(kind, str) else "user"
    if kind == "chat" and isinstance(found.get("role"), str):
        role = str(found["role"])
    out: dict[str, Value] = {"role": role}
    if role == "tool":
        call_id = found.get("tool_call_id") or ""
        out["parts"] = ({"type": "tool_call_response", "id": call_id, "response": found["content"]},)
        return out
    out["parts"] = _parts(found, memo)
    if isinstance(found.get("name"), str):
        out["name"] = found["name"]
    reason = answer_fields(found).get("finish_reason")
    if isinstance(reason, str):
        out["finish_reason"] = shapes.finish(reason)
    return out


def _parts(found: Mapping[str, Value], memo: Memo) -> tuple[Value, ...]:
    """Return text and tool calls; calls that stand in the content and in `tool_calls` both are one."""
    calls = [one for key in ("tool_calls", "invalid_tool_calls") for one in _list(found.get(key))]
    made = [shapes.tool_call(one, memo) for one in calls if isinstance(one, Mapping)]
    content = found["content"]
    said = list(shapes.parts(None if content == "" and made else content, memo))
    if made:
        said = [one for one in said if not (isinstance(one, Mapping) and one.get("type") == "tool_call")]
    return (*said, *made)


def answer_fields(found: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return `response_metadata` of a message: model, finish reason, the provider's id of the answer."""
    inner = found.get("response_metadata")
    return inner if isinstance(inner, Mapping) else {}


def messages(value: Value, role: str, memo: Memo) -> Value:
    """Return messages from what a chain or model was given or answered; any other value as it is.

    A state is a map in which one entry holds messages; a batch is a list of lists of which the first counts.
    """
    if isinstance(value, Mapping):
        for key in ("messages", "msgs", "generations", "update"):
            if key in value and (found := messages(value[key], role, memo)) != value[key]:
                return found
        if isinstance(inner := value.get("message"), Mapping) and (one := message(inner, memo)) is not None:
            return (_with_reason(one, value),)
        one = message(value, memo)
        return value if one is None else (one,)
    if not isinstance(value, tuple) or not value:
        return value
    if isinstance(value[0], tuple) and not all(_is_pair(one) for one in value):
        return messages(value[0], role, memo)
    if isinstance(value[0], Mapping) and ("message" in value[0] or "update" in value[0]):
        listed = [one for item in value for one in _made(messages(item, role, memo))]
        return tuple(listed) or value
    return _listed(value, role, memo)


def _listed(value: tuple[Value, ...], role: str, memo: Memo) -> Value:
    out: list[Value] = []
    for item in value:
        one = message(item, memo)
        if one is None and _is_pair(item) and isinstance(item, tuple):
            said = str(item[0])
            one = {"role": _ROLES.get(said, said), "parts": shapes.parts(item[1], memo)}
        if one is None and isinstance(item, Mapping) and "role" in item and ("content" in item or "parts" in item):
            one = shapes.message(item, role, memo)
        if one is None:
            return value
        out.append(one)
    return tuple(out)


def _is_pair(value: Value) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _with_reason(one: shapes.Message, generation: Mapping[str, Value]) -> shapes.Message:
    info = generation.get("generation_info")
    reason = info.get("finish_reason") if isinstance(info, Mapping) else None
    return {**one, "finish_reason": shapes.finish(reason)} if isinstance(reason, str) else one


def _made(value: Value) -> Iterator[Value]:
    for one in value if isinstance(value, tuple) else ():
        if isinstance(one, Mapping) and "parts" in one:
            yield one


def _list(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else ()


def tool_result(value: Value) -> tuple[Value, str] | None:
    """Return (result, call id) where a tool's output is a LangChain tool message, else None."""
    found = flat(value)
    if found is None or found["type"] not in ("tool", "function"):
        return None
    call_id = found.get("tool_call_id")
    return found["content"], call_id if isinstance(call_id, str) else ""


def answers(value: Value) -> Iterator[Mapping[str, Value]]:
    """Yield the messages of a model's answer as LangChain has them: `{"generations": [[{"message": ..}]]}`."""
    outer = value.get("generations") if isinstance(value, Mapping) else None
    for batch in _list(outer)[:1]:
        for one in _list(batch):
            found = flat(one.get("message")) if isinstance(one, Mapping) else None
            if found is not None:
                yield found


def is_route(name: str, node: Value, chosen: Value) -> bool:
    """Say whether a step is a conditional edge: it runs inside a node of another name, and names the next one."""
    inside = isinstance(node, str) and bool(node) and node != name and not name.endswith("Parser")
    return inside and isinstance(chosen, str) and _NODE.fullmatch(chosen) is not None


def arguments(text: str, memo: Memo) -> Value:
    """Return the object that a text holds as JSON or, as LangChain writes it, as Python; else the text."""
    found = shapes.arguments(text, memo)
    if not isinstance(found, str) or not text.startswith("{") or len(text) > _LONGEST:
        return found
    try:
        made = freeze(ast.literal_eval(text))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
    return made if isinstance(made, Mapping) and all(isinstance(key, str) for key in made) else text
