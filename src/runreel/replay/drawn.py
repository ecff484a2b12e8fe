"""What a replay draws anew: ids, random numbers, the time. A value of that stands for what the record has in its place.

Ids and random numbers are known since the agent's process tells of each draw; they stand one for one for the recorded
ones. Times are known by the clock, which moves inside the run's own time. Values of monotonic clocks and process ids
cannot come again: a request that holds one is told as nondeterminism.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple
from uuid import UUID

from runreel.canonical import TOKEN_RE
from runreel.values import Value

Volatile = Literal["monotonic clock", "process id"]

_PIECE: Final = re.compile(
    r"(?P<uuid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
    r"|(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)"
    r"|(?P<word>(?<![0-9a-zA-Z])(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,}(?![0-9a-zA-Z]))"
    r"|(?P<number>\d+(?:\.\d+(?:[eE][+-]?\d+)?)?)"
)
_BEFORE_NS: Final = 2_000_000_000
_AFTER_NS: Final = 60_000_000_000
_UNITS: Final = (1_000_000_000, 1_000_000, 1_000, 1)  # seconds, milli, micro, nano: how many nanoseconds one is
_LATEST_NS: Final = 1 << 63  # no clock shows more in any unit: what is above, infinite or no number is no time
_LEAST_RANDOM: Final = 4  # characters or digits: what is shorter is in any text
_SIZES: Final = 2  # digits by which two numbers of one draw may differ: more does so once in a thousand
_HEX: Final = re.compile("[0-9a-fA-F]")
_LIKE_IDS: Final = frozenset({"PHONE", "CARD", "SSN", "CRYPTO", "FIELD", "HASH", "REGULATED"})


class Piece(NamedTuple):
    """A part of a text that may have been drawn: an id, a time, a number."""

    start: int
    end: int
    kind: str
    text: str


@dataclass(slots=True)
class Drawn:
    """Everything that one replay has drawn, and what of the record it stands for."""

    start_ns: int = 0
    end_ns: int = 0
    pids: set[int] = field(default_factory=set)
    since: float = field(default_factory=time.monotonic)
    now: Callable[[], float] = time.monotonic
    kinds: dict[str | float, str] = field(default_factory=dict)
    pairs: dict[str | float, str | float] = field(default_factory=dict)
    taken: dict[str | float, str | float] = field(default_factory=dict)
    assumed: dict[str, None] = field(default_factory=dict)

    def add(self, kind: str, value: Value) -> None:
        """Say that the agent drew a value: `uuid` in its usual form, `bytes` in hex, `random` as it is."""
        for form in _forms(kind, value):
            self.kinds.setdefault(form, kind)

    def pair(self, was: str | float, now: str | float, trial: "Trial") -> bool:
        """Say whether a live value stands for a recorded one: both new to each other, or known to belong together.

        A recorded value of another form was no draw: code that now draws what it was given before has changed.
        """
        kind = self.kinds.get(_folded(now))
        if kind is None or not _of_one_form(kind, was, now):
            return False
        was, now = _folded(was), _folded(now)
        known, back = self.pairs.get(now, trial.pairs.get(now)), self.taken.get(was, trial.taken.get(was))
        if known is not None or back is not None:
            return known == was and back == now
        trial.pairs[now], trial.taken[was] = was, now
        trial.assumed[f"{kind} {was}"] = None
        return True

    def keep(self, trial: "Trial") -> None:
        """Make what a comparison assumed hold from now on."""
        self.pairs |= trial.pairs
        self.taken |= trial.taken
        self.assumed |= trial.assumed

    def in_time(self, ns: int) -> bool:
        """Say whether the agent's clock may have shown this time."""
        return bool(self.end_ns) and self.start_ns - _BEFORE_NS <= ns <= self.end_ns + _AFTER_NS

    def volatile(self, number: float) -> Volatile | None:
        """Say which clock or counter of this very moment a number comes from."""
        if isinstance(number, int) and number in self.pids:
            return "process id"
        if not abs(number) < _LATEST_NS:  # nan is not, either
            return None
        latest = self.now()
        if any(self.since <= number * unit / 1e9 <= latest for unit in _UNITS):
            return "monotonic clock"
        return None


