"""Say whether a model's request stands in the place of a recorded one, changed, or is one more."""

from collections.abc import Mapping
from typing import Final

from runreel.canonical import canonical
from runreel.replay.compare import in_common
from runreel.replay.tape import parts_of
from runreel.replay.unifying import Call
from runreel.replay.values import Entry
from runreel.values import Value

_MOST_LIKENED: Final = 16  # of the messages that are not simply the same
_LEAST_ALIKE: Final = 0.5


def may_stand_for(entry: Entry, call: Call) -> bool:
    """Say whether a model call may be a recorded one, changed: the same tools and turns, or half of its messages."""
    recorded, live = entry.request, call.request
    assert isinstance(recorded, Mapping)
    assert isinstance(live, Mapping)
    before, now = recorded.get("messages"), live.get("messages")
    if not isinstance(before, tuple) or not isinstance(now, tuple):
        return True
    tools = _names(recorded.get("tools"))
    if _roles(before) == _roles(now) and (tools is None or tools == _names(live.get("tools"))):
        return True
    equal = {canonical(message) for message in before}
    new = [message for message in now if canonical(message) not in equal]
    texts, ids = [_words(message) for message in before], _ids(before)
    like = 0
    for one in new[:_MOST_LIKENED]:
        words = _words(one)
        like += not ids.isdisjoint(_ids((one,))) or any(in_common(old, words) >= _LEAST_ALIKE for old in texts)
    return len(now) - len(new) + like >= _LEAST_ALIKE * len(now)


def _ids(messages: tuple[Value, ...]) -> set[Value]:
    """Return the ids of the calls whose results are told."""
    return {part.get("id") for part in parts_of(messages, "tool_call_response")}


def _words(message: Value) -> str:
    """Return what a message says, in one text: without its role and the kinds of its parts."""
    if isinstance(message, str):
        return message
    if isinstance(message, Mapping):
        return " ".join(_words(value) for name, value in message.items() if name not in ("role", "type", "id"))
    return " ".join(map(_words, message)) if isinstance(message, tuple) else ""


def _roles(messages: tuple[Value, ...]) -> list[Value]:
    return [message.get("role") if isinstance(message, Mapping) else None for message in messages]


def _names(tools: Value) -> list[Value] | None:
    """Return the names of tools; None where a record does not hold them."""
    if tools is None:
        return None
    return [tool.get("name") for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, tuple) else []
