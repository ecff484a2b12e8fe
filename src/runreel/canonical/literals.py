"""String literals of JSON text: where they end, what they say, and how whoever wrote them escapes."""

import json
import re
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring, encode_basestring_ascii

# A literal, valid or not; one without an end runs to the end of the text, so that no text is scanned twice.
_LITERAL = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:(")|\\?\Z)', re.DOTALL)

# The scanner of the json module: content and end of the literal that starts behind a quote; ValueError if it is none.
scan: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]

_SHORT_ESCAPES = b'"\\\b\f\n\r\t'
_BEYOND_ASCII, _BEYOND_16_BITS = bytes(range(0x80, 0x100)), bytes(range(0xF0, 0x100))
_UNICODE_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")


def _escape_html(text: str) -> str:
    """Escape as Go does."""
    text = encode_basestring(text).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _escape_slash(text: str) -> str:
    """Escape as PHP does."""
    return encode_basestring_ascii(text).replace("/", "\\/")


# How writers escape a string: raw Unicode, ASCII only, and what Go's and PHP's libraries do. "v" is verbatim.
STYLES: Mapping[str, Callable[[str], str]] = {
    "u": encode_basestring,
    "a": encode_basestring_ascii,
    "g": _escape_html,
    "p": _escape_slash,
    "v": lambda text: f'"{text}"',
}


def scan_literal(text: str, start: int) -> tuple[str, bool, int]:
    """Read the literal that starts at a quote: its content, whether it is valid JSON, and where it ends.

    The content of what is no valid literal is its text, escapes and all; of one without an end, nothing.
    """
    try:
        content, end = scan(text, start + 1, True)
    except ValueError:
        return match_literal(text, start)
    return content, True, end


def match_literal(text: str, start: int) -> tuple[str, bool, int]:
    """The same, in text that is known not to be JSON: slower, but errors are cheap."""
    match = _LITERAL.match(text, start)
    assert match is not None
    if not match[1]:
        return "", False, match.end()
    try:
        return scan(match[0], 1, True)[0], True, match.end()
    except ValueError:
        return match[0][1:-1], False, match.end()


def style_of(content: str, literal: str) -> str:
    """Say how a valid literal is escaped: writing its content in that style gives it again, to the byte."""
    extra = len(literal) - 2 - len(content)
    if not extra and "\\" not in content:
        return "u"
    # Every escape makes a literal longer, and no other spelling of one is shorter: where it is no longer than it must
    # be, it is escaped as ever. That is cheaper to know than to write it again.
    data = content.encode(errors="surrogatepass")
    short = len(data) - len(data.translate(None, _SHORT_ESCAPES))
    if extra == short:
        return "u"
    escaped = literal.isascii() and not content.isascii()
    if escaped:
        beyond = len(content) - len(data.translate(None, _BEYOND_ASCII))
        pairs = len(data) - len(data.translate(None, _BEYOND_16_BITS))
        if extra == short + 5 * beyond + 6 * pairs and _lower_case(literal, beyond + pairs) and "\x7f" not in literal:
            return "a"
    styles = ("a", "g", "p") if escaped else STYLES
    return next((style for style in styles if STYLES[style](content) == literal), "v")


def _lower_case(literal: str, count: int) -> bool:
    """Say whether there are so many `\\u` in a literal, all with lower-case digits: these have two spellings."""
    return literal.count("\\u") == count and len(_UNICODE_ESCAPE.findall(literal)) == count
