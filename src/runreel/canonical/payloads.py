"""Payloads as stored: a value's skeleton as text, cut where its content says so that growing histories share chunks.

An agent sends its whole history again at every step, so the skeletons of a run are prefixes of each other. A long one
is cut behind closing brackets whose surroundings hash to a certain number: the same text is cut at the same places,
whatever stands behind it. All chunks but the last become parts. Such a skeleton starts with U+E000, which typed text
never does: `c:<hash><hash>...;<last chunk>`.
"""

from runreel.canonical.chunks import cut, whole
from runreel.canonical.form import dumps, exact_ref, is_encodable, loads
from runreel.canonical.growing import Memo
from runreel.canonical.parts import (
    THRESHOLD_BYTES,
    Get,
    Parts,
    Seen,
    Splitter,
    escape_template,
    is_document,
    join_value,
    split_value,
)
from runreel.errors import CorruptError
from runreel.values import Ref, Value

_LONG_CHARS = 4096  # shorter texts are split as any other value is


def split_payload(
    value: Value, threshold: int = THRESHOLD_BYTES, memo: Memo | None = None, seen: Seen | None = None
) -> tuple[Ref, str, Parts]:
    """Return a payload's address, its skeleton as text and its parts: `join_payload` is the exact inverse.

    The address is `exact_ref`: two values that differ only in 1 and 1.0, or in key order, are two payloads. A memo,
    always used with one threshold, saves the work on what a text has in common with one that came before; so does
    `seen` for the literals in it.
    """
    if memo is not None and isinstance(value, str) and len(value) >= _LONG_CHARS:
        split = _split_growing(value, threshold, memo, seen)
        if split is not None:
            return split
    skeleton, parts = split_value(value, threshold, seen)
    return exact_ref(value), cut(dumps(skeleton), parts), parts


def _split_growing(text: str, threshold: int, memo: Memo, seen: Seen | None) -> tuple[Ref, str, Parts] | None:
    """Split a JSON document, starting behind its longest known prefix; None for any other text."""
    if not is_document(text) or not is_encodable(text):
        return None
    prefix = before = memo.longest(text)
    splitter = Splitter(threshold, prefix.parts, seen)
    done, template = splitter.replace(text, len(prefix.text))
    if not done or not is_encodable(template):  # an escape in a document inside of it may say a lone surrogate
        return None
    if done > len(prefix.text):
        prefix = prefix.grown(text[:done], template, splitter.parts)
    memo.put(prefix, before)
    rest = text[done:]
    sha256, size = prefix.close(rest)
    parts = dict(splitter.parts)
    return Ref(sha256, size, "whole"), prefix.close_skeleton(escape_template(rest), parts), parts


def join_payload(sha256: str, skeleton: str, get: Get) -> Value:
    """Return the value of a stored payload. `get` returns a part's bytes by hash, verified.

    Raises CorruptError where the skeleton is none, or gives another value than the one the payload was stored under.
    """
    try:
        value = join_value(loads(whole(skeleton, get)), get)
    except (ValueError, RecursionError):
        raise CorruptError(f"payload {sha256}: its skeleton is not readable") from None
    if exact_ref(value).sha256 != sha256:
        raise CorruptError(f"payload {sha256}: its skeleton and parts give another value")
    return value
