"""Private keys in text: whole blocks, cut ones, with escaped line breaks, behind line prefixes.

A scanner that goes line by line takes the BEGIN line and lets the body through; so this one takes from BEGIN to END,
or as far as lines look like a key where the end is missing. Certificates and public keys are public: they stay.
"""

import re
from collections.abc import Iterable, Iterator

LIMIT = "\1"
"""Separates texts that are searched as one: like the start and the end of a text for every rule."""

_KIND = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?"
BEGIN_OR_END = f"-{{4,5}} ?(?:BEGIN|END) {_KIND}"
"""A scanner's regex: every key has one of these lines."""

_MARKER = re.compile(rf"-{{4,5}} ?(BEGIN|END) {_KIND} ?-{{4,5}}", re.IGNORECASE)
_RULE = "private-key"
_REACH = 64 * 1024  # an END line further away belongs to something else
_WIDEST = 8192  # characters of one line
_RUN = r"[A-Za-z0-9+/]{16,}+={0,2}"
# What may stand between two lines of a body: line breaks (escaped too), quotes, prefixes of logs, diffs and comments,
# line numbers, and the headers of the old format.
_BETWEEN = (
    r"(?:\\{1,16}[nrt]|[\s|>#*+:;,.\"'`\\$-]|[0-9]{1,6}(?=[:|\t ])"
    r"|(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\\1]{0,120})"
)
_FULL = 16  # characters of a line that is no last one, at least
_LINE_END = re.compile(r"(?:\\[rn]|\s)+\Z")
_WHOLE_LINE = re.compile(r"[A-Za-z0-9+/]*={0,2}|(?:Proc-Type|DEK-Info|Version|Comment): .{0,120}")
_LINE = re.compile(rf"{_BETWEEN}{{1,80}}+{_RUN}")
_LAST = re.compile(rf"{_BETWEEN}{{1,80}}+[A-Za-z0-9+/]{{1,15}}+(?:={{1,2}}|=?(?=\s*\Z))")
_LINE_BEFORE = re.compile(rf"(?<![A-Za-z0-9+/]){_RUN}{_BETWEEN}{{1,80}}\Z")
_LAST_BEFORE = re.compile(rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{1,15}}={{0,2}}{_BETWEEN}{{1,80}}\Z")
_BODY = re.compile(_RUN)


def find_private_keys(text: str, pos: int) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, rule) of each private key from `pos` on. A marker in prose, without a body, is no key.

    No key reaches over a LIMIT: what stands on its other side is another text.
    """
    while pos < len(text):
        limit = text.find(LIMIT, pos)
        limit = len(text) if limit < 0 else limit
        yield from _find(text, pos, limit)
        pos = limit + 1


def _find(text: str, pos: int, limit: int) -> Iterator[tuple[int, int, str]]:
    floor, begin = pos, None
    for marker in _MARKER.finditer(text, pos, limit):
        if begin is not None and (marker[1].upper() == "BEGIN" or marker.start() > begin.end() + _REACH):
            stop = _without_end(text, begin.end(), marker.start())
            if stop is not None:
                yield begin.start(), stop, _RULE
            floor, begin = stop or begin.end(), None
        if marker[1].upper() == "BEGIN":
            begin = marker
        elif begin is None:
            yield from _headless(text, floor, marker)
            floor = marker.end()
        else:
            if _BODY.search(text, begin.end(), marker.start()):
                yield begin.start(), marker.end(), _RULE
            floor, begin = marker.end(), None
    stop = None if begin is None else _without_end(text, begin.end(), limit)
    if begin is not None and stop is not None:
        yield begin.start(), stop, _RULE


def key_lines(lines: Iterable[str]) -> int:
    """Return how many of the lines, from the first on, are a private key: 0 where the first is no BEGIN line, or where
    no line of a body follows. Lines may end in line breaks, written out or not."""
    count = body = 0
    for line in lines:
        bare = _LINE_END.sub("", line)
        marker = _MARKER.fullmatch(bare)
        begins = marker is not None and marker[1].upper() == "BEGIN"
        if begins != (count == 0) or not (marker or _WHOLE_LINE.fullmatch(bare)):
            break
        count += 1
        body += marker is None and len(bare) >= _FULL
        if marker is not None and not begins:
            break
    return count if body else 0


def _without_end(text: str, after: int, limit: int) -> int | None:
    """Return where the lines that look like a key end, None where there is no such line."""
    stop = after
    while (line := _LINE.match(text, stop, limit)) is not None:
        stop = line.end()
    if stop == after:
        return None
    last = _LAST.match(text, stop, limit)
    return last.end() if last else stop


def _headless(text: str, floor: int, end: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the body that stands right before an END line without a BEGIN."""
    start = end.start()
    last = _LAST_BEFORE.search(text, max(floor, start - _WIDEST), start)  # a body's last line may be short
    start = last.start() if last else start
    while (line := _LINE_BEFORE.search(text, max(floor, start - _WIDEST), start)) is not None:
        start = line.start()
    if _BODY.search(text, start, end.start()):
        yield start, end.end(), _RULE
