"""Unification: does a live value equal a recorded one, whose personal values are tokens?

A recorded token stands for one value, the same one wherever it occurs in a run. With the tenant's key a guess at that
value is verified; without it the guess must have the entity's shape, and is listed as assumed.
"""

import marshal
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from runreel.canonical.encoded import decoded
from runreel.canonical.form import canonical, parse_json
from runreel.canonical.match import Keys, Match, Secret, State, Token, has_token
from runreel.canonical.tokens import SECRET_RE, TOKEN_RE
from runreel.values import Value

DROPPED = "<WITHHELD:dropped>"
"""Stands for a value that a declared class took out."""

WHOLE_RE = re.compile("<REGULATED_[0-9a-f]{8,64}>")
_DECLARED = ("<WITHHELD:dropped>", "<REGULATED_")
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


class Tolerance(Protocol):
    """What a comparison lets pass, beyond the tokens."""

    def hides(self, path: str) -> bool:
        """Say whether a difference at this path is none."""

    def as_recorded(self, path: str, was: Value, now: Value) -> Value:
        """Return the live value with what a replay draws anew put as the record has it; the value itself if nothing."""


def unify(
    recorded: Value,
    live: Value,
    bindings: Bindings = Bindings(),  # frozen
    *,
    key: Keys = None,
    served: frozenset[str] = frozenset(),
    secret: Secret | None = None,
    tolerance: Tolerance | None = None,
) -> Bindings | Mismatch:
    """Compare a live value with a recorded one; return the bindings, grown, or the first mismatch.

    Args:
        key: the tenant's key, or several: bindings made with one of them are verified.
        served: tokens that the tape has given to the agent. Such a token equals itself, and binds nothing then.
        secret: says whether a text is what a secret rule finds; without it `<SECRET:rule>` only equals itself.
        tolerance: what else makes no difference; it is asked at each difference, in order.

    A token stands for its value in the escapes of URLs, HTML and JSON as well, and inside base64. A token alone also
    stands for a number, and tokens in bytes for their text: redaction knows no other form of them.
    Equal are 1 and 1.0, and strings that are JSON text of equal values. Order matters in lists, not in maps.
    """
    state = State(dict(bindings.tokens), set(bindings.assumed), key, served, secret)
    mismatch = _Comparing(state, tolerance).compare(recorded, live, "")
    return mismatch or Bindings(state.tokens, frozenset(state.assumed))


