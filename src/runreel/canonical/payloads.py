"""Payloads as stored: a value's skeleton as text, cut where its content says so that growing histories share chunks.

An agent sends its whole history again at every step, so the skeletons of a run are prefixes of each other. A long one
is cut behind closing brackets whose surroundings hash to a certain number: the same text is cut at the same places,
whatever stands behind it. All chunks but the last become parts. Such a skeleton starts with U+E000, which typed text
never does: `c:<hash><hash>...;<last chunk>`.
"""

import hashlib
import re
import zlib

from runreel.canonical.form import dumps, exact_ref, is_encodable, loads
from runreel.canonical.growing import Memo
from runreel.canonical.parts import (
    MARK,
    TEMPLATE,
    THRESHOLD_BYTES,
    Get,
    Parts,
    Splitter,
    escape_template,
    is_document,
    join_value,
    split_value,
    template_marker,
)
from runreel.errors import CorruptError
from runreel.values import Ref, Value

_LONG_CHARS = 4096  # shorter skeletons stay whole
_CHUNK_CHARS = 1024  # and so do chunks shorter than this
_WINDOW_CHARS = 192  # what decides about a cut
_ONE_IN = 8

_PLACES = re.compile(r"[}\]]")
_CHUNKS = re.compile(f"{MARK}c:((?:[0-9a-f]{{64}})*);", re.DOTALL)


def split_payload(value: Value, threshold: int = THRESHOLD_BYTES, memo: Memo | None = None) -> tuple[Ref, str, Parts]:
    """Return a payload's address, its skeleton as text and its parts: `join_payload` is the exact inverse.

    The address is `exact_ref`: two values that differ only in 1 and 1.0, or in key order, are two payloads. A memo,
    always used with one threshold, saves the work on what a text has in common with one that came before.
    """
    if memo is not None and isinstance(value, str) and len(value) >= _LONG_CHARS:
        split = _split_growing(value, threshold, memo)
        if split is not None:
            ref, skeleton, parts = split
            return ref, _cut(dumps(skeleton), parts), parts
    skeleton, parts = split_value(value, threshold)
    return exact_ref(value), _cut(dumps(skeleton), parts), parts


def _split_growing(text: str, threshold: int, memo: Memo) -> tuple[Ref, Value, Parts] | None:
    """Split a JSON document, starting behind its longest known prefix; None for any other text."""
    if not is_document(text) or not is_encodable(text):
        return None
    prefix = memo.longest(text)
    splitter = Splitter(threshold, prefix.parts)
    done, template = splitter.replace(text, len(prefix.text))
    if not done:
        return None
    prefix = prefix.grown(text[:done], template, splitter.parts)
    memo.put(prefix)
    sha256, size = prefix.close(text[done:])
    skeleton = template_marker(prefix.template + escape_template(text[done:]))
    return Ref(sha256, size, "whole"), skeleton, dict(splitter.parts)


def _cut(text: str, parts: Parts) -> str:
    """Cut a long skeleton; add all chunks but the last to the parts."""
    hashes: list[str] = []
    done = 0
    for place in _cuts(text):
        data = text[done:place].encode()
        hashes.append(hashlib.sha256(data).hexdigest())
        parts[hashes[-1]] = data, TEMPLATE
        done = place
    if hashes:
        text = f"{MARK}c:{''.join(hashes)};{text[done:]}"
    return text


def join_payload(sha256: str, skeleton: str, get: Get) -> Value:
    """Return the value of a stored payload. `get` returns a part's bytes by hash, verified.

    Raises CorruptError where the skeleton is none, or gives another value than the one the payload was stored under.
    """
    cut = _CHUNKS.match(skeleton)
    try:
        if cut:
            hashes = (cut[1][at : at + 64] for at in range(0, len(cut[1]), 64))
            skeleton = "".join((*(get(one).decode() for one in hashes), skeleton[cut.end() :]))
        value = join_value(loads(skeleton), get)
    except (ValueError, RecursionError):
        raise CorruptError(f"payload {sha256}: its skeleton is not readable") from None
    if exact_ref(value).sha256 != sha256:
        raise CorruptError(f"payload {sha256}: its skeleton and parts give another value")
    return value


def _cuts(text: str) -> list[int]:
    if len(text) < _LONG_CHARS:
        return []
    cuts: list[int] = []
    at = _CHUNK_CHARS
    while (match := _PLACES.search(text, at)) and match.end() < len(text):
        at = match.end()
        if zlib.crc32(text[at - _WINDOW_CHARS : at].encode()) % _ONE_IN == 0:
            cuts.append(at)
            at += _CHUNK_CHARS
    return cuts
