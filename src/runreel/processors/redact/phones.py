"""Phone numbers as Presidio finds them, with libphonenumber's own matcher, asked once for each spelling.

The matcher takes a quarter of a millisecond for one candidate and eight regions, and its verdict depends on little:
the candidate, what kind of character stands before it, and a few characters after it. So verdicts are remembered, and
regions are skipped whose own metadata rule the candidate out.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import TYPE_CHECKING

from runreel.errors import ConfigError
from runreel.processors.redact.memo import Memo
from runreel.processors.redact.regions import digit_runs, has_country, region_of

if TYPE_CHECKING:
    from phonenumbers import PhoneNumberMatch

SCORE = 0.4  # Presidio's, for every phone number
_SEPARATOR = r"[-xX ()\[\]./~+]{0,4}"
# A number right before a letter is none, but before the first letter of an extension; `a` stands for other scripts.
# So the gate need not fire at `2026-01-01T`, nor at every digit from the seventh on.
_NO_LETTER = "(?:[^0-9B-DF-HJ-WYZb-df-hj-wyz]|$)"
GATE = f"[0-9](?:{_SEPARATOR}[0-9]){{6}}{_NO_LETTER}"
"""Seven digits with what libphonenumber allows between them. Shorter numbers (German ones of 4 to 6 digits) are not
reported, the one difference to Presidio."""
# A scanner may report one hit for many, as far as the text is one chain for sure: `~` and `+` may end one.
RUN = rf"(?:[0-9](?:[-xX ()\[\]./]{{0,4}}[0-9]){{6,}}+|{GATE})"

_LEAD = 12  # characters that a number may have before its first digit: twice a bracket or plus and four of punctuation
_TAIL = 64  # room for an extension after the last digit
# How what may stand between a number and its extension starts; where only blanks follow, they may be many.
_EXTENSION_STARTS = frozenset(";xXeEiI#~aA\uff03\uff5e\uff58\uff38\uff45\uff25\uff49\uff29\u0434\u0414") | {""}
# How the words before an extension end: x, ext, extn, int, anexo and their kin.
_EXTENSION_ENDS = frozenset("xX\uff58\uff38#\uff03~\uff5etTnN\uff54\uff34\uff4e\uff2e\u0431\u0411oO=")
_BEFORE_NUMBER = " \t,-:.\uff0e"
_LEADING = re.compile("[\\d(\\[+\uff08\uff3b\uff0b]")
_LOOK_AHEAD = 256  # characters behind a candidate of which it may depend that it ends there
_LONGEST_LOOK = 4  # characters behind a candidate that its verdict may depend on
_MOST_DIGITS = 40  # no number with its prefixes has more; a longer run of digits alone holds none
_DIGITS_AND_HYPHENS = re.compile(r"[0-9-]+\Z")


class Phones:
    """Finds phone numbers for a list of regions. Thread-safe.

    Raises ConfigError for a region that libphonenumber does not know.
    """

    def __init__(self, regions: Sequence[str], memo_size: int = 100_000) -> None:
        import regex  # type: ignore[import-untyped]
        from phonenumbers import SUPPORTED_REGIONS, phonenumbermatcher

        unknown = [region for region in regions if region not in SUPPORTED_REGIONS]
        if unknown:
            hint = "write ISO 3166 codes such as US or GB"
            raise ConfigError("redact", [f"regions: {region!r} is unknown; {hint}" for region in unknown])
        self._regions = tuple(region_of(code) for code in regions)
        self._matcher = _pruned_matcher()
        self._candidate = phonenumbermatcher._PATTERN
        # What else belongs to the chain of digits that a hit is in. Before a hit that is the first one in its chain
        # there are the digits of its own block, and no more than six of others.
        punctuation = phonenumbermatcher._PUNCTUATION
        self._before = regex.compile(rf"(?ir)(?:\d{punctuation}){{0,6}}+\d*+")
        self._after = re.compile(rf"(?:{punctuation}\d)*+", re.IGNORECASE)
        self._time_stamp = phonenumbermatcher._TIME_STAMPS
        self._memo: Memo[tuple[tuple[int, int], ...]] = Memo(memo_size, "phones " + " ".join(regions))

    def find(
        self,
        text: str,
        places: Sequence[tuple[int, int]],
        check: Callable[[], None],
        taken: Sequence[tuple[int, int]] = (),
    ) -> list[tuple[int, int]]:
        """Return (start, end) of the numbers around hits of the gate, in the order of their ends.

        `check` is called for each candidate and may raise to stop. Candidates inside of `taken`, spans in order, are
        left out.
        """
        found: list[tuple[int, int]] = []
        last = done = 0
        for start, place in places:
            end = place if text[place - 1].isdecimal() else place - 1
            if end <= done:
                continue
            rest = self._after.match(text, end)
            start, done = self._before.match(text, 0, start).start(), rest.end() if rest else end
            if taken and _is_inside(start, done, taken) and _stands_alone(text, start, done):
                last = max(last, done)
            elif not _is_timestamp(text, start, done):
                last = self._find_in(text, self._window_start(text, start, last), done, found, check, taken)
        return found

    def _window_start(self, text: str, start: int, last: int) -> int:
        """Return where to start for a chain of digits: further ahead where it may be the extension of a number."""
        before = text[max(0, start - _LEAD) : start].rstrip(_BEFORE_NUMBER)[-1:]
        return max(start - (_TAIL if before in _EXTENSION_ENDS else _LEAD), last, 0)

    def _find_in(
        self,
        text: str,
        start: int,
        end: int,
        found: list[tuple[int, int]],
        check: Callable[[], None],
        taken: Sequence[tuple[int, int]],
    ) -> int:
        """Judge the candidates that begin in a window; return where the last one ends."""
        last = start
        again: tuple[str, str, str] | None = None  # what the candidate before was, and stood between
        known: tuple[tuple[int, int], ...] = ()
        limit = end + _TAIL if _is_extended(text, end) else end
        while last < end and (match := self._candidate.search(text, last, limit)) is not None:
            first, after = match.span()
            if first >= end:
                break
            before_last, last = last, after
            check()
            if after - first < 7 or _is_hopeless(match[0]):
                continue
            if taken and match.lastindex is None and _is_inside(first, after, taken):
                continue
            around = text[max(0, first - 1) : first], match[0], text[after : after + _LONGEST_LOOK]
            if around == again and match.lastindex is None:  # a text may be one number, again and again
                times = 1 if taken else 1 + _repeats(text, before_last, after, min(end, limit))
                period = after - before_last
                found += [(first + a + n * period, first + b + n * period) for n in range(times) for a, b in known]
                last += (times - 1) * period
                continue
            before = _kind(text[first - 1]) if first else ""
            behind = _kind(text[after]) if after < len(text) else ""
            if "a" in (before, behind) and _DIGITS_AND_HYPHENS.match(match[0]):
                again, known = around, ()
                continue  # a letter next to it, and nothing inside to start anew at
            if match.lastindex is not None:  # an extension: where it is none, it belongs to what follows
                behind = text[after : after + _TAIL]
            elif self._time_stamp.search(match[0]):
                behind = text[after : after + _LONGEST_LOOK]
            again, known = around, self._verdict(before, match[0], behind)
            found += [(first + a, first + b) for a, b in known]
        return last

    def _verdict(self, before: str, candidate: str, behind: str) -> tuple[tuple[int, int], ...]:
        key = self._memo.key(f"{before}\0{candidate}\0{behind}")
        known = self._memo.get(key)
        if known is not None:
            return known
        text, offset = before + candidate + behind, len(before)
        spans: set[tuple[int, int]] = set()
        digits, abroad = digit_runs(candidate)
        country = abroad and has_country(candidate)
        refused: set[str] = set()
        for number, region in enumerate(self._regions):
            # What starts with a plus and a country is the same number in every region; only parts of it may not be. A
            # region in which one of these is a number has not looked at it.
            told = number > 0 and country and (not spans or min(spans)[0] <= candidate.index("+"))
            if digits is not None and (told or not abroad) and not region.may_match(digits):
                continue
            may_match = partial(region.may_be, refused=refused) if digits is not None else None
            whole = False
            for match in self._matcher(text, region.code, may_match, refused):
                spans.add((match.start - offset, match.end - offset))
                whole |= match.start <= offset and match.end >= offset + len(candidate)
            if whole:  # what other regions find lies inside
                break
        verdict = tuple((start, end) for start, end in sorted(spans) if 0 <= start < len(candidate))
        self._memo.put(key, verdict)
        return verdict


@lru_cache(maxsize=1)
def _pruned_matcher() -> Callable[..., "Iterable[PhoneNumberMatch]"]:
    """Return libphonenumber's matcher with a test of its parts: it tries each part of a candidate that is no number as
    a whole, and takes some ten times longer to refuse one than the test does."""
    from phonenumbers import PhoneNumberMatch, PhoneNumberMatcher

    class Pruned(PhoneNumberMatcher):
        def __init__(self, text: str, region: str, may_match: Callable[[str], bool] | None, refused: set[str]) -> None:
            super().__init__(text, region, leniency=1)
            self._may_match = may_match
            self._refused = refused
            self._tried: set[tuple[str, int]] = set()

        def _parse_and_verify(self, candidate: str, offset: int) -> PhoneNumberMatch | None:
            if (candidate, offset) in self._tried:
                return None
            self._tried.add((candidate, offset))  # what is found is not tried again
            if self._may_match is not None and not self._may_match(candidate):
                return None
            found = super()._parse_and_verify(candidate, offset)
            if found is None and has_country(candidate):
                self._refused.add(candidate)
            return found

    return Pruned


def _kind(char: str) -> str:
    """Reduce a neighbour to what the matcher asks of it: letter, percent or currency sign, bracket, or none of them."""
    if char.isdigit():
        return " "  # a digit here belongs to something else already, and must not become part of the candidate
    if not char.isascii():
        return char
    if char in "%$":
        return "%"
    return "a" if char.isalpha() else char if char in "+([" else " "


def _repeats(text: str, start: int, end: int, limit: int) -> int:
    """Return how many times more, up to a limit, a text goes on with what stands at [start:end], with as much left
    behind that whatever is looked for there finds the same."""
    period, done, size = end - start, end, 4 * (end - start)
    while done + size <= limit and text[done : done + size] == text[done - period : done - period + size]:
        done, size = done + size, 2 * size
    return max(0, (done - end - _LOOK_AHEAD) // period - 2)


def _is_timestamp(text: str, start: int, end: int) -> bool:
    """`2026-01-01T...`: a date right before a letter never matches. Most candidates in logs are these."""
    return (
        end - start <= 10
        and text[start + 4 : start + 5] == "-" == text[start + 7 : start + 8]
        and text[start + 10 : start + 11] in ("T", "t")
    )


def _is_extended(text: str, end: int) -> bool:
    return text[end : end + _LEAD].lstrip(" \t,\xa0")[:1] in _EXTENSION_STARTS


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Tell whether a chain of digits is a candidate of its own for sure: nothing before it or behind belongs to it."""
    before = text[max(0, start - _LEAD) : start]
    return not (_LEADING.search(before) or before.rstrip(_BEFORE_NUMBER)[-1:] in _EXTENSION_ENDS) and not _is_extended(
        text, end
    )


def _is_inside(start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    place = bisect_right(spans, start, key=itemgetter(0)) - 1
    return place >= 0 and spans[place][1] >= end


def _is_hopeless(candidate: str) -> bool:
    return len(candidate) > _MOST_DIGITS and candidate.isdigit()
