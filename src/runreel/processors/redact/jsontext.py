"""JSON inside strings, taken apart lexically: literals, keys and numbers with their places, nothing re-written.

A literal is judged in its decoded form and replaced in its written form, so that formatting, escapes and all literals
without a finding stay byte for byte. The text need not be valid JSON throughout, only made of JSON's tokens: then
every change stays inside a token, and what parsed before parses afterwards.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import NamedTuple

# Groups: a string without escapes, the colon that makes it a key, a number, the end, the quote of another string.
_QUOTE, _COLON, _NUMBER, _END, _ESCAPED = 2, 3, 4, 5, 6
_TOKEN = re.compile(
    r"((?:[\s,:{}\[\]]++|true|false|null|-?(?:NaN|Infinity))*+)"
    r"(?:(\"[^\"\\]*+\")(\s*+:)?"
    r"|(-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?=[\s,\]}]|\Z))|(\Z)|(\"))",
    re.DOTALL,
)
_STRING = re.compile(r"\"(?:[^\"\\]++|\\.)*+\"", re.DOTALL)
_BEFORE_COLON = re.compile(r"\s*+:")
_HIGH, _LOW = re.compile("u[dD][89abAB][0-9a-fA-F]{2}"), re.compile("u[dD][c-fC-F][0-9a-fA-F]{2}")  # of a pair
_CLOSED_OFF = re.compile(r"\"\s*+[,\]}]")
_CLOSERS = {"{": "}", "[": "]", '"': '"'}
SCHEMA_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})


class Token(NamedTuple):
    """One key, string or number: text[start:end], for strings without the quotes. `gap` is what stands before it;
    `decoded` what a key or string stands for, None where it holds an escape that JSON does not have."""

    kind: str
    start: int
    end: int
    gap: str
    decoded: str | None = None


def looks_like_json(text: str) -> bool:
    """Tell cheaply whether a text may be a JSON object, array or string."""
    head = text[:64].lstrip()[:1]
    closer = _CLOSERS.get(head)
    return closer is not None and len(text) > 1 and text[-64:].rstrip()[-1:] == closer


def tokens(text: str, at: int = 0) -> list[Token] | None:
    """Return the keys, strings and numbers of a text made of JSON tokens; None where it is made of anything else.

    Where `at` is given, a `settled` place, only those behind it.
    """
    found: list[Token] = []
    add, new = found.append, tuple.__new__  # a text may have a hundred thousand of them
    after_key = True
    match = _TOKEN.match  # never a search: behind a quote that never closes it would start anew at every character
    while (token := match(text, at)) is not None:
        at = end = token.end()
        gap, group = token[1], token.lastindex
        if group == _END:
            add(Token("end", end, end, gap))
            return found
        if not after_key and (not gap or gap.isspace()):
            return None  # two values with nothing between them: `[202 555 0143]` is no JSON
        after_key = group == _COLON
        if group == _ESCAPED:
            start = end
            decoded, at = string(text, start)
            if at < 0:
                return None
            end = at - 1
            colon = _BEFORE_COLON.match(text, at)
            if colon is not None:
                after_key, at = True, colon.end()
            add(new(Token, ("key" if after_key else "string", start, end, gap, decoded)))
        elif group == _NUMBER:
            add(new(Token, ("number", end - len(token[_NUMBER]), end, gap, None)))
        else:
            start, end = token.span(_QUOTE)
            start, end = start + 1, end - 1
            add(new(Token, ("key" if after_key else "string", start, end, gap, text[start:end])))
    return None


def string(text: str, start: int) -> tuple[str | None, int]:
    """Return what a string that starts at `start` stands for, None where it holds an escape that JSON does not have;
    and the place behind its closing quote, -1 where there is none."""
    try:
        decoded, end = scanstring(text, start, False)  # five times quicker than the pattern
    except JSONDecodeError:
        match = _STRING.match(text, start - 1)
        return None, match.end() if match else -1
    return decoded, end


def settled(text: str, string: Token) -> int | None:
    """Return the place behind a string and what closes it off; None where something else follows.

    What stands before is taken apart in the same way whatever stands behind.
    """
    match = _CLOSED_OFF.match(text, string.end)
    return match.end() if match else None


def decode(text: str, start: int, end: int) -> str | None:
    """Return the string that a literal stands for, None where it holds an escape that JSON does not have."""
    if text.find("\\", start, end) < 0:
        return text[start:end]
    try:
        decoded, behind = scanstring(text, start, False)
    except JSONDecodeError:
        return None
    return decoded if behind == end + 1 else None


class Offsets:
    """Maps offsets of a decoded literal to offsets of the text that it is written in. Quickest in ascending order."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._start = start
        self._table: tuple[list[int], list[int]] | None = None
        self._text, self._shift = text, start
        self._offset = self._place = 0  # how far one has come, decoded and written
        if text.find("\\\\", start, end) >= 0:
            # An escaped backslash counts as any other escape of two characters; then each backslash left starts one.
            self._text, self._shift = text[start:end].replace("\\\\", "\\/"), 0
        if text.find("\\u", start, end) >= 0:
            self._table = _escapes(self._text[self._shift : self._shift + end - start].split("\\"))

    def written(self, offset: int) -> int:
        """Return where the character at a decoded offset starts in the text."""
        if self._table is not None:
            places, more = self._table
            return self._start + offset + more[bisect_left(places, offset)]
        if offset < self._offset:
            self._offset = self._place = 0
        seen, place = self._place, self._place + offset - self._offset
        while escapes := self._text.count("\\", self._shift + seen, self._shift + place):  # each moves it one on
            seen, place = place, place + escapes
        self._offset, self._place = offset, place
        return self._start + place


