"""Says of a content value what it holds and whether it is whole: placeholder, cut JSON, missing parts."""

from collections.abc import Callable, Mapping
from typing import Final

from runreel.semconv import messages as shapes
from runreel.semconv.registry import FieldType
from runreel.semconv.view import Found, Memo, looks_like_json, says_truncated, withheld
from runreel.values import Value

_LONGEST_VOID: Final = 8  # characters of what holds nothing: longer texts are not looked at


def understand(shape: FieldType, raw: Value, role: str, memo: Memo) -> Found:
    """Return a raw attribute value as the given shape.

    A text that wants to be JSON and is not was cut by the sender: SDK limits leave no other sign. It is kept as text.
    """
    if not isinstance(raw, str):
        return _understand(shape, raw, role, memo)
    key = (shape, role, raw)
    found = memo.understood.get(key)
    if found is None:
        found = memo.understood[key] = _understand(shape, raw, role, memo)
    return found


def _understand(shape: FieldType, raw: Value, role: str, memo: Memo) -> Found:
    if reason := withheld(raw):
        return Found(None, "withheld", reason)
    if shape == "value":
        return _value(raw)
    value = raw
    if isinstance(raw, str) and looks_like_json(raw):
        ok, value = memo.parse_container(raw)
        if not ok:
            return Found(raw, "cut", "not_json: the text starts as JSON and is none to its end")
    return _SHAPES[shape](value, role, memo)


def _value(raw: Value) -> Found:
    if says_truncated(raw):
        return Found(raw, "cut", "said_truncated: the text ends with a remark that it was cut")
    return Found(raw, "whole")


def void(value: Value, memo: Memo) -> bool:
    """Say whether a value, or the JSON that a text is, holds nothing where a model's content belongs: `null`, an empty
    text, list or object, 0, false. What a tool returned may be any of these, and is never asked."""
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _LONGEST_VOID:
            return False
        ok, parsed = memo.parse(text)
        return not text or (ok and not parsed)
    return not value


def nothing_said(value: Value, memo: Memo) -> Found | None:
    """Return what is to be said of a model's content that is none, None where there is some."""
    items = value if isinstance(value, tuple) else (value,)
    if not all(void(one, memo) for one in items):
        return None
    if any(isinstance(one, Mapping) or one == "{}" for one in items):
        return Found(None, "withheld", "placeholder: the sender put {} in its place")
    return Found(None, "absent", "empty: there are no messages")


def _messages(value: Value, role: str, memo: Memo) -> Found:
    if nothing := nothing_said(value, memo):
        return nothing
    found = shapes.messages(value, role, memo)
    if not found:
        return Found(None, "absent", "empty: there are no messages")
    reason = shapes.holes(found)
    return Found(found, "withheld", reason) if reason else Found(found, "whole")


def _arguments(value: Value, _: str, memo: Memo) -> Found:
    return Found(shapes.arguments(value, memo), "whole")


def _definitions(value: Value, _: str, memo: Memo) -> Found:
    if void(value, memo) and value != ():
        return Found(None, "absent", "empty: there are no tool definitions")
    return Found(shapes.definitions(value, memo), "whole")


def _documents(value: Value, _: str, memo: Memo) -> Found:
    if void(value, memo) and not isinstance(value, tuple | Mapping):
        return Found(None, "absent", "empty: there are no documents")
    found = shapes.documents(value, memo)
    for one in found:
        if not isinstance(one, Mapping) or "content" not in one:
            return Found(found, "withheld", "no_document_text: the documents came without their text")
        if reason := withheld(one["content"]):
            return Found(found, "withheld", reason)
    return Found(found, "whole")


def _json(value: Value, _: str, __: Memo) -> Found:
    return Found(value, "whole")


_SHAPES: Mapping[FieldType, Callable[[Value, str, Memo], Found]] = {
    "messages": _messages,
    "definitions": _definitions,
    "documents": _documents,
    "json": _json,
}


def tool_arguments(raw: Value, memo: Memo) -> Found:
    """Return a tool's arguments: the object that a text holds, else the text exactly as it was.

    Broken JSON is no sign of a cut here: models write broken arguments.
    """
    found = understand("value", raw, "", memo)
    text = raw if isinstance(raw, str) and found.state == "whole" else None
    return Found(shapes.arguments(found.value, memo), found.state, found.reason, text=text)
