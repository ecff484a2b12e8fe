"""Bring a recorded and a live model request to one form, so that only what was asked is compared, not how it is spelt.

Instrumentations leave out what the conventions have no word for (caching marks, signatures, `strict`...), and put what
an API says in several items into several messages or into one. What the live request says more than its record is
left out here, and named: it can neither be equal nor different.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from runreel.replay.wire import gemini, openai_responses
from runreel.values import Value

# Without these a part is not the same part: where the record lacks one, that is a difference.
_SAID: Final = frozenset({"type", "content", "id", "name", "arguments", "response", "uri", "file_id", "data"})
# Made by the sender of the record, or by the provider for its own use: only compared where both have it.
_MADE: Final = frozenset({"mime_type", "modality", "signature", "thoughtSignature", "thought_signature"})
_TEXTS: Final = {"refusal": "text"}


@dataclass(frozen=True, slots=True)
class Paired:
    """A recorded value and a live one in one form. `skipped` names what of the live one the record does not hold."""

    recorded: Value
    live: Value
    skipped: frozenset[str] = field(default=frozenset())


def model(api: str, name: Value) -> Value:
    """Return a model's name as its API knows it: Gemini's may stand in a path."""
    return name.rpartition("/")[2] if api == gemini.API and isinstance(name, str) else name


def messages(api: str, recorded: Value, live: Value) -> Paired:
    """Pair the messages of two requests to an API ("": none in particular)."""
    before, now = in_turns(api, recorded), in_turns(api, live)
    if not isinstance(before, tuple) or not isinstance(now, tuple) or len(before) != len(now):
        return Paired(before, now)
    return _all(before, now, lambda one, other: _message(api, one, other))


def in_turns(api: str, found: Value) -> Value:
    """Return messages without empty texts; where an API tells an answer in items, with one message for each answer."""
    if not isinstance(found, tuple):
        return found
    out: list[Value] = []
    for message in found:
        if not isinstance(message, Mapping):
            out.append(message)
            continue
        parts = message.get("parts")
        kept = tuple(part for part in parts if not _is_empty_text(part)) if isinstance(parts, tuple) else parts
        last = out[-1] if out else None
        if api == openai_responses.API and _is_answer(message) and isinstance(last, Mapping) and _is_answer(last):
            before = last.get("parts")
            assert isinstance(before, tuple)
            assert isinstance(kept, tuple)
            out[-1] = {**last, "parts": (*before, *kept)}
        else:
            out.append({**message, "parts": kept})
    return tuple(out)


def _is_answer(message: Mapping[str, Value]) -> bool:
    return message.get("role") == "assistant" and isinstance(message.get("parts"), tuple)


def _is_empty_text(part: Value) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and part.get("content") in ("", None)


def _all(before: Sequence[Value], now: Sequence[Value], pair: Callable[[Value, Value], Paired]) -> Paired:
    pairs = [pair(one, other) for one, other in zip(before, now, strict=True)]
    skipped = frozenset[str]().union(*(one.skipped for one in pairs))
    return Paired(tuple(one.recorded for one in pairs), tuple(one.live for one in pairs), skipped)


def _message(api: str, recorded: Value, live: Value) -> Paired:
    if not isinstance(recorded, Mapping) or not isinstance(live, Mapping):
        return Paired(recorded, live)
    if api == gemini.API:
        recorded, live = _with_role(recorded), _with_role(live)
    before, now = recorded.get("parts"), live.get("parts")
    if not isinstance(before, tuple) or not isinstance(now, tuple):
        return Paired(recorded, live)
    skipped: frozenset[str] = frozenset()
    # An answer whose reasoning was not recorded cannot be handed back with it. In responses the record of the next
    # request has it although the record of the answer has not.
    told, given = _has_reasoning(before), _has_reasoning(now)
    if _is_answer(live) and told != given and (given or api == openai_responses.API):
        before, now = _without_reasoning(before), _without_reasoning(now)
        skipped = frozenset({"reasoning"})
    if len(before) != len(now):
        return Paired({**recorded, "parts": before}, {**live, "parts": now}, skipped)
    parts = _all(before, now, _part)
    if api == gemini.API:
        parts = _without_made_up_ids(parts, now)
    return Paired({**recorded, "parts": parts.recorded}, {**live, "parts": parts.live}, skipped | parts.skipped)


def _with_role(message: Mapping[str, Value]) -> Mapping[str, Value]:
    """Results of functions go out as the user's, or as a role of their own: instrumentations know one role for it."""
    return {**message, "role": "user"} if message.get("role") in ("", "tool", "function") else message


