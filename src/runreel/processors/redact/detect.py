"""Personal data in a text: what Presidio's recognisers find for the same entities and regions, found much quicker.

Three steps: a scanner finds candidates with supersets of the recognisers' patterns; each candidate gets the smallest
window that no finding can cross; the recogniser judges the window. Findings equal Presidio's, scores included (tests
hold the two against each other), with two exceptions, both phones: numbers of fewer than seven digits, an extension not
counted, are left out; and where a number is found inside a candidate that ends in an extension, what stands behind the
extension may be found to be a number, too.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from runreel.processors.redact import phones
from runreel.processors.redact.fold import one_byte
from runreel.processors.redact.recognisers import judges
from runreel.processors.redact.scan import Gate, Hits, Scanner, scanner

if TYPE_CHECKING:
    import regex  # type: ignore[import-untyped]

DEFAULT_ENTITIES = ("EMAIL", "PHONE", "CARD", "IBAN", "IP", "SSN", "CRYPTO")
DEFAULT_REGIONS = ("US", "GB")


class Finding(NamedTuple):
    """A personal value at text[start:end]."""

    entity: str
    start: int
    end: int
    score: float


# The patterns that ask for a word boundary before them get one here, too: without it a long number fires at each digit.
_BREAK = "(?:^|[^0-9A-Za-z_])"
GATES: tuple[tuple[str, Gate], ...] = (
    ("EMAIL", Gate(r"@\w", family="letters")),
    (
        "CARD",
        Gate(
            f"{_BREAK}[0-9]{{4}}[- ]?[0-9]{{3,4}}[- ]?[0-9]{{3,4}}[- ]?[0-9]{{3}}",
            run=rf"{_BREAK}[0-9]{{4}}[- ]?[0-9]{{3,4}}[- ]?[0-9]{{3,4}}[- ]?[0-9]{{3}}[0-9 \-]*+",
            family="digits",
        ),
    ),
    (
        "SSN",
        Gate(
            f"{_BREAK}[0-9]{{3}}[- .]?[0-9]{{2}}[- .]?[0-9]{{4}}(?:[^0-9A-Za-z_]|$)",
            run=rf"{_BREAK}[0-9][0-9 .\-]{{8,}}+",
            family="digits",
        ),
    ),
    ("IBAN", Gate("[A-Z]{2}[0-9]{2}[ -]?[A-Z0-9]{4}[ -]?[A-Z0-9]{4}", family="letters")),
    (
        "CRYPTO",
        Gate("(?:bc1|[13])[a-zA-Z0-9]{25}", caseless=True, run="(?:bc1|[13])[a-zA-Z0-9]{25,}+", family="letters"),
    ),
    (
        "IP",
        Gate(
            rf"{_BREAK}[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}",
            run=rf"{_BREAK}[0-9]{{1,3}}\.[0-9][0-9.]*+",
            family="digits",
        ),
    ),
    (
        "IP",
        Gate(
            "::|(?::[0-9A-Fa-f]{1,4}){2}:",
            run="(?:::|(?::[0-9A-Fa-f]{1,4}){2}:)[0-9A-Fa-f:]*+",
            family="letters",
        ),
    ),
    ("PHONE", Gate(phones.GATE, starts=True, run=phones.RUN, family="digits")),
)

# Every character that a match of the entity's patterns, or of its gates, can hold: a window is a run of them with its
# neighbours.
_CLASSES = {
    "CARD": r"[\d\- ]",
    "SSN": r"[\d\-. ]",
    "IBAN": r"[A-Z\d\- ]",
    "CRYPTO": r"\w",
    "IP": r"[\w:.%/]",
}
_LOCAL = r"[!#$%&'*+\-/=?^_`{|}~\w]"  # of an e-mail address, before the at-sign, apart from the dot

_APART = "\0"  # between windows: no pattern takes it, and no word has it

Check = Callable[[], None]
Settled = Callable[[list[Finding], Sequence[tuple[int, int]]], list[Finding]]


def _unlimited() -> None:
    """The budget of a caller that has none."""


class Detector:
    """Finds the entities of the default set. Thread-safe; `find` keeps nothing of what it sees but phone verdicts,
    and those under keyed hashes.

    Raises ConfigError for an unknown entity or region.
    """

    def __init__(
        self,
        entities: Sequence[str] = DEFAULT_ENTITIES,
        regions: Sequence[str] = DEFAULT_REGIONS,
        *,
        hyperscan: bool | None = None,
    ) -> None:
        self._judges = judges(entities)
        self._phones = phones.Phones(regions) if "PHONE" in entities else None
        self.gates = tuple((entity, gate) for entity, gate in GATES if entity in entities)
        self._scanner: Scanner = scanner([gate for _, gate in self.gates], hyperscan=hyperscan)
        self._numbers = {
            name: tuple(number for number, (entity, _) in enumerate(self.gates) if entity == name) for name in entities
        }
        self._patterns = tuple(item for item in self._numbers.items() if item[0] != "PHONE")
        self._phone_gate = self._numbers.get("PHONE", (-1,))[0]
        self._windows = _windows()

    def find(self, text: str) -> list[Finding]:
        """Return the findings in a text, in order."""
        return without_contained(self.judge(text, self._scanner.scan(one_byte(text))))

    def ends(self, entity: str, hits: Hits) -> list[int]:
        """Return where the candidates of an entity end, in order."""
        places = [hits[number] for number in self._numbers.get(entity, ()) if number in hits]
        if not places:
            return []
        if len(places) == 1:
            return [end for _, end in places[0]]
        return sorted(end for spots in places for _, end in spots)

    def judge(self, text: str, hits: Hits, check: Check = _unlimited, settled: Settled | None = None) -> list[Finding]:
        """Return the findings around the hits of `gates` (numbered in their order), in no order, those inside others
        among them.

        Args:
            check: Is called between candidates, and may raise to stop.
            settled: Is given what was found but for phones, and the text's at-signs; returns what takes its place, in
                order. Numbers inside of that are not looked at: to judge one takes longer than all else.
        """
        signs = list(at_signs(text, self.ends("EMAIL", hits)))
        found = self._by_patterns(text, hits, signs, check)
        if settled is not None:
            found = settled(found, signs)
        if self._phones is None or self._phone_gate not in hits:
            return found
        taken = [] if settled is None else [(item.start, item.end) for item in found]
        spans = self._phones.find(text, hits[self._phone_gate], check, taken)
        return found + [Finding("PHONE", start, end, phones.SCORE) for start, end in spans]

    def _by_patterns(self, text: str, hits: Hits, signs: Sequence[tuple[int, int]], check: Check) -> list[Finding]:
        found: list[Finding] = []
        for entity, numbers in self._patterns:
            if entity == "EMAIL":
                windows = _address_windows(text, signs)
            elif hits.keys().isdisjoint(numbers):
                continue
            else:
                windows = self._windows[entity](text, self.ends(entity, hits))
            if windows:
                found += self._in_windows(entity, text, windows, check)
        return found

    def _in_windows(self, entity: str, text: str, windows: list[tuple[int, int]], check: Check) -> list[Finding]:
        """Judge all windows of a text in one go, apart from each other."""
        judge = self._judges[entity].judge
        if len(windows) == 1:
            first, last = windows[0]
            return [
                Finding(entity, first + start, first + end, score)
                for start, end, score in judge(text[first:last], check)
            ]
        found: list[Finding] = []
        joined = _APART.join([text[start:end] for start, end in windows])
        place, offset, limit = -1, 0, 0
        for start, end, score in sorted(judge(joined, check)):
            while start >= limit:
                place += 1
                offset = windows[place][0] - limit
                limit += windows[place][1] - windows[place][0] + len(_APART)
            found.append(Finding(entity, start + offset, end + offset, score))
        return found


def without_contained(found: list[Finding]) -> list[Finding]:
    """Drop findings inside others of the same entity with an equal or higher score, as Presidio does; in order."""
    if len(found) < 2:
        return found
    kept: list[Finding] = []
    active: dict[str, list[Finding]] = {}
    for item in sorted(set(found), key=lambda item: (item.start, -item.end, -item.score)):
        around = [other for other in active.get(item.entity, ()) if other.end >= item.start]
        if not any(other.end >= item.end and other.score >= item.score for other in around):
            kept.append(item)
            around.append(item)
        active[item.entity] = around
    return kept


Windows = Callable[[str, list[int]], list[tuple[int, int]]]


@lru_cache(maxsize=1)
def _windows() -> dict[str, Windows]:
    """Return how to cut windows, entity by entity. `regex` searches backwards; `re` cannot."""
    import regex

    found: dict[str, Windows] = {}
    for entity, chars in _CLASSES.items():
        left, right = regex.compile(f"(?r){chars}*+"), regex.compile(f"{chars}*+")
        found[entity] = _runs(left.match, right.match)
    return found


Match = Callable[..., "re.Match[str]"]


def _runs(left: Match, right: Match) -> Windows:
    """Cut windows that are maximal runs, one character more on each side: no match crosses their borders."""

    def windows(text: str, ends: list[int]) -> list[tuple[int, int]]:
        out: list[tuple[int, int]] = []
        for place in ends:
            if out and place <= out[-1][1]:
                continue
            before = left(text, 0, place)
            if before.start() == place:  # what stands behind a match belongs to the hit, too
                place -= 1
                before = left(text, 0, place)
            start, end = before.start(), right(text, place).end()
            out.append((max(0, start - 1), min(len(text), end + 1)))
        return out

    return windows


def at_signs(text: str, ends: list[int]) -> Iterator[tuple[int, int]]:
    """Yield (place of the sign, end of the domain) of at-signs that have what an address needs on both sides.

    What is left out here would cost the pattern a time that grows with the square of the window.
    """
    local, domain = _address_parts()
    for end in ends:
        at = end - 2
        after = domain.match(text, at)
        if after is not None and local.match(text, at - 1, at):
            yield at, after.end()


def _address_windows(text: str, signs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Cut windows around at-signs; neighbours share one."""
    out: list[tuple[int, int]] = []
    left = _local_part()
    for at, end in signs:
        start = left.match(text, 0, at).start()
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


@lru_cache(maxsize=1)
def _address_parts() -> "tuple[regex.Pattern[str], regex.Pattern[str]]":
    """Return what may stand right before an at-sign, and what must follow it."""
    import regex

    return regex.compile(_LOCAL), regex.compile(r"@\w+(?:-+\w+)*+(?:\.\w+(?:-+\w+)*+)++")


@lru_cache(maxsize=1)
def _local_part() -> "regex.Pattern[str]":
    import regex

    return regex.compile(rf"(?r)(?:{_LOCAL}|\.)*+")