@dataclass(slots=True)
class Trial:
    """What one comparison takes for drawn. `volatile` holds path, recorded and live value of what cannot come again."""

    drawn: Drawn
    pairs: dict[str | float, str | float] = field(default_factory=dict)
    taken: dict[str | float, str | float] = field(default_factory=dict)
    assumed: dict[str, None] = field(default_factory=dict)
    volatile: list[tuple[str, Value, Value, Volatile]] = field(default_factory=list)

    def as_recorded(self, path: str, was: Value, now: Value) -> Value:
        """Return a live value with what was drawn put as the record has it; the value itself where nothing was."""
        if isinstance(now, bool) or isinstance(was, bool):
            return now
        if isinstance(was, int | float) and isinstance(now, int | float):
            return self._number(path, was, now)
        if not isinstance(was, str) or not isinstance(now, str):
            return now
        if _folded(now) in self.drawn.kinds:
            return was if self.drawn.pair(was, now, self) else now
        return self._text(path, was, now)

    def _number(self, path: str, was: float, now: float) -> Value:
        if self.drawn.pair(was, now, self) or self._same_clock(was, now):
            return was
        volatile = self.drawn.volatile(now)
        if volatile is None:
            return now
        self.volatile.append((path, was, now, volatile))
        return was

    def _same_clock(self, was: float, now: float) -> bool:
        if not abs(was) < _LATEST_NS or not abs(now) < _LATEST_NS:
            return False
        if any(self.drawn.in_time(int(was * unit)) and self.drawn.in_time(int(now * unit)) for unit in _UNITS):
            self.assumed["time of the clock"] = None
            return True
        return False

    def _text(self, path: str, was: str, now: str) -> Value:
        """Put the recorded pieces into a live text, where all that differ were drawn."""
        before, after = list(_pieces(was)), list(_pieces(now))
        if len(before) != len(after) or not after:
            return now
        out, last = [], 0
        for one, other in zip(before, after, strict=True):
            if one.text != other.text and not self._piece(path, one, other, (was, now)):
                return now
            out += [now[last : other.start], one.text]
            last = other.end
        return "".join([*out, now[last:]])

    def _piece(self, path: str, one: Piece, other: Piece, texts: tuple[str, str]) -> bool:
        if self.drawn.pair(one.text, other.text, self):
            return True
        if one.kind == other.kind == "time":
            times = _instant(one.text), _instant(other.text)
            if all(any(map(self.drawn.in_time, found)) for found in times):
                self.assumed["time of the clock"] = None
                return True
            return False
        numbers = _as_number(one.text), _as_number(other.text)
        if numbers[0] is None or numbers[1] is None:
            return False
        if self._same_clock(numbers[0], numbers[1]):
            return True
        volatile = self.drawn.volatile(numbers[1])
        if volatile is not None:
            self.volatile.append((path, *texts, volatile))
        return volatile is not None


def _pieces(text: str) -> Iterator[Piece]:
    """Yield what may have been drawn, outside of tokens."""
    blanked = TOKEN_RE.sub(lambda match: " " * len(match[0]), text)
    for match in _PIECE.finditer(blanked):
        yield Piece(match.start(), match.end(), match.lastgroup or "", match[0])


def _instant(text: str) -> tuple[int, ...]:
    """Return the times that a text may mean, in nanoseconds since 1970: without a zone UTC, and this machine's."""
    try:
        found = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return ()
    whole = (found,) if found.tzinfo is not None else (found.replace(tzinfo=UTC), found.astimezone())
    return tuple(int(one.timestamp() * 1e6) * 1000 for one in whole)


def _as_number(text: str) -> float | None:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:  # also where there are more digits than Python reads
        return None


def _of_one_form(kind: str, was: str | float, now: str | float) -> bool:
    """Say whether two values may have come from one draw: ids and bytes are written alike, numbers are of one size.

    A picked text may be any text. A token may be what redaction took an id for by its look, but for no address or name.
    """
    if isinstance(was, str) and isinstance(now, str):
        if kind == "random":
            return True
        token = TOKEN_RE.fullmatch(was)
        return token[1] in _LIKE_IDS if token else _HEX.sub("0", was) == _HEX.sub("0", now)
    if isinstance(was, str) or isinstance(now, str):
        return False
    if isinstance(now, float) and not now.is_integer():
        return isinstance(was, float) and not was.is_integer()
    digits, drawn = len(str(abs(was))), len(str(abs(now)))
    return digits >= _LEAST_RANDOM and abs(digits - drawn) <= _SIZES


def _folded(value: str | float) -> str | float:
    return value.lower() if isinstance(value, str) else value


def _forms(kind: str, value: Value) -> tuple[str | float, ...]:
    """Return how a drawn value may be written, in small letters."""
    if isinstance(value, str) and kind == "uuid":
        try:
            made = UUID(value)
        except ValueError:
            return (value.lower(),)
        return str(made), made.hex, made.urn, made.int
    if isinstance(value, str):
        return (value.lower(),) if len(value) >= _LEAST_RANDOM else ()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ()
    # A small number is in any request: one that a die showed must not stand for a count that was changed.
    return (value,) if len(str(abs(value))) >= _LEAST_RANDOM else ()
