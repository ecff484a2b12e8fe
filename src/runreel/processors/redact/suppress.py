"""What the default profile does not take for personal data although a recogniser does: each rule with its reason.

A false hit in a replay product is not harmless: masked ids break joins, masked arguments break matching. Every rule
here has a fixture in the tests. The profile `presidio` has none of this.
"""

import ipaddress
import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from runreel.processors.redact.detect import Finding

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_VERSION_WORDS = frozenset({"version", "versions", "ver", "build", "release", "revision", "rev", "firmware", "tag"})
_SSN_WORDS = frozenset({"ssn", "social", "security", "ssns", "taxpayer", "tin", "itin"})
_SSN_BEFORE = re.compile(r"(?<![a-z])(?:ssns?|social|security|itin|tin)(?![a-z])", re.IGNORECASE)
_BOOK_BEFORE = re.compile(r"\bIS[BS]N(?:-?1[03])?[\s:]{0,4}[0-9 -]{0,20}\Z", re.IGNORECASE)
_UUID = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Za-z])")
_DECIMAL = re.compile(r"(?<![\d.,])[-+]?\d+\.\d+(?:[eE][-+]?\d+)?(?![\d.])")
_DATED = re.compile(r"(?:19|20)\d\d-\d{6}")  # `2026-003621`: an invoice; nobody writes ten digits of a phone so
_EPOCH = re.compile(r"1\d{9}(?:\d{3}){0,3}")  # seconds to nanoseconds, 2001 to 2033
_NEAR = 64
_HEX_OR_DASH = frozenset("0123456789abcdefABCDEF-")
_SEPARATORS = " \t\"'`:=#()[-"

_PRIVATE_IPV4 = tuple(
    (int(net.network_address), int(net.broadcast_address))
    for net in map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"))
)


class Context(NamedTuple):
    """What the name of the field says about its value."""

    version: bool = False
    ssn: bool = False


NO_CONTEXT = Context()


@lru_cache(maxsize=4096)
def context(name: str) -> Context:
    """Return what a key or attribute name says: `client_version` holds versions, `ssn` social security numbers."""
    words = {word.lower() for word in _WORD.findall(name[-128:])}
    if not words & (_VERSION_WORDS | _SSN_WORDS):
        return NO_CONTEXT
    return Context(bool(words & _VERSION_WORDS), bool(words & _SSN_WORDS))


def suppressed(text: str, found: Finding, where: Context, *, mask_private_addresses: bool = False) -> bool:
    """Tell whether a written rule says that a finding is nothing personal."""
    return bool(kept_as(text, found, where, mask_private_addresses=mask_private_addresses))


def kept_as(text: str, found: Finding, where: Context, *, mask_private_addresses: bool = False) -> str:
    """Return what a finding is, by the written rule that keeps it; empty where it is personal."""
    if found.entity == "IP":
        return _address(text, found, where, mask_private_addresses)
    rule = _RULES.get(found.entity)
    return rule(text, found, where) if rule is not None else ""


def _address(text: str, found: Finding, where: Context, mask_private: bool) -> str:
    written = text[found.start : found.end].partition("/")[0].partition("%")[0]
    try:
        if ":" not in written:
            return _ipv4(text, found, int.from_bytes(map(int, written.split("."))), where, mask_private)
        number = int(ipaddress.IPv6Address(written))
    except ValueError:
        return ""
    if number < 2:
        return "the same for everybody"
    if not mask_private and (number >> 118 == 0xFE80 >> 6 or number >> 121 == 0xFC00 >> 9):
        return "private network"
    groups = [group for group in written.split(":") if group]
    # `b::`, `add::face`: scopes in code. An address starts with four digits or has three groups.
    full = bool(groups) and len(groups[0]) == 4 and any(char.isdigit() for char in groups[0])
    return "scope in code" if len(groups) < 3 and not full else ""


def _ipv4(text: str, found: Finding, number: int, where: Context, mask_private: bool) -> str:
    if number >> 24 in (0, 127) or number == 0xFFFFFFFF:
        return "the same for everybody"  # unspecified, loopback, broadcast
    if not mask_private and any(low <= number <= high for low, high in _PRIVATE_IPV4):
        return "private network"
    return "version" if where.version or _says_version(text[max(0, found.start - _NEAR) : found.start]) else ""


def _says_version(before: str) -> bool:
    """`build 10.4.2.1`, `v2.1.1.108`, `"version": "203.0.113.7"`: four numbers with dots are a version there."""
    bare = before.lower().rstrip(_SEPARATORS)
    if bare.endswith("v") and not bare[-2:-1].isalpha():
        return True
    word = bare[len(bare.rstrip("abcdefghijklmnopqrstuvwxyz")) :]
    return word in _VERSION_WORDS


def _email(text: str, found: Finding, _: Context) -> str:
    """`git@github.com:acme/repo.git`: the user of a remote, not a person."""
    user = text[found.start : found.end].partition("@")[0].rpartition("/")[2]
    return "user of a remote" if user in ("git", "hg", "svn") else ""


def _phone(text: str, found: Finding, _: Context) -> str:
    if _EPOCH.fullmatch(text, found.start, found.end):
        return "time"
    if number := _in_number(text, found):
        return number
    if _DATED.fullmatch(text, found.start, found.end):
        return "number of a year"
    before = text[max(0, found.start - _NEAR) : found.start].upper()
    return "ISBN" if "IS" in before and _BOOK_BEFORE.search(before) is not None else ""


def _card(text: str, found: Finding, _: Context) -> str:
    """Times in micro- and nanoseconds and the digits of a fraction pass the checksum once in ten times."""
    if _EPOCH.fullmatch(text, found.start, found.end):
        return "time"  # no card of 13, 16 or 19 digits starts with 1
    return _in_number(text, found)


def _ssn(text: str, found: Finding, where: Context) -> str:
    """Nine digits alone are a social security number where something nearby says so."""
    if found.score >= 0.3:
        return "UUID" if _in_uuid(text, found) else ""
    said = where.ssn or _SSN_BEFORE.search(text, max(0, found.start - _NEAR), found.start)
    return "" if said else "number that nothing says more of"


def _in_number(text: str, found: Finding) -> str:
    if _in_decimal(text, found):
        return "decimal number"
    return "UUID" if _in_uuid(text, found) else ""


def _in_decimal(text: str, found: Finding) -> bool:
    """Tell whether a finding is the digits of a fraction, or all of a number with one."""
    return "." in text[max(0, found.start - 1) : found.end + 1] and _within(_DECIMAL, text, found)


def _in_uuid(text: str, found: Finding) -> bool:
    around = text[max(0, found.start - 1) : found.start] + text[found.end : found.end + 1]
    return not _HEX_OR_DASH.isdisjoint(around) and _within(_UUID, text, found)


def _within(pattern: re.Pattern[str], text: str, found: Finding) -> bool:
    """Tell whether a match of the pattern covers the finding."""
    for match in pattern.finditer(text, max(0, found.start - _NEAR), found.end + _NEAR):
        if match.start() > found.start:
            return False
        if match.end() >= found.end:
            return True
    return False


_RULES: dict[str, Callable[[str, Finding, Context], str]] = {
    "EMAIL": _email,
    "PHONE": _phone,
    "CARD": _card,
    "SSN": _ssn,
}
