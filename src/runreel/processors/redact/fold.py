"""Texts as detectors should see them: folded, unescaped, without what is invisible; and the way back to the original.

Detection runs on a folded copy, replacement on the original, so a text in which nothing is found keeps its bytes.
"""

import codecs
import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb"
)
_INVISIBLE_BEYOND = "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
_BEYOND = re.compile("[\U00010000-\U0010ffff]")
# Escapes that broken JSON, URLs and HTML leave in a text. Several backslashes: JSON in JSON. Each alternative starts
# with its literal, the look-behind (no backslash before the first) behind it: five times quicker than before it.
_FIRST_BACKSLASH = r"\\(?<!\\\\)\\*+"
_ENTITIES = {
    "commat": "@", "period": ".", "lowbar": "_", "hyphen": "-", "dash": "-", "plus": "+", "colon": ":", "sol": "/",
    "equals": "=", "nbsp": " ", "ensp": " ", "emsp": " ", "thinsp": " ", "shy": "", "zwj": "", "zwnj": "",
    "quot": '"', "apos": "'", "lt": "<", "gt": ">", "lpar": "(", "rpar": ")", "num": "#", "percnt": "%", "semi": ";",
    "comma": ",", "Tab": "\t", "NewLine": "\n", "amp": "&",
}  # fmt: skip
_CODES = (
    _FIRST_BACKSLASH
    + r"(?:u[dD][89abAB][0-9a-fA-F]{2}\\++u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|/)"
    r"|%(?:25){0,6}[0-7][0-9a-fA-F]"
    r"|&(?:amp;){0,6}(?:#0{0,8}[0-9]{1,7};?|#[xX]0{0,8}[0-9a-fA-F]{1,6};?|(?:" + "|".join(_ENTITIES) + "|amp);)"
)
_CODED_ASCII = re.compile(_CODES)
_CODED = re.compile(f"[{_INVISIBLE}]+|{_CODES}")
_CODED_BEYOND = re.compile(f"[{_INVISIBLE}{_INVISIBLE_BEYOND}]+|{_CODES}")
_MAYBE_CODED = re.compile(rf"[\\%&{_INVISIBLE}]")
_HEX = re.compile(r"u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})")
_BREAK = re.compile(_FIRST_BACKSLASH + "[nrt]")
# Dashes that join words too: only between digits are they hyphens.
_NUMBER_DASH = re.compile("(?<=[0-9])[\u2012\u2013\u2212](?=[0-9])")
_ASCII_TWINS = {
    "\u2010": "-", "\u2011": "-", "\ufe63": "-", "\ufe58": "-", "\u3002": ".", "\uff61": ".", "\ufe52": ".",
    "\ufe6b": "@", "\ufe55": ":", "\ufe62": "+",
}  # fmt: skip
# Letters of other scripts that look like ours. They are folded only beside one of ours: where words are mixed.
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0261\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c"
    "\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd\u03b1\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405",
    "aeopcyxijshdqwgABEZHIKMNOPTYXovaABEKMHOPCTXIJS",
)
_LOOKS = "[" + "".join(map(chr, _LOOKALIKES)) + "]"
_MIXED = re.compile(f"[A-Za-z0-9@_]{_LOOKS}|{_LOOKS}[A-Za-z0-9@_]")
_MIXED_RUN = re.compile(f"(?<=[A-Za-z0-9@_]){_LOOKS}+|{_LOOKS}+(?=[A-Za-z0-9@_])")
_TWIN_RANGES = ((0xFF01, 0xFF5E), (0x1D400, 0x1D7FF), (0x2100, 0x214F), (0x24B6, 0x24E9))
_DIGIT_RANGE = (0x660, 0x1FBFA)


def aligned(text: str) -> str:
    """Return the text with every disguised character in its plain form, at the same length.

    Full-width and mathematical letters, digits of any script, hyphens and spaces become ASCII; `\\n`, `\\r` and `\\t`
    written out become white space, so that they join nothing to the word after them.
    """
    if not text.isascii():
        pattern, table = _twins()
        text = pattern.sub(lambda match: table[match[0]], text)
        if _BEYOND.search(text):
            text = _BEYOND.sub(lambda match: table.get(match[0], match[0]), text)
        text = _NUMBER_DASH.sub("-", text)
        if _MIXED.search(text):
            text = _MIXED_RUN.sub(lambda match: match[0].translate(_LOOKALIKES), text)
    if "\\" in text:
        text = _BREAK.sub(lambda match: " " * (len(match[0]) - 1) + "\n", text)
    return text


