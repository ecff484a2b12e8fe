"""Unification: does a live value equal a recorded one, whose personal values are tokens?

A recorded token stands for one value, the same one wherever it occurs in a run. With the tenant's key a guess at that
value is verified; without it the guess must have the entity's shape, and is listed as assumed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from runreel.canonical.form import canonical, parse_json
from runreel.canonical.match import Match, Secret, State, has_token
from runreel.canonical.tokens import SECRET_RE, TOKEN_RE
from runreel.values import Value

_WHOLE_TOKEN = re.compile(f"{TOKEN_RE.pattern}|{SECRET_RE.pattern}")

Reason = Literal["value", "type", "added", "removed", "token"]


@dataclass(frozen=True, slots=True)
class Bindings:
    """What tokens were found to stand for. `assumed` are those that no key has verified."""

    tokens: Mapping[str, str] = field(default_factory=dict)
    assumed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first difference, depth first.

    `path` is a JSON pointer; it leads into strings that are JSON text as well. `was` and `now` are the recorded and the
    live value there (None where there is none), so `now` is not redacted. Reasons: `value` and `type` differ; the live
    value has something `added` or `removed`; a `token` would have to stand for two values, or for what it cannot.
    """

    path: str
    was: Value
    now: Value
    reason: Reason


def unify(
    recorded: Value,
    live: Value,
    bindings: Bindings = Bindings(),  # frozen
    *,
    key: bytes | None = None,
    served: frozenset[str] = frozenset(),
    secret: Secret | None = None,
) -> Bindings | Mismatch:
    """Compare a live value with a recorded one; return the bindings, grown, or the first mismatch.

    Args:
        key: the tenant's key; bindings made with it are verified.
        served: tokens that the tape has given to the agent. Such a token equals itself, and binds nothing then.
        secret: says whether a text is what a secret rule finds; without it `<SECRET:rule>` only equals itself.

    A token alone also stands for a number, and tokens in bytes for their text: redaction knows no other form of them.
    Equal are 1 and 1.0, and strings that are JSON text of equal values. Order matters in lists, not in maps.
    """
    state = State(dict(bindings.tokens), set(bindings.assumed), key, served, secret)
    mismatch = _compare(recorded, live, "", state)
    return mismatch or Bindings(state.tokens, frozenset(state.assumed))


def _compare(was: Value, now: Value, path: str, state: State) -> Mismatch | None:
    if isinstance(was, str) and isinstance(now, str):
        return _texts(was, now, path, state)
    if isinstance(was, tuple) and isinstance(now, tuple):
        return _lists(was, now, path, state)
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        return _maps(was, now, path, state)
    if isinstance(was, bytes) and isinstance(now, bytes):
        return _bytes(was, now, path, state)
    if isinstance(was, str) and type(now) in (int, float) and _WHOLE_TOKEN.fullmatch(was):
        # A number that is personal, or stands under the name of a secret, was recorded as a text.
        return None if Match(was, _digits(now), state).found() else Mismatch(path, was, now, "token")
    if _sort(was) != _sort(now):
        return Mismatch(path, was, now, "type")
    return None if canonical(was) == canonical(now) else Mismatch(path, was, now, "value")


def _sort(value: Value) -> str:
    """Name the type as JSON has it: all numbers are one."""
    return "number" if type(value) is float else type(value).__name__.replace("int", "number")


def _digits(number: Value) -> str:
    """Write a number as redaction sees it."""
    return str(int(number)) if isinstance(number, float) and number.is_integer() else str(number)


def _bytes(was: bytes, now: bytes, path: str, state: State) -> Mismatch | None:
    """Compare bytes as the texts that they are; what is no text has no tokens."""
    try:
        mismatch = None if was == now else _texts(was.decode(), now.decode(), path, state)
    except UnicodeDecodeError:
        return Mismatch(path, was, now, "value")
    return mismatch and Mismatch(path, was, now, mismatch.reason)


def _lists(was: tuple[Value, ...], now: tuple[Value, ...], path: str, state: State) -> Mismatch | None:
    for index, (before, after) in enumerate(zip(was, now, strict=False)):
        mismatch = _compare(before, after, f"{path}/{index}", state)
        if mismatch:
            return mismatch
    if len(was) > len(now):
        return Mismatch(f"{path}/{len(now)}", was[len(now)], None, "removed")
    if len(was) < len(now):
        return Mismatch(f"{path}/{len(was)}", None, now[len(was)], "added")
    return None


def _maps(was: Mapping[str, Value], now: Mapping[str, Value], path: str, state: State) -> Mismatch | None:
    left = {key: value for key, value in now.items() if key not in was}
    for key, before in was.items():
        place = f"{path}/{_pointer(key)}"
        if key in now:
            mismatch = _compare(before, now[key], place, state)
            if mismatch:
                return mismatch
        elif not (has_token(key) and _take_entry(key, before, left, state)):
            return Mismatch(place, before, None, "removed")
    if left:
        key, after = next(iter(left.items()))
        return Mismatch(f"{path}/{_pointer(key)}", None, after, "added")
    return None


def _take_entry(key: str, before: Value, left: dict[str, Value], state: State) -> bool:
    """Find the live entry whose key and value unify with a recorded one that has tokens in its key."""
    for candidate, after in left.items():
        mark = state.mark()
        if Match(key, candidate, state).found() and _compare(before, after, "", state) is None:
            del left[candidate]
            return True
        state.undo(mark)
    return False


def _texts(was: str, now: str, path: str, state: State) -> Mismatch | None:
    if was == now:
        return None
    # JSON first: text-wise a token could swallow the quotes and keys that follow it.
    before = _document(was)
    after = _document(now) if before is not None else None
    if before is not None and after is not None:
        return _compare(before, after, path, state)
    if not has_token(was):
        return Mismatch(path, was, now, "value")
    match = Match(was, now, state)
    if match.found():
        return None
    return Mismatch(path, was, now, "token" if match.text_fits else "value")


def _document(text: str) -> Value:
    """Parse a string that is the JSON text of a list or map; None where it is none."""
    if text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