def _has_reasoning(parts: tuple[Value, ...]) -> bool:
    return any(isinstance(part, Mapping) and part.get("type") == "reasoning" for part in parts)


def _without_reasoning(parts: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(part for part in parts if not (isinstance(part, Mapping) and part.get("type") == "reasoning"))


def _part(recorded: Value, live: Value) -> Paired:
    if not isinstance(recorded, Mapping) or not isinstance(live, Mapping):
        return Paired(recorded, live)
    before = {name: one for name, one in recorded.items() if name in live or name not in _MADE}
    said = _SAID - {"name"} if live.get("type") == "tool_call_response" else _SAID
    now = {name: one for name, one in live.items() if name in recorded or name in said}
    for one in (before, now):
        if isinstance(kind := one.get("type"), str):
            one["type"] = _TEXTS.get(kind, kind)
    skipped = {name for name in live if name not in now and name not in _MADE}
    return Paired(before, now, frozenset(skipped))


def _without_made_up_ids(parts: Paired, as_asked: Sequence[Value]) -> Paired:
    """Leave out ids that only an instrumentation gave: the API knows calls by name and order."""
    assert isinstance(parts.recorded, tuple)
    assert isinstance(parts.live, tuple)
    before, now = list(parts.recorded), list(parts.live)
    for place, (one, other) in enumerate(zip(before, now, strict=True)):
        if not isinstance(one, Mapping) or not isinstance(other, Mapping) or other.get("id"):
            continue
        asked = as_asked[place]
        name = asked.get("name") if isinstance(asked, Mapping) else None
        if not one.get("id") or gemini.is_made_up(one.get("id"), name, place):
            before[place] = {name: value for name, value in one.items() if name != "id"}
            now[place] = {name: value for name, value in other.items() if name != "id"}
    return Paired(tuple(before), tuple(now), parts.skipped)


# --- tools ------------------------------------------------------------------------------------------------------------

_DEFINED: Final = frozenset({"type", "name", "description", "parameters"})


def definitions(api: str, recorded: Value, live: Value) -> Paired:
    """Pair the tool definitions of two requests."""
    if not isinstance(recorded, tuple) or not isinstance(live, tuple) or len(recorded) != len(live):
        return Paired(recorded, live)
    schemas = any(isinstance(one, Mapping) and "parameters" in one for one in recorded)
    return _all(recorded, live, lambda one, other: _definition(api, one, other, schemas=schemas))


def _definition(api: str, recorded: Value, live: Value, *, schemas: bool) -> Paired:
    if not isinstance(recorded, Mapping) or not isinstance(live, Mapping):
        return Paired(recorded, live)
    known = _DEFINED if schemas else _DEFINED - {"parameters"}
    if recorded.get("type") != "function":
        known = _DEFINED - {"parameters", "description"}
    now = {name: one for name, one in live.items() if name in recorded or name in known}
    skipped = frozenset(name for name in live if name not in now)
    before = dict(recorded)
    if api == gemini.API:
        for one in (before, now):
            if "parameters" in one:
                one["parameters"] = _schema(one["parameters"])
    return Paired(before, now, skipped)


def _schema(value: Value) -> Value:
    """Return a schema with its own keywords in one spelling: the API's, where the record has Python's."""
    if isinstance(value, tuple):
        return tuple(_schema(one) for one in value)
    if not isinstance(value, Mapping):
        return value
    out: dict[str, Value] = {}
    for key, one in value.items():
        word = gemini.snake(key)
        if word in ("properties", "defs") and isinstance(one, Mapping):
            out[word] = {name: _schema(inner) for name, inner in one.items()}
        else:
            out[word] = one if word in ("default", "example", "enum", "required", "property_ordering") else _schema(one)
    return out
