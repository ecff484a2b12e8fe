"""What the default profile finds beyond Presidio, and where it draws borders closer than Presidio does."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from runreel.processors.redact.detect import Finding
from runreel.processors.redact.recognisers import has_public_suffix, luhn
from runreel.processors.redact.scan import Gate, Hits

if TYPE_CHECKING:
    import regex  # type: ignore[import-untyped]

_CHANNELS = "wa|whatsapp|tel|phone|mobile|msisdn|sms|sip|signal|imessage|viber"
GATES: tuple[tuple[str, Gate], ...] = (
    ("CARD", Gate(r"[0-9]{4}(?:[._/]| {1,3})[0-9]{4,6}(?:[._/]| {1,3})[0-9]{4,5}", starts=True, family="digits")),
    ("SSN", Gate("[0-9]{3}-[0-9]{2}-[0-9]{4}", starts=True, family="digits")),
    ("CARD", Gate(r"[0-9]{4}[ \t\r\n-]{1,3}[0-9]{4,6}[ \t\r\n-]{1,3}[0-9]{4,5}", starts=True, family="digits")),
    ("PHONE", Gate(rf"(?:{_CHANNELS}):(?://)?[+]?[0-9]{{7}}", starts=True, caseless=True)),
)

_GROUPED_CARD = re.compile(
    r"(?<![\w.])(?:[3-6]\d{3}([._/]| {1,3})\d{4}\1\d{4}\1\d{4}|3[47]\d\d([._/]| {1,3})\d{6}\2\d{5})(?![\w.]*\d)"
)
# In lines or columns: four groups and no more, so that tables of numbers stay.
_BROKEN_CARD = re.compile(
    r"(?<![\w.])(?<!\d[ \t\r\n])"
    r"(?:[3-6]\d{3}(?:[ \t\r\n-]{1,3}\d{4}){3}|3[47]\d\d[ \t\r\n-]{1,3}\d{6}[ \t\r\n-]{1,3}\d{5})"
    r"(?![\w.]*\d)(?![ \t\r\n]{1,2}\d)"
)
_ISSUERS = re.compile(r"4|5[1-5]|2[2-7]|3[47]|6(?:011|4[4-9]|5)|35(?:2[89]|[3-8])|62")
_CHANNEL_NUMBER = re.compile(rf"(?<![A-Za-z])(?:{_CHANNELS}):(?://)?(\+?\d{{7,15}})(?!\d)", re.IGNORECASE)
_DASHED_SSN = re.compile(r"(?<![\w-])(?!000|666)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_OWN_DOMAINS = (".internal", ".intranet", ".corp", ".lan", ".local", ".localdomain")  # no public suffix, and people
_HEX = re.compile("[0-9A-Fa-f]{2}")
_SCORE = 0.5
_NEAR = 40  # characters from the end of a hit that a pattern may look at


def find(text: str, hits: Hits, first_gate: int) -> Iterator[Finding]:
    """Yield what is found at the hits of the gates that are numbered from `first_gate` on.

    `4242.4242.4242.4242`: groups with one separator throughout, and the checksum. `123-45-6789`: Presidio leaves out
    the numbers that are published as examples; in a recording nobody knows which it was. A card over a line break or in
    columns. What stands behind `wa:` or `tel:` is a phone number of whatever country.
    """
    for match in _around(_GROUPED_CARD, text, hits.get(first_gate, ())):
        if luhn(match[0]):
            yield Finding("CARD", *match.span(), _SCORE)
    for match in _around(_DASHED_SSN, text, hits.get(first_gate + 1, ())):
        yield Finding("SSN", *match.span(), _SCORE)
    for match in _around(_BROKEN_CARD, text, hits.get(first_gate + 2, ())):
        if _ISSUERS.match(match[0]) and luhn(match[0]):
            yield Finding("CARD", *match.span(), _SCORE)
    for start, _ in hits.get(first_gate + 3, ()):
        number = _CHANNEL_NUMBER.match(text, start)
        if number is not None:
            yield Finding("PHONE", *number.span(1), _SCORE)


def _around(pattern: re.Pattern[str], text: str, hits: Sequence[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """Yield the matches that start inside a hit: a scanner may report one of several hits that overlap."""
    done = 0
    for start, end in hits:
        for match in pattern.finditer(text, max(start, done), end + _NEAR):
            if match.start() >= end:
                break
            done = match.end()
            yield match


def addresses(text: str, signs: Iterable[tuple[int, int]], judged: Container[int]) -> Iterator[Finding]:
    """Yield e-mail addresses around at-signs (see `detect.at_signs`) with what people's addresses hold. `judged` are
    the ends of addresses whose domains are known to be good.

    Presidio's pattern takes `lookup?email=dana@example.com` whole, and then finds that it is none.
    """
    local = _local_part()
    for at, end in signs:
        before = local.match(text, 0, at)
        start = at - len(before[0].lstrip(".+'-"))
        if text[start - 1 : start] == "%" and _HEX.match(text, start):  # `email%3Ddana@...`
            start += 2
        domain = text[at + 1 : end]
        if start < at and (end in judged or domain.lower().endswith(_OWN_DOMAINS) or has_public_suffix(domain)):
            yield Finding("EMAIL", start, end, _SCORE)


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
def _local_part() -> "regex.Pattern[str]":
    import regex

    return regex.compile(r"(?r)[\w.+'-]*+")
