"""Bytes that are text: in which encoding, so that a redacted text goes back the way it came."""

import codecs
from typing import NamedTuple

_CONTROLS = bytes([*range(9), 11, 12, *range(14, 32), 127, *range(0x80, 0xA0)])
_NO_ASCII_TEXT = bytes([*range(9), 11, 12, *range(14, 32), *range(127, 256)])
_MOST_CONTROLS = 0.1  # of eight-bit text; random bytes have 0.24
_LEAST_ASCII = 0.6  # of bytes with text and lengths or tags between it; random bytes have 0.37
_DECODERS = {
    "utf-8": codecs.utf_8_decode, "utf-16-le": codecs.utf_16_le_decode, "utf-16-be": codecs.utf_16_be_decode,
}  # fmt: skip
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class Readable(NamedTuple):
    """What bytes say, and the codec that gives back the same bytes for the same text."""

    text: str
    codec: str

    def encode(self, text: str) -> bytes:
        """Return a redacted text as such bytes."""
        return text.encode(self.codec, "surrogatepass" if self.codec.startswith("utf") else "strict")


def readable(data: bytes, *, cut: bool = False) -> Readable | None:
    """Return the text that bytes hold, None where they are a picture or the like.

    UTF-8 where they are valid; UTF-16, with or without a byte order mark, where every other byte is zero; else bytes
    that are text for the most part are taken one character a byte. `cut`: the last character may be incomplete.
    """
    found = unicode_text(data, cut=cut)
    if found is not None or not data:
        return found
    if _few(data, _CONTROLS, _MOST_CONTROLS) or _few(data, _NO_ASCII_TEXT, 1 - _LEAST_ASCII):
        return Readable(data.decode("latin-1"), "latin-1")
    return None


def unicode_text(data: bytes, *, cut: bool = False) -> Readable | None:
    """Return the same, but for bytes that are taken one character each."""
    if not data:
        return None
    for mark, codec in _BYTE_ORDER_MARKS:
        if data.startswith(mark) and not _few(data, _NO_ASCII_TEXT, 1 - _LEAST_ASCII):
            text = _decoded(data, codec, cut=cut)
            if text is not None:
                return Readable(text, codec)
    if 0 in data and (wide := _wide(data, cut=cut)):
        return wide
    text = _decoded(data, "utf-8", cut=cut)
    return None if text is None else Readable(text, "utf-8")


def _few(data: bytes, chars: bytes, share: float) -> bool:
    return len(data) - len(data.translate(None, chars)) <= share * len(data)


def _wide(data: bytes, *, cut: bool) -> Readable | None:
    """Return UTF-16 without a mark: half of the bytes of western text are zero, and hardly any of the other half."""
    pairs = len(data) // 2
    if pairs < 3 or (len(data) % 2 and not cut):
        return None
    low, high = data[0 : 2 * pairs : 2].count(0), data[1 : 2 * pairs : 2].count(0)
    codec = "utf-16-le" if high * 5 >= pairs and low * 20 <= pairs else "utf-16-be"
    if codec == "utf-16-be" and not (low * 5 >= pairs and high * 20 <= pairs):
        return None
    text = _decoded(data, codec, cut=cut)
    return None if text is None else Readable(text, codec)


def _decoded(data: bytes, codec: str, *, cut: bool) -> str | None:
    try:
        return _DECODERS[codec](data, "strict", not cut)[0]
    except UnicodeDecodeError:
        return None


def narrowed(text: str) -> tuple[str, int] | None:
    """Return what a text says that is UTF-16 taken for one byte a character (`d\0a\0n\0a\0`), and whether the first
    (0) or the second (1) of each two characters says it; None for any other text."""
    if text.count("\0") * 3 < len(text):
        return None
    for side in (0, 1):
        inner, rest = text[side::2], text[1 - side :: 2]
        if text[:2] in ("\xff\xfe", "\xfe\xff"):  # a byte order mark is no letter of the first word
            inner, rest = f" {inner[1:]}", rest[1:]
        if rest and rest.count("\0") * 20 >= len(rest) * 19 and inner.count("\0") * 20 <= len(inner):
            return inner, side
    return None


def widened(text: str, side: int) -> str:
    """Return a replacement in a text that `narrowed` read."""
    return "".join(f"\0{char}" if side else f"{char}\0" for char in text)
