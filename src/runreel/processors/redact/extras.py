"""What the default profile finds beyond Presidio, and where it draws borders closer than Presidio does."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from runreel.processors.redact.detect import Finding
from runreel.processors.redact.recognisers import has_public_suffix
from runreel.processors.redact.scan import Gate, Hits

if TYPE_CHECKING:
    import regex  # type: ignore[import-untyped]

GATES: tuple[tuple[str, Gate], ...] = (
    ("CARD", Gate(r"[0-9]{4}(?:[._/]| {1,3})[0-9]{4,6}(?:[._/]| {1,3})[0-9]{4,5}", once=True)),
    ("SSN", Gate("[0-9]{3}-[0-9]{2}-[0-9]{4}", once=True)),
)

_GROUPED_CARD = re.compile(
    r"(?<![\w.])(?:[3-6]\d{3}([._/]| {1,3})\d{4}\1\d{4}\1\d{4}|3[47]\d\d([._/]| {1,3})\d{6}\2\d{5})(?![\w.]*\d)"
)
_DASHED_SSN = re.compile(r"(?<![\w-])(?!000|666)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_HEX = re.compile("[0-9A-Fa-f]{2}")
_SCORE = 0.5


def find(text: str, hits: Hits, first_gate: int) -> Iterator[Finding]:
    """Yield the findings of the gates numbered from `first_gate` on that fired."""
    for number, (entity, _) in enumerate(GATES, first_gate):
        if number in hits:
            yield from _FINDERS[entity](text)


def _cards(text: str) -> Iterator[Finding]:
    """`4242.4242.4242.4242`: groups with one separator throughout, and the checksum."""
    for match in _GROUPED_CARD.finditer(text):
        if luhn(match[0]):
            yield Finding("CARD", *match.span(), _SCORE)


def _ssns(text: str) -> Iterator[Finding]:
    """Presidio leaves out the numbers that are published as examples; in a recording nobody knows which it was."""
    return (Finding("SSN", *match.span(), _SCORE) for match in _DASHED_SSN.finditer(text))


def addresses(text: str, ends: Iterable[int]) -> Iterator[Finding]:
    """Yield e-mail addresses around at-signs (`ends` are one character behind each) with what people's addresses hold.

    Presidio's pattern takes `lookup?email=dana@example.com` whole, and then finds that it is none.
    """
    local, domain = _address_parts()
    for place in ends:
        before, after = local.match(text, 0, place - 2), domain.match(text, place - 2)
        if after is None or before is None or not has_public_suffix(after[0][1:]):
            continue
        start = before.end() - len(before[0].lstrip(".+'-"))
        if text[start - 1 : start] == "%" and _HEX.match(text, start):  # `email%3Ddana@...`
            start += 2
        if start < before.end():
            yield Finding("EMAIL", start, after.end(), _SCORE)


def narrowed(text: str, found: Sequence[Finding], own: Sequence[Finding]) -> list[Finding]:
    """Return findings with closer borders: `email=dana@...` without the name, `[+1 202...` without the bracket.

    So the same value gets the same token there as elsewhere, and what stands around it stays.
    """
    mine = {item.end: item for item in own if item.entity == "EMAIL"}
    out = [*own]
    for item in found:
        closer = mine.get(item.end) if item.entity == "EMAIL" else None
        # A plus before the sign (`bounces+dana=example.com@list.example`) is an address in the address: all of it.
        if closer is not None and "+" not in text[item.start : closer.start]:
            continue
        out.append(_without_bracket(text, item) if item.entity == "PHONE" else item)
    return out


def _without_bracket(text: str, item: Finding) -> Finding:
    written = text[item.start : item.end]
    if (written[0] == "[" and "]" not in written) or (written[0] == "(" and ")" not in written):
        bare = written.lstrip("[( ")
        return item._replace(start=item.end - len(bare))
    return item


@lru_cache(maxsize=1)
def _address_parts() -> "tuple[regex.Pattern[str], regex.Pattern[str]]":
    import regex

    return (
        regex.compile(r"(?r)[\w.+'-]*+"),
        regex.compile(r"@\w++(?:-++\w++)*+(?:\.\w++(?:-++\w++)*+)++"),
    )


def luhn(text: str) -> bool:
    """Tell whether the digits of a text pass the checksum of card numbers."""
    digits = [int(char) for char in text if char.isdigit()]
    return sum(digits[-1::-2]) % 10 == -sum(sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]) % 10


_FINDERS: dict[str, Callable[[str], Iterator[Finding]]] = {"CARD": _cards, "SSN": _ssns}
