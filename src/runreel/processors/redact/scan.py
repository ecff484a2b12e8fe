"""One pass over a text that says which patterns may be found in it, and where: a superset, never a verdict."""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from hyperscan import Database, Scratch

Hits = Mapping[int, Sequence[tuple[int, int]]]
"""Gate number -> (start, end) of places that may hold a finding; starts are only right where the gate asks for them."""

NO_PLACE = (0, 0)
"""A gate's only hit where only its hints were looked for: somewhere."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What to look for: a regex over bytes without look-around.

    Attributes:
        starts: Where a hit starts matters too, not only where it ends.
        once: The first hit is enough.
        hints: Lower-case literals that say as much in a scanner without a set matcher.
        run: A regex whose matches cover those of `pattern` with all that adjoins them, where overlapping ones abound.
        family: Gates of one family are looked for together; a few families that look for other characters than each
            other (digits, letters) are quicker than one of all.
    """

    pattern: str
    starts: bool = False
    once: bool = False
    caseless: bool = False
    hints: tuple[str, ...] = ()
    run: str = ""
    family: str = ""


class Scanner(Protocol):
    """Finds the hits of all gates in one text of one byte a character. Thread-safe."""

    def scan(self, data: bytes) -> Hits: ...


def scanner(gates: Sequence[Gate], *, hyperscan: bool | None = None) -> Scanner:
    """Return a scanner: on hyperscan where it is installed (or as `hyperscan` demands), else on `re`."""
    if hyperscan is None:
        try:
            import hyperscan as _  # noqa: F401
        except ImportError:
            hyperscan = False
        else:
            hyperscan = True
    return HyperscanScanner(gates) if hyperscan else ReScanner(gates)


class ReScanner:
    """The same hits without a native library, about ten times slower. Hits of one gate do not overlap here: where they
    would, one stands for its neighbours."""

    def __init__(self, gates: Sequence[Gate]) -> None:
        self._gates = tuple(gates)
        self._patterns = tuple(
            re.compile((gate.run or gate.pattern).encode(), re.DOTALL | (re.IGNORECASE if gate.caseless else 0))
            for gate in gates
        )
        self._hints = tuple(tuple(hint.encode() for hint in gate.hints) for gate in gates)

    def scan(self, data: bytes) -> Hits:
        return self.scan_for(data, range(len(self._gates)))

    def scan_for(self, data: bytes, wanted: Sequence[int]) -> Hits:
        """Scan for some of the gates only."""
        low = data.lower()
        out: dict[int, list[tuple[int, int]]] = {}
        for number in wanted:
            hints = self._hints[number]
            if hints:
                if any(hint in low for hint in hints):
                    out[number] = [NO_PLACE]
            elif self._gates[number].once:
                first = self._patterns[number].search(data)
                if first is not None:
                    out[number] = [first.span()]
            else:
                spans = [match.span() for match in self._patterns[number].finditer(data)]
                if spans:
                    out[number] = spans
        return out


class HyperscanScanner:
    """All gates of a family in one pass of hyperscan. Each thread has a scratch space of its own."""

    def __init__(self, gates: Sequence[Gate]) -> None:
        import hyperscan

        self._library = hyperscan
        self._gates = tuple(gates)
        families: dict[str, list[int]] = {}
        for number, gate in enumerate(gates):
            families.setdefault(gate.family, []).append(number)
        self._families = [self._compile([gates[one] for one in numbers], numbers) for numbers in families.values()]
        self._single = [self._compile([replace(gate, starts=False, once=True)], [0]) for gate in gates]
        self._dense = ReScanner(gates)
        self._local = threading.local()

    def scan(self, data: bytes) -> Hits:
        # A text that is all candidates would spend its time in callbacks. Beyond a number that no ordinary text reaches
        # only the gates that fire are asked for, and the places are found by `re`.
        limit = 2000 + len(data) // 16
        hits: dict[int, list[tuple[int, int]]] = {}
        seen = 0

        def on_hit(number: int, start: int, end: int, _flags: int, _context: object) -> bool:
            nonlocal seen
            seen += 1
            if number in hits:
                hits[number].append((start, end))
            else:
                hits[number] = [(start, end)]
            return seen > limit

        try:
            for database, scratch in zip(self._families, self._scratches().families, strict=True):
                database.scan(data, match_event_handler=on_hit, scratch=scratch)
        except self._library.ScanTerminated:
            return self._dense.scan_for(
                data, [number for number in range(len(self._gates)) if self._fires(number, data)]
            )
        return hits

    def _fires(self, number: int, data: bytes) -> bool:
        """Tell whether one gate has a hit. One by one they are much quicker over such a text than together."""
        try:
            self._single[number].scan(
                data, match_event_handler=lambda *_: True, scratch=self._scratches().single[number]
            )
        except self._library.ScanTerminated:
            return True
        return False

    def _compile(self, gates: Sequence[Gate], numbers: Sequence[int]) -> "Database":
        library = self._library
        flags = []
        for gate in gates:
            flag = library.HS_FLAG_DOTALL | (library.HS_FLAG_CASELESS if gate.caseless else 0)
            starts = library.HS_FLAG_SOM_LEFTMOST if gate.starts else 0
            flags.append(flag | (library.HS_FLAG_SINGLEMATCH if gate.once else starts))
        database: Database = library.Database()
        database.compile(
            expressions=[gate.pattern.encode() for gate in gates],
            ids=list(numbers),
            elements=len(gates),
            flags=flags,
        )
        return database

    def _scratches(self) -> "_Scratches":
        found: _Scratches | None = getattr(self._local, "scratches", None)
        if found is None:
            scratch = self._library.Scratch
            found = _Scratches([*map(scratch, self._families)], [*map(scratch, self._single)])
            self._local.scratches = found
        return found


class _Scratches(NamedTuple):
    """The scratch spaces of one thread."""

    families: "list[Scratch]"
    single: "list[Scratch]"
