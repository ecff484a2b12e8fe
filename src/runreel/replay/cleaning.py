"""Live text made fit to be shown: through the redactor where it is installed, else without what could be personal."""

import re
from collections.abc import Callable, Sequence

from runreel.semconv.secrets import find_secrets

# What may be somebody's: anything around an "@", and longer runs of digits with what people put between them.
_PERSONAL = re.compile(r"[^\s\"'<>()\[\]{},;]*@[^\s\"'<>()\[\]{},;]*|\+?\d[\d ().:-]{5,}\d")

_ADDRESS = re.compile(r"\d{1,3}(\.\d{1,3}){3}(:\d+)?")


Clean = Callable[[str], str]
"""Redacts a text for people to read: the redactor, where it is installed and has its key."""


def mask(text: str) -> str:
    """Return a text without secrets, addresses and long numbers: for command lines, where there is no redactor."""
    for start, end, rule in sorted(find_secrets(text), reverse=True):
        text = f"{text[:start]}<SECRET:{rule}>{text[end:]}"
    return _PERSONAL.sub(_hidden, text)


def label(name: str) -> str:
    """Return a name that code gave something, without secrets and addresses: its numbers are versions and dates."""
    return mask(name) if "@" in name or any(find_secrets(name)) else name


def _hidden(match: re.Match[str]) -> str:
    # An address of a machine is what a report of the network is about.
    return match.group() if _ADDRESS.fullmatch(match.group()) else "…"


def describe(text: str, other: str | None) -> str:
    """Say of a text that must not be shown how long it is, and where it begins to differ from the other one."""
    size = f"text of {len(text)} characters"
    if other is None:
        return size
    shared = common(text, other)
    return f"{size}, the same up to character {shared}" if shared else f"{size}, different from its first character on"


def common(left: Sequence[object], right: Sequence[object]) -> int:
    """Return how many items two sequences have in common at their beginning."""
    for position, (one, two) in enumerate(zip(left, right, strict=False)):
        if one != two:
            return position
    return min(len(left), len(right))
