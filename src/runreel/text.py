"""Text from a run, made safe to show on a terminal: all of it is somebody else's and may hold escapes."""

import re

# C0 and C1 controls (terminal escapes start with one of them), bidirectional overrides (they make text read otherwise
# than it is) and the line and paragraph separators.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_SPACIOUS = 16


def printable(text: str) -> str:
    """Return the text with every control character shown as `\\xNN` or `\\uNNNN`; tab and newline stay."""
    return _UNSAFE.sub(_escape, text)


def one_line(text: str, width: int = 0) -> str:
    """Return the text on one line, cut to `width` characters with an ellipsis (0: not cut)."""
    begin = text[: width * _SPACIOUS] if width else text  # the rest cannot be seen: not worth a look at 10 MB of it
    line = " ".join(printable(begin).split())
    cut = width and (len(line) > width or len(begin) < len(text))
    return line[: width - 1] + "…" if cut else line


def many(number: int, what: str) -> str:
    """Count things: 1 span, 2 spans, 1,200 spans."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