def _escapes(parts: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return where each escape stands in the decoded text, and how much longer than decoded all before each, and all,
    are written. `parts` are what stands between backslashes, the first part before the first of them."""
    places: list[int] = []
    more = [0]
    place, high = len(parts[0]), False
    for part in parts[1:]:
        if part[:1] != "u":
            places.append(place)
            more.append(more[-1] + 1)
            place, high = place + len(part), False
        elif high and _LOW.match(part):  # two of them are one character
            places.append(places[-1])
            more.append(more[-1] + 6)
            place, high = place + len(part) - 5, False
        else:
            places.append(place)
            more.append(more[-1] + 5)
            place, high = place + len(part) - 4, _HIGH.fullmatch(part) is not None
    return places, more


def container_end(found: list[Token], first: int) -> int | None:
    """Return the number of the token right behind the object or array that opens before token `first`.

    None where none opens there: the value is `found[first]` itself, or true, false, null.
    """
    opening = found[first].gap.lstrip()[:1]
    if opening not in ("{", "["):
        return None
    depth = 0
    for number in range(first, len(found)):
        for char in found[number].gap:
            depth += char in "{["
            depth -= char in "}]"
            if depth == 0 and char in "}]":
                return number
    return len(found) - 1


def is_schema(text: str, found: list[Token], first: int, behind: int) -> bool:
    """Tell whether the object that opens before token `first` describes a value instead of holding one."""
    depth = 0
    for number in range(first, min(behind, len(found) - 1)):
        token = found[number]
        depth += sum(token.gap.count(char) for char in "{[") - sum(token.gap.count(char) for char in "}]")
        if depth == 1 and token.kind == "key":
            name, value = text[token.start : token.end], found[number + 1]
            if name in ("$ref", "anyOf", "oneOf", "allOf"):
                return True
            if name == "type" and value.kind == "string" and text[value.start : value.end] in SCHEMA_TYPES:
                return True
            if name == "type" and value.gap.strip() == "[":
                return True
    return False


def is_log_probability(text: str, found: list[Token], number: int) -> bool:
    """Tell whether a string is a piece of a model's text, with its probability beside it."""
    after = found[number + 1]
    return after.kind == "key" and text[after.start : after.end] in ("logprob", "bytes")
