"""Texts written in another way: escaped for a URL, for HTML or for JSON, or in base64.

Redaction sees through these: a personal value in an escaped form has the token of the value, and base64 of a text with
such a value is written anew around the token.
"""

import binascii
import html
import re
from typing import Final
from urllib.parse import unquote

_RUN: Final = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{18,}={0,2}(?![A-Za-z0-9+/_=-])")
_UNICODE: Final = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_EDGE: Final = "\0"  # around what base64 decoded to: no text is taken for base64 that is none


def unescaped(text: str) -> str:
    """Return what a text says with its escapes undone: `%40`, `&#64;`, `\\u0040`; the text itself where it has none."""
    if "%" in text:
        text = unquote(text, errors="replace")
    if "&" in text:
        text = html.unescape(text)
    if "\\" in text:
        text = _UNICODE.sub(lambda match: chr(int(match[1] or match[2], 16)), text)
    return text


def decoded(text: str) -> str | None:
    """Return a text with its base64 decoded, where that is text again; None where there is none."""
    found = False

    def put(match: re.Match[str]) -> str:
        nonlocal found
        plain = _plain(match[0])
        if plain is None:
            return match[0]
        found = True
        return plain if match[0] == text else f"{_EDGE}{plain}{_EDGE}"

    out = _RUN.sub(put, text)
    return out if found else None


def _plain(run: str) -> str | None:
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        text = binascii.a2b_base64(bare + "=" * (-len(bare) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if text.translate({9: None, 10: None, 13: None}).isprintable() else None
