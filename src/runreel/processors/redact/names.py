"""What the name of a field says: which fields are structural and keep their values, which numbers may be personal."""

import ipaddress
import re
from functools import lru_cache
from typing import Literal

from runreel.semconv.secret_names import LONGEST_NAME

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")

# Fields whose values tie records together. They are exempt from the search for personal data, not from secrets, and
# only where the value looks like an identifier: an e-mail address as conversation id is still an e-mail address.
_STRUCTURAL = re.compile(
    r"(?:\A|[._])(?:(?:trace|span|parent|parent_run|run|call|tool_call|request|response|batch|thread)_?id"
    r"|(?:tool_call|tool\.call|call|response|conversation|thread|agent|message|run|trace|span|request|instance"
    r"|data_source|dataset|prompt|assistant|evaluator|workflow|job)\.id|replay\.of_run"
    r"|sha1|sha256|sha512|md5|digest|hash|checksum|etag|fingerprint|system_fingerprint"
    r"|model|model_name|provider|provider\.name|system|operation\.name|output\.type|span\.kind|tool\.type"
    r"|finish_reasons?|finish_reason|schema_url|sdk\.(?:name|language|version)|scope\.(?:name|version))\Z"
)
_IDENTIFIER = re.compile(r"(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_.:/=|~+-]{1,256}\Z")
# An id made of somebody's number: `wa:12025550143`, `tel:+12025550143`, `whatsapp_12025550143`.
_PERSON = re.compile(
    r"(?:\A|[^A-Za-z])(?:wa|whatsapp|tel|phone|mobile|msisdn|sms|sip|signal|imessage|viber|voice|cell|caller)"
    r"(?:[:_/|=.~-]{1,3})\+?\d{7,15}(?!\d)|(?:\A|[:_/|=])\+\d{8,15}(?!\d)",
    re.IGNORECASE,
)

_CARD_LENGTH = 13
SHORTEST_NUMBER = 9
"""Digits of the shortest number that may be anybody's: a social security number."""

_NUMBER = re.compile(r"-?(\d{9,19})(?:\.0+)?\Z")
# `4.242424242424242E15`: how many languages write a card that was read as a number.
_SCIENTIFIC = re.compile(r"-?\d\.\d{8,17}[eE]\+?\d{2}\Z")
_PERSONAL_WORDS = frozenset(
    {"phone", "phones", "mobile", "cell", "cellphone", "tel", "telephone", "fax", "msisdn", "ssn", "card", "cards",
     "pan", "cc", "iban"}
)  # fmt: skip
_COUNTING_WORDS = frozenset(
    {"seed", "timestamp", "created", "updated", "time", "ts", "duration", "size", "bytes", "count", "tokens", "offset",
     "score", "at", "ns", "ms", "us", "epoch", "nano", "nanos"}
)  # fmt: skip


def said(name: str) -> str:
    """Return what of a name is looked at: its end, which is also all of it that may be remembered."""
    return name if len(name) <= LONGEST_NAME else name[-LONGEST_NAME:]


@lru_cache(maxsize=4096)
def is_structural_name(name: str) -> bool:
    """Tell whether a field is an identifier, hash, model name or the like by its name."""
    return _STRUCTURAL.search(name) is not None


def is_structural(name: str, value: str) -> bool:
    """Tell whether a field is an identifier, hash, model name or the like, by its name and the look of its value."""
    if not is_structural_name(name) or not _IDENTIFIER.match(value):
        return False
    return not _is_address(value) and not _PERSON.search(value)


def _is_address(value: str) -> bool:
    if ":" not in value and value.count(".") != 3:
        return False
    try:
        ipaddress.ip_interface(value)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(name[-128:]))


def personal_number(written: str, name: str) -> str | None:
    """Return the digits of a number that may be personal, None where it cannot be.

    Numbers count things far more often than they name anybody: only those long enough for a card are looked at, and
    shorter ones where the name says phone, card and the like.
    """
    if _SCIENTIFIC.match(written):
        written = f"{float(written):.0f}"
    match = _NUMBER.match(written)
    if match is None:
        return None
    kind = numbers_are(name)
    if kind == "personal":
        return match[1]
    return None if len(match[1]) < _CARD_LENGTH or kind == "counts" else match[1]


def says_personal(name: str) -> bool:
    """Tell whether a name announces numbers of people: phones, cards, social security."""
    return numbers_are(name) == "personal"


def numbers_are(name: str) -> Literal["personal", "counts", "any"]:
    """Return what a name says of numbers under it: all that matters of it for them."""
    words = _words(name)
    if not _PERSONAL_WORDS.isdisjoint(words):
        return "personal"
    return "counts" if words and words[-1] in _COUNTING_WORDS else "any"
