"""Replacements in a text, and how they travel out through the layers that a text is wrapped in."""

from collections.abc import Sequence
from json.encoder import encode_basestring
from typing import NamedTuple


class Edit(NamedTuple):
    """Replace text[start:end] by `text`. `labels` say what was found there: entities, `SECRET:rule`."""

    start: int
    end: int
    text: str
    labels: tuple[str, ...]


Edits = tuple[Edit, ...]


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with edits done; they are in order and do not overlap."""
    if not edits:
        return text
    out, last = [], 0
    for edit in edits:
        out += [text[last : edit.start], edit.text]
        last = edit.end
    return "".join([*out, text[last:]])


def json_escaped(text: str) -> str:
    """Return a replacement as it must be written inside a JSON string."""
    return encode_basestring(text)[1:-1]
