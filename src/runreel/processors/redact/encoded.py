"""Base64 inside texts: what decodes to text is looked into, what is a picture or another binary is left alone."""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from runreel.processors.redact.bytetext import Readable, readable, unicode_text
from runreel.processors.redact.scan import Gate

SHORTEST = 18  # characters: thirteen bytes
GATE = Gate(f"[A-Za-z0-9+/_-]{{{SHORTEST}}}", once=True, family="letters")
"""Fires where there may be base64 at all: in few texts."""

STARTS = Gate(f"(?:^|[^A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{SHORTEST}}}")
"""Fires once for each run, `SHORTEST` characters into it. Half as costly as all other gates together."""

_RUN = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{SHORTEST},}}+={{0,2}}(?![A-Za-z0-9+/_=-])")
# Further lines of base64 that is wrapped; a line break written out is a blank and a line break here.
_LINE = re.compile(r"((?:[ \t]{0,2}\r?\n){1,2}[ \t>]{0,8})([A-Za-z0-9+/_-]++={0,2})(?![A-Za-z0-9+/_=-])")
_NARROWEST = 40  # characters of a line that is wrapped
_NOT_TEXT = re.compile("[0-9a-f]+|[0-9A-F]+|[a-z]+(?:[_/-][a-z]+)*")  # hashes, snake_case: base64 of text has capitals
_DATA_URL = re.compile(r"data:[\w.+-]{1,64}/[\w.+-]{1,64}(?:;[\w=.+-]{1,64}){0,4};base64,\Z")
_MAGIC = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF", b"PK\x03\x04", b"\x1f\x8b", b"OggS", b"ID3", b"\xff\xfb",
    b"\xff\xf3", b"fLaC", b"BM", b"II*\0", b"MM\0*", b"\0\0\0", b"\x1aE\xdf\xa3", b"7z\xbc\xaf", b"wOFF", b"wOF2",
)  # fmt: skip
_LONG = 200  # a run this long with every kind of character, that decodes and is no text, is binary
_HEAD = 4096  # characters, a multiple of 4, that tell what a long run is
_GLIMPSE = 48  # characters that tell whether a part of a run is text
_MOST_PARTS = 8
_PART = re.compile("[/_-]")
# The first of four characters of base64 says what the first of three bytes starts with; of text it is one of these.
_FIRST_OF_ASCII = str.maketrans("", "", "IJKLMNOPQRSTUVWXYZabcdef")
_MOST_ODD = 2  # line breaks, letters beyond ASCII


class Run(NamedTuple):
    """A stretch of base64: text[start:end]. `text` is what it decodes to, None for binary content.

    `sure`: it says of itself what it is, a picture say, and is not looked into at all. Other binary content may still
    be a key. `read` knows the way back.
    """

    start: int
    end: int
    read: Readable | None
    sure: bool = False

    @property
    def text(self) -> str | None:
        return self.read.text if self.read else None


def runs(text: str, hits: Sequence[tuple[int, int]]) -> Iterator[Run]:
    """Yield the base64 at the hits of STARTS. Words, identifiers and hashes also look like it, but do not decode to
    text."""
    done = 0
    for _, place in hits:
        match = _RUN.match(text, place - SHORTEST) if place - SHORTEST >= done else None
        if match is None:
            continue
        start, end = match.span()
        if end - start >= _NARROWEST and (wrapped := _wrapped(text, start, end)) is not None:
            code, done = wrapped
            run = _opened(text, start, done, code) or Run(start, done, None)
            yield run
            continue
        if _NOT_TEXT.fullmatch(match[0]):
            continue
        found = _opened(text, start, end, match[0])
        if found is None or (found.read is None and not found.sure):
            found = next(_parts(text, start, end), found)
        if found is not None:
            yield found


