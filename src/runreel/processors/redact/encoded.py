"""Base64 inside texts: what decodes to text is looked into, what is a picture or another binary is left alone."""

import base64
import binascii
import codecs
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from runreel.processors.redact.scan import Gate

_SHORTEST = 18  # characters: thirteen bytes
GATE = Gate(f"[A-Za-z0-9+/_-]{{{_SHORTEST}}}", once=True)
"""Fires where there may be base64 at all: in few texts."""

STARTS = Gate(f"(?:^|[^A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{{{_SHORTEST}}}")
"""Fires once for each run, `_SHORTEST` characters into it. Half as costly as all other gates together."""

_RUN = re.compile(rf"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{{{_SHORTEST},}}+={{0,2}}(?![A-Za-z0-9+/_=-])")
_NOT_TEXT = re.compile("[0-9a-f]+|[0-9A-F]+|[a-z]+(?:[_/-][a-z]+)*")  # hashes, snake_case: base64 of text has capitals
_DATA_URL = re.compile(r"data:(?!text/|application/json)[\w.+-]{1,64}/[\w.+-]{1,64}(?:;[\w=.+-]{1,64}){0,4};base64,\Z")
_MAGIC = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF", b"PK\x03\x04", b"\x1f\x8b", b"OggS", b"ID3", b"\xff\xfb",
    b"\xff\xf3", b"fLaC", b"BM", b"II*\0", b"MM\0*", b"\0\0\0", b"\x1aE\xdf\xa3", b"7z\xbc\xaf", b"wOFF", b"wOF2",
)  # fmt: skip
_LONG = 200  # a run this long with every kind of character, that decodes and is no text, is binary
_HEAD = 4096  # characters, a multiple of 4, that tell what a long run is


class Run(NamedTuple):
    """A stretch of base64: text[start:end]. `text` is what it decodes to, None for binary content.

    `sure`: it says of itself what it is, a picture say, and is not looked into at all. Other binary content may still
    be a key.
    """

    start: int
    end: int
    text: str | None
    sure: bool = False


def runs(text: str, hits: Sequence[tuple[int, int]]) -> Iterator[Run]:
    """Yield the base64 at the hits of STARTS. Words, identifiers and hashes also look like it, but do not decode to
    text."""
    for _, place in hits:
        match = _RUN.match(text, place - _SHORTEST)
        if match is None:
            continue
        start, end = match.span()
        if _NOT_TEXT.fullmatch(match[0]):
            continue
        if _DATA_URL.search(text, max(0, start - 400), start):
            yield Run(start, end, None, sure=True)
            continue
        head = _decode(text[start : min(end, start + _HEAD)]) if end - start > _HEAD else None
        if head is not None and (head.startswith(_MAGIC) or _as_text(head, cut=True) is None):
            data: bytes | None = head
            plain: str | None = None
        else:
            data = _decode(match[0])
            plain = None if data is None else _as_text(data)
        if plain is not None:
            yield Run(start, end, plain)
        elif data is not None and end - start >= 64 and data.startswith(_MAGIC):
            yield Run(start, end, None, sure=True)
        elif data is not None and end - start >= _LONG and _is_mixed(text[start : start + _LONG]):
            yield Run(start, end, None)


def encode(text: str, like: str) -> str:
    """Return a text in base64, in the alphabet and with the padding of what it replaces."""
    data = base64.b64encode(text.encode("utf-8", "surrogatepass"))
    written = (data.translate(bytes.maketrans(b"+/", b"-_")) if "-" in like or "_" in like else data).decode()
    return written if like.endswith("=") or len(like) % 4 == 0 else written.rstrip("=")


def _decode(run: str) -> bytes | None:
    if "-" in run or "_" in run:
        if "+" in run or "/" in run:
            return None
        run = run.replace("-", "+").replace("_", "/")
    bare = run.rstrip("=")
    if len(bare) % 4 == 1 or (run != bare and len(run) % 4):
        return None
    try:
        return binascii.a2b_base64(bare + "=" * (-len(bare) % 4))
    except binascii.Error:
        return None


def _as_text(data: bytes, *, cut: bool = False) -> str | None:
    """Return the text that bytes hold, None where they are hardly text. `cut`: the last character may be incomplete."""
    try:
        text = _decode_cut(data) if cut else data.decode()
    except UnicodeDecodeError:
        return None
    return text if text.translate({9: None, 10: None, 13: None}).isprintable() else None


def _decode_cut(data: bytes) -> str:
    return codecs.getincrementaldecoder("utf-8")().decode(data)


def _is_mixed(run: str) -> bool:
    return any(c.isupper() for c in run) and any(c.islower() for c in run) and any(c.isdigit() for c in run)