@dataclass(frozen=True, slots=True)
class View:
    """A text of another length than its original. `units` are (start here, start there, length there) of each decoded
    or plain stretch; a decoded one is one character here."""

    text: str
    here: tuple[int, ...]
    there: tuple[int, ...]
    ends: tuple[int, ...]

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original that a span of this text stands for, what is invisible inside included."""
        return self._position(start), self._position(end - 1, after=True)

    def _position(self, index: int, *, after: bool = False) -> int:
        unit = bisect_right(self.here, index) - 1
        if self.ends[unit] >= 0:  # decoded: the whole escape
            return self.ends[unit] if after else self.there[unit]
        return self.there[unit] + index - self.here[unit] + after


def compact(text: str) -> View | None:
    """Return the text without invisible characters and with `\\u0040`, `%40` and the like decoded; None if equal."""
    if text.isascii():
        if "\\" not in text and "%" not in text and "&" not in text:
            return None
        pattern = _CODED_ASCII
    elif _BEYOND.search(text):
        pattern = _CODED_BEYOND
    elif _MAYBE_CODED.search(text):
        pattern = _CODED
    else:
        return None
    out: list[str] = []
    here, there, ends = [0], [0], [-1]
    size = last = 0
    for match in pattern.finditer(text):
        char = _decoded(match[0])
        if char is None:
            continue
        out += [text[last : match.start()], char]
        size += match.start() - last
        if char:
            here.append(size)
            there.append(match.start())
            ends.append(match.end())
            size += 1
        last = match.end()
        here.append(size)
        there.append(last)
        ends.append(-1)
    if not last:
        return None
    return View("".join([*out, text[last:]]), tuple(here), tuple(there), tuple(ends))


@lru_cache(maxsize=4096)
def _decoded(code: str) -> str | None:
    """Return what an escape stands for in ASCII, "" for what is invisible, None for what stays as it is."""
    if code[0] not in "\\%&":
        return ""
    if code[0] == "&":
        return _entity(code.rstrip(";").rpartition(";")[2].lstrip("&"))
    if code[0] == "%":
        return _plain(int(code[-2:], 16))
    if code[-1] == "/":
        return "/"
    numbers = [int(first or second, 16) for first, second in _HEX.findall(code)]
    if len(numbers) == 2:
        return "a"  # a surrogate pair: a character beyond the plane, never part of a finding
    return _plain(numbers[0])


def _entity(name: str) -> str | None:
    if name[0] != "#":
        return _ENTITIES[name]
    number = int(f"0{name[1:]}", 16) if name[1] in "xX" else int(name[1:])
    return _plain(number) if number < 0x110000 else None


def _plain(number: int) -> str:
    char = aligned(chr(number))
    if re.match(f"[{_INVISIBLE}]", char):
        return ""
    return char if char not in "\0\1" else " "


@lru_cache(maxsize=1)
def _twins() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return the characters with an ASCII twin, and the twins. Built at the first text that is not ASCII.

    The pattern is for the basic plane only: a class with characters beyond it is searched thirty times slower.
    """
    table = dict(_ASCII_TWINS)
    for first, last in _TWIN_RANGES:
        for code in range(first, last + 1):
            twin = unicodedata.normalize("NFKC", chr(code))
            if len(twin) == 1 and twin.isascii():
                table[chr(code)] = twin
    for code in (0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000):
        table[chr(code)] = " "
    for code in range(*_DIGIT_RANGE):
        digit = unicodedata.decimal(chr(code), None)
        if digit is not None:
            table[chr(code)] = str(digit)
    return re.compile("[" + "".join(char for char in sorted(table) if char <= "\uffff") + "]"), table


def one_byte(text: str) -> bytes:
    """Return one ASCII byte for each character, so that byte offsets are character offsets.

    Digits of any script become digits, word characters `a`, the rest `~`, which may stand inside phone numbers,
    passwords and keys, and in no other class: whatever a detector's classes take, a scanner's classes take too.
    """
    if text.isascii():
        return text.encode()
    handler, table = _bytes()
    if len(text.encode("utf-8", "surrogatepass")) > len(text) * 5 // 4:  # the handler's calls would cost more
        return text.translate(table).encode()
    return text.encode("ascii", handler)


@lru_cache(maxsize=1)
def _bytes() -> tuple[str, dict[int, str]]:
    """Return the name of the codec error handler, registered once, and its table."""
    import regex  # type: ignore[import-untyped]

    word = regex.compile(r"\w")

    class Bytes(dict[int, str]):
        def __missing__(self, code: int) -> str:
            char = chr(code)
            digit = unicodedata.decimal(char, None)
            other = "a" if word.match(char) else "~"
            self[code] = found = char if char.isascii() else str(digit) if digit is not None else other
            return found

    table = Bytes({0xFF0B: "+"})

    def replace(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        return error.object[error.start : error.end].translate(table), error.end

    codecs.register_error("runreel.one_byte", replace)
    return "runreel.one_byte", table