def encode(run: Run, text: str, like: str) -> str:
    """Return a redacted text in base64, in the alphabet, with the padding and the lines of what it replaces."""
    data = run.read.encode(text) if run.read else text.encode()
    code = base64.b64encode(data)
    written = (code.translate(bytes.maketrans(b"+/", b"-_")) if "-" in like or "_" in like else code).decode()
    break_ = _LINE.search(like)
    bare = like.rstrip("=")
    if break_ is None:
        return written if bare != like or len(like) % 4 == 0 else written.rstrip("=")
    width, between = break_.start(), break_[1].replace(" \n", "\\n")
    return between.join(written[place : place + width] for place in range(0, len(written), width))


def _wrapped(text: str, start: int, end: int) -> tuple[str, int] | None:
    """Return the code of base64 over several lines without its line breaks, and where it ends."""
    width = end - start
    if width % 4 or text[end - 1] == "=":
        return None
    lines = [text[start:end]]
    while (line := _LINE.match(text, end)) is not None and len(line[2]) <= width:
        if len(line[2]) < width and not _is_last(text, line):
            break
        lines.append(line[2])
        end = line.end()
        if len(line[2]) < width:
            break
    return ("".join(lines), end) if len(lines) > 1 else None


def _is_last(text: str, line: "re.Match[str]") -> bool:
    """Tell whether a shorter line ends a block: it fills its fours, and is no word that follows."""
    return len(line[2]) % 4 == 0 and (text[line.end() : line.end() + 1] in ("", "\r", "\n", " ", '"', "'", "-"))


def _opened(text: str, start: int, end: int, code: str) -> Run | None:
    """Return what a run is: text, binary, or None for what is only a word."""
    head = _decode(code[:_HEAD]) if len(code) > _HEAD else None
    if head is not None and (head.startswith(_MAGIC) or readable(head, cut=True) is None):
        data: bytes | None = head
        read: Readable | None = None
    else:
        data = _decode(code)
        read = None if data is None or data.startswith(_MAGIC[:4]) else readable(data)
    if read is not None:
        return Run(start, end, read)
    if data is not None and len(code) >= 64 and data.startswith(_MAGIC):
        return Run(start, end, None, sure=True)
    if text.endswith(";base64,", 0, start) and _DATA_URL.search(text, max(0, start - 400), start):
        return Run(start, end, None, sure=True)
    if data is not None and len(code) >= _LONG and _is_mixed(code[:_LONG]):
        return Run(start, end, None)
    return None


def _parts(text: str, start: int, end: int) -> Iterator[Run]:
    """Yield the parts of a run that are base64 of text: behind a slash or dash, or where the beginning was cut off."""
    breaks = islice(_PART.finditer(text, start, min(end, start + 256)), _MOST_PARTS)
    places = [one.end() for one in breaks]
    for place in (*places, start + 1, start + 2, start + 3):
        if end - place < SHORTEST:
            continue
        if len(text[place : min(end, place + _GLIMPSE) : 4].translate(_FIRST_OF_ASCII)) > _MOST_ODD:
            continue
        glimpse = _decode(text[place : min(end, place + _GLIMPSE)].rstrip("="), cut=True)
        if glimpse is None or not _is_plain(glimpse):
            continue
        code = text[place:end]
        if len(code.rstrip("=")) % 4 == 1:
            continue
        run = _opened(text, place, end, code)
        if run is not None and run.read is not None:
            yield run


def _is_plain(data: bytes) -> bool:
    """Tell whether bytes are text beyond doubt."""
    read = unicode_text(data, cut=True)
    return read is not None and read.text.translate({9: None, 10: None, 13: None}).isprintable()


def _decode(run: str, *, cut: bool = False) -> bytes | None:
    if "-" in run or "_" in run:
        if "+" in run or "/" in run:
            return None
        run = run.replace("-", "+").replace("_", "/")
    bare = run.rstrip("=")
    if cut:
        bare = bare[: len(bare) - len(bare) % 4]
    elif len(bare) % 4 == 1 or (run != bare and len(run) % 4):
        return None
    try:
        return binascii.a2b_base64(bare + "=" * (-len(bare) % 4))
    except binascii.Error:
        return None


def _is_mixed(run: str) -> bool:
    return any(c.isupper() for c in run) and any(c.islower() for c in run) and any(c.isdigit() for c in run)