class _Comparing:
    """One comparison: the bindings as they grow, and what is let pass."""

    def __init__(self, state: State, tolerance: Tolerance | None) -> None:
        self._state, self._tolerance = state, tolerance

    def compare(self, was: Value, now: Value, path: str) -> Mismatch | None:
        if isinstance(was, str) and was.startswith(_DECLARED) and was != now:
            if was == DROPPED:
                return None  # what was there is not known, by rule
            if WHOLE_RE.fullmatch(was):
                accepted = self._state.accept(Token(was, "REGULATED", "", ""), whole_text(now))
                return None if accepted else self._differ(path, was, now, "token")
        if isinstance(was, str) and isinstance(now, str):
            return self._texts(was, now, path)
        if isinstance(was, tuple) and isinstance(now, tuple):
            return None if surely_equal(was, now) else self._lists(was, now, path)
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            return None if surely_equal(was, now) else self._maps(was, now, path)
        if isinstance(was, bytes) and isinstance(now, bytes):
            return self._bytes(was, now, path)
        if isinstance(was, str) and type(now) in (int, float) and _WHOLE_TOKEN.fullmatch(was):
            # A number that is personal, or stands under the name of a secret, was recorded as a text.
            found = Match(was, _digits(now), self._state).found()
            return None if found else self._differ(path, was, now, "token")
        if _sort(was) != _sort(now):
            return self._differ(path, was, now, "type")
        return None if canonical(was) == canonical(now) else self._differ(path, was, now, "value")

    def _differ(self, path: str, was: Value, now: Value, reason: Reason) -> Mismatch | None:
        """Return a difference, unless it is let pass."""
        tolerance = self._tolerance
        if tolerance is None:
            return Mismatch(path, was, now, reason)
        if tolerance.hides(path):
            return None
        if reason not in ("added", "removed"):
            put = tolerance.as_recorded(path, was, now)
            if put is not now:
                return self._without_tolerance(was, put, path)
        return Mismatch(path, was, now, reason)

    def _without_tolerance(self, was: Value, now: Value, path: str) -> Mismatch | None:
        return _Comparing(self._state, None).compare(was, now, path)

    def _bytes(self, was: bytes, now: bytes, path: str) -> Mismatch | None:
        """Compare bytes as the texts that they are; what is no text has no tokens."""
        try:
            mismatch = None if was == now else self._without_tolerance(was.decode(), now.decode(), path)
        except UnicodeDecodeError:
            return self._differ(path, was, now, "value")
        return mismatch and self._differ(path, was, now, mismatch.reason)

    def _lists(self, was: tuple[Value, ...], now: tuple[Value, ...], path: str) -> Mismatch | None:
        least = min(len(was), len(now))
        for index in range(least):
            mismatch = self.compare(was[index], now[index], f"{path}/{index}")
            if mismatch:
                return mismatch
        for index in range(least, max(len(was), len(now))):
            gone = index < len(was)
            before, after = (was[index], None) if gone else (None, now[index])
            mismatch = self._differ(f"{path}/{index}", before, after, "removed" if gone else "added")
            if mismatch:
                return mismatch
        return None

    def _maps(self, was: Mapping[str, Value], now: Mapping[str, Value], path: str) -> Mismatch | None:
        left = {key: value for key, value in now.items() if key not in was}
        for key, before in was.items():
            place = f"{path}/{_pointer(key)}"
            if key in now:
                mismatch = self.compare(before, now[key], place)
            elif has_token(key) and self._take_entry(key, before, left):
                mismatch = None
            else:
                mismatch = self._differ(place, before, None, "removed")
            if mismatch:
                return mismatch
        for key, after in left.items():
            mismatch = self._differ(f"{path}/{_pointer(key)}", None, after, "added")
            if mismatch:
                return mismatch
        return None

    def _take_entry(self, key: str, before: Value, left: dict[str, Value]) -> bool:
        """Find the live entry whose key and value unify with a recorded one that has tokens in its key."""
        for candidate, after in left.items():
            mark = self._state.mark()
            if Match(key, candidate, self._state).found() and self._without_tolerance(before, after, "") is None:
                del left[candidate]
                return True
            self._state.undo(mark)
        return False

    def _texts(self, was: str, now: str, path: str) -> Mismatch | None:
        if was == now:
            return None
        # JSON first: text-wise a token could swallow the quotes and keys that follow it.
        before = _document(was)
        after = _document(now) if before is not None else None
        if before is not None and after is not None:
            return self.compare(before, after, path)
        fits = False
        if has_token(was):
            match = Match(was, now, self._state)
            if match.found():
                return None
            fits = match.text_fits
        plain = decoded(was)
        if plain is not None and has_token(plain):
            now_plain = decoded(now)
            if now_plain is not None and self._without_tolerance(plain, now_plain, path) is None:
                return None
        return self._differ(path, was, now, "token" if fits else "value")


def surely_equal(was: Any, now: Any) -> bool:
    """Say quickly that two values are the same, down to 1, 1.0 and True: histories of model calls are, nearly whole.

    Format 2 of marshal writes equal values alike. A different order of keys is left to the slow way.
    """
    return was is now or marshal.dumps(was, 2) == marshal.dumps(now, 2)


def _sort(value: Value) -> str:
    """Name the type as JSON has it: all numbers are one."""
    return "number" if type(value) is float else type(value).__name__.replace("int", "number")


def _digits(number: Value) -> str:
    """Write a number as redaction sees it."""
    return str(int(number)) if isinstance(number, float) and number.is_integer() else str(number)


def _document(text: str) -> Value:
    """Parse a string that is the JSON text of a list or map; None where it is none."""
    if text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None


def whole_text(value: Value) -> str:
    """Return the text that one token for a whole value is made of: the same for a value and for its JSON text."""
    document = _document(value) if isinstance(value, str) else None
    return canonical(value if document is None else document).decode(errors="replace")


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
