"""What was found in JSON texts that grow: an agent sends its history again at every step, and only what is new in it
need be judged.

Stops are noted along a text: places where all that stands before is judged, whatever follows. A later text starts
behind the last stop up to which it is the same. Nothing of the text itself is kept: stops are told by keyed hashes.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from runreel.processors.redact.edits import Edits
from runreel.processors.redact.memo import Hasher, Memo, encoded

LONG = 4096
"""Characters from which a text is worth it."""

_HEAD = 256  # texts that start alike are looked for together
_MOST_PER_HEAD = 16  # runs of one agent start alike: with its system prompt
_APART = 4096


class Stop(NamedTuple):
    """Behind the first `length` characters. `name` is the last key before: what follows may stand under it."""

    length: int
    name: str


class Trail(NamedTuple):
    """The stops of one text, each with the keyed hash of what stands before it, and the edits before the last one."""

    stops: tuple[tuple[Stop, bytes], ...]
    edits: Edits


NO_TRAIL = Trail((), ())


@dataclass(frozen=True, slots=True)
class Start:
    """Where the work on a text begins, and what is known of what stands before.

    Attributes:
        hasher: Has seen what stands before; never updated, only copied.
        head: What the trails of texts that start like this one are remembered under; empty for a text too short.
        trail: The one followed; `stops` of its stops are in this text.
        origin: The beginning of the text, where this is not it.
    """

    hasher: Hasher
    head: bytes = b""
    trail: Trail = NO_TRAIL
    stops: int = 0
    origin: "Start | None" = None

    @property
    def stop(self) -> Stop | None:
        return self.trail.stops[self.stops - 1][0] if self.stops else None

    @property
    def length(self) -> int:
        return self.trail.stops[self.stops - 1][0].length if self.stops else 0

    @property
    def edits(self) -> Edits:
        """What must be replaced before the start."""
        return _before(self.trail.edits, self.length)

    def key(self, text: str) -> bytes:
        """Return the keyed hash of the whole text."""
        hasher = self.hasher.copy()
        hasher.update(encoded(text[self.length :] if self.stops else text))
        return hasher.digest()

    def along(self, trail: Trail, text: str) -> Self:
        """Follow a trail from its beginning, as far as the text is the same; self is the beginning."""
        hasher, done, stops = self.hasher, 0, 0
        for stop, digest in trail.stops:
            if stop.length > len(text):
                break
            ahead = hasher.copy()
            ahead.update(encoded(text[done : stop.length]))
            if ahead.digest() != digest:
                break
            hasher, done, stops = ahead, stop.length, stops + 1
        return type(self)(hasher, self.head, trail, stops, self)

    def anew(self) -> "Start":
        """Return the beginning of the text."""
        return self.origin or self


class Growing:
    """Remembers the trails of texts seen lately, `size` stops and edits in all. Thread-safe; it changes no result."""

    def __init__(self, size: int, version: str) -> None:
        self._memo: Memo[tuple[Trail, ...]] = Memo(size, version)
        self._starts: dict[str, Start] = {}  # of the few marks there are

    def start(self, mark: str, text: str) -> Start:
        """Return where to begin. Texts of different marks have nothing to do with each other."""
        short = self._starts.get(mark)
        if short is None:
            hasher = self._memo.hasher()
            hasher.update(mark.encode())
            short = self._starts[mark] = Start(hasher)
        if len(text) < LONG or text[0] not in "[{":
            return short
        first = Start(short.hasher, self._memo.key(mark + text[:_HEAD]))
        ways = (first.along(trail, text) for trail in self._memo.get(first.head) or ())
        return max(ways, key=lambda start: start.length, default=first)

    def put(self, start: Start, text: str, stops: Sequence[Stop], edits: Edits) -> None:
        """Note the stops found behind a start, and the edits of the whole text."""
        if not start.head or not stops:
            return
        hasher, done = start.hasher.copy(), start.length
        new: list[tuple[Stop, bytes]] = []
        for stop in stops:
            hasher.update(encoded(text[done : stop.length]))
            new.append((stop, hasher.digest()))
            done = stop.length
        trail = Trail((*start.trail.stops[: start.stops], *new), _before(edits, done))
        known = self._memo.get(start.head) or ()
        trails = (trail, *(one for one in known if not _continues(start, one)))[:_MOST_PER_HEAD]
        self._memo.put(start.head, trails, sum(len(one.stops) + len(one.edits) for one in trails))


def noted(stops: list[Stop], stop: Stop) -> None:
    """Add a stop. Those between the first and the last of a text are kept some way apart."""
    if len(stops) > 1 and stops[-1].length - stops[-2].length < _APART:
        stops.pop()
    stops.append(stop)


def _continues(start: Start, trail: Trail) -> bool:
    """Tell whether a text takes the place of the one it was followed along: it has more than half of it."""
    return trail is start.trail and trail.stops[-1][0].length < 2 * start.length


def _before(edits: Edits, length: int) -> Edits:
    return edits[: bisect_right(edits, length, key=lambda edit: edit.end)]
