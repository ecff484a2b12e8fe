"""Values split at their leaves: heavy strings become parts, stored once under their hash; a skeleton keeps their place.

Strings of a skeleton that start with U+E000 are markers:

    e:<text>                     the sender's own string, which starts with U+E000 itself
    p:<hash>                     a text part
    o:<hash>                     a bytes value
    b<style>:<hash>:<prefix>     base64 of a known binary format; the part holds it decoded; prefix as in a data: URL
    j:<template>                 a JSON text, with parts in the place of its heavy string literals
    t:<hash>                     the same, its template a part too

A template is the sender's text, byte for byte, except that U+E000 is doubled and a heavy literal is replaced by
U+E000, a letter for how its characters are escaped, the length of what follows, a colon, and its content's marker.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from runreel.canonical.literals import STYLES, match_literal, scan_literal, style_of
from runreel.errors import CorruptError
from runreel.values import Ref, Value

THRESHOLD_BYTES = 256

_MOST_SEEN_CHARS = 1_000_000  # literals larger than this are not kept in memory to be known again
_HEAD_CHARS = 128

MARK = "\ue000"

TEXT = "text/plain; charset=utf-8"
TEMPLATE = "text/x-runreel-skeleton; charset=utf-8"
BINARY = "application/octet-stream"

Get = Callable[[str], bytes]
Parts = dict[str, tuple[bytes, str]]

_SHA256 = re.compile("[0-9a-f]{64}")
_BINARY_MARKER = re.compile("b([snuw]):([0-9a-f]{64}):", re.DOTALL)
_INSERT = re.compile(f"{MARK}(?:{MARK}|([uagpv])([0-9]+):)")

# Starts like an object or an array that holds strings. It need not be valid, or end: the split is lexical.
_JSON_START = re.compile(r'\s*(?:\{\s*"|\[\s*["\[{])')
# A text that is one literal: what a tool returned, as a JSON string.
_JSON_STRING = re.compile(r'\s*+"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*+\Z', re.DOTALL)
_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]{24}")
_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w.+-]+=[^;,]*)*;base64,", re.ASCII)
_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (4, b"ftyp", "video/mp4"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"PK\x03\x04", "application/zip"),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """Heavy strings that were split before, with one threshold, so that the work is done once.

    Attributes:
        contents: What a literal says, to its marker and parts.
        literals: How a literal begins, to the latest one that does, what stands in its place, and its parts.
    """

    contents: dict[str, tuple[str, Parts]] = field(default_factory=dict)
    literals: dict[str, tuple[str, str, Parts]] = field(default_factory=dict)

    def literal(self, text: str, start: int) -> tuple[str, str, Parts] | None:
        """Return the literal that stands at this place of a text. Where one ends, and all else about it, is told by its
        own characters: the same ones are the same literal."""
        known = self.literals.get(text[start : start + _HEAD_CHARS])
        return known if known is not None and text.startswith(known[0], start) else None


def split_value(value: Value, threshold: int = THRESHOLD_BYTES, seen: Seen | None = None) -> tuple[Value, Parts]:
    """Split a value into a skeleton and its parts, `{hash: (bytes, media type)}`: `join_value` is the exact inverse.

    Strings and bytes of `threshold` bytes or more (in UTF-8) become parts, at any depth, also inside strings that are
    JSON text. The same value always splits the same way.
    """
    splitter = Splitter(threshold, seen=seen)
    return splitter.value(value, nested=False), splitter.parts


def join_value(skeleton: Value, get: Get) -> Value:
    """Put the parts back. `get` returns a part's bytes by hash. Raises CorruptError for what is no skeleton."""
    if isinstance(skeleton, str):
        return _join_marker(skeleton[1:], get) if skeleton.startswith(MARK) else skeleton
    if isinstance(skeleton, tuple):
        return tuple([join_value(item, get) for item in skeleton])
    if isinstance(skeleton, Mapping):
        return {key: join_value(item, get) for key, item in skeleton.items()}
    return skeleton


def payload_marker(ref: Ref) -> str:
    """Return what a row keeps in the place of a payload."""
    return f"{MARK}r:{ref.sha256}"


def payload_ref(value: Value) -> str | None:
    """Return the hash of the payload that a row's value stands for; None where it is the value itself."""
    if isinstance(value, str) and value.startswith(f"{MARK}r:") and _SHA256.fullmatch(value, 3):
        return value[3:]
    return None


def escape_own(value: Value) -> Value:
    """Return what a row keeps for a light value: itself, but a sender's string is never taken for a marker."""
    return f"{MARK}e:{value}" if isinstance(value, str) and value.startswith(MARK) else value


def unescape_own(value: Value) -> Value:
    """Undo `escape_own`."""
    return value[3:] if isinstance(value, str) and value.startswith(f"{MARK}e:") else value


def is_document(text: str) -> bool:
    """Say whether a text starts like a JSON object or array with strings in it."""
    return _JSON_START.match(text) is not None


def _one_literal(text: str) -> tuple[int, str, bool, int] | None:
    """Return the literal that a text is, but for blanks around it: start, content, whether it is valid, end; None for
    any other text."""
    start = len(text) - len(text.lstrip())
    if not text.startswith('"', start) or not text.rstrip().endswith('"'):
        return None
    content, valid, end = scan_literal(text, start)
    if valid:
        return None if text[end:].strip() else (start, content, valid, end)
    return (start, content, valid, end) if _JSON_STRING.match(text) else None


def sniff_media_type(data: bytes) -> str | None:
    """Name a binary format by its first bytes; None where it is none that senders put into messages."""
    return next((name for at, magic, name in _MAGIC if data.startswith(magic, at)), None)


class Splitter:
    """Gathers the parts of one value; `parts` may start with those of a prefix.

    `seen` are heavy literals that were split before, with the same threshold; what is new is added.
    """

    def __init__(self, threshold: int, parts: Parts | None = None, seen: Seen | None = None) -> None:
        self.parts: Parts = dict(parts or {})
        self._threshold = max(1, threshold)
        self._seen = Seen() if seen is None else seen

    def value(self, value: Value, nested: bool) -> Value:
        if isinstance(value, str):
            if self._heavy(value):
                return MARK + self._marker(value, nested)
            return escape_own(value)
        if isinstance(value, bytes):
            if len(value) < self._threshold:
                return value
            return f"{MARK}o:{self._part(value, sniff_media_type(value) or BINARY)}"
        if isinstance(value, tuple):
            return tuple([self.value(item, True) for item in value])
        if isinstance(value, Mapping):
            return {key: self.value(item, True) for key, item in value.items()}
        return value

    def _heavy(self, text: str) -> bool:
        if len(text) >= self._threshold:
            return True
        return len(text) * 4 >= self._threshold and len(_to_bytes(text)) >= self._threshold

    def _part(self, data: bytes, media_type: str) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        self.parts[sha256] = data, media_type
        return sha256

    def _marker(self, text: str, nested: bool) -> str:
        """Return the marker (without U+E000) of a heavy string."""
        binary = _from_base64(text)
        if binary is not None:
            style, prefix, data, media_type = binary
            return f"b{style}:{self._part(data, media_type)}:{prefix}"
        template = self._template(text)
        if template is None:
            return f"p:{self._part(_to_bytes(text), TEXT)}"
        # Inside a payload, a large template is most likely sent again with the next step: it is shared as well.
        if nested and self._heavy(template):
            return f"t:{self._part(_to_bytes(template), TEMPLATE)}"
        return template_marker(template)[1:]

    def _template(self, text: str) -> str | None:
        """Replace the heavy literals of a JSON document, or of a text that is one literal; None where it has none, and
        for any other text."""
        if is_document(text):
            end, template = self.replace(text, 0)
            if not end:
                return None
        else:
            literal = _one_literal(text)
            if literal is None or not self._heavy(literal[1]):
                return None
            start, content, valid, end = literal
            template = escape_template(text[:start]) + self._insert(content, valid, text[start:end])
        return template + escape_template(text[end:])

    def replace(self, text: str, done: int) -> tuple[int, str]:
        """Replace the heavy literals of a JSON text from `done` on, which is outside of any.

        Returns where the last one ends (`done` where there is none), and the template from `done` to there.
        """
        pieces: list[str] = []
        at = done
        read = scan_literal
        # In ASCII a character is a byte, and an escape is shorter than what it is written with.
        light = _light_literals((self._threshold - 1) // (1 if text.isascii() else 4))
        while (start := text.find('"', _behind(light, text, at))) >= 0:
            known = self._seen.literal(text, start)
            if known is not None:
                at, insert = start + len(known[0]), known[1]
                self.parts.update(known[2])
            else:
                content, valid, at = read(text, start)
                if not valid:
                    # An error costs the time to count the lines in front of it: once is enough.
                    read = match_literal
                if not self._heavy(content):
                    continue
                insert = self._insert(content, valid, text[start:at])
            pieces += (escape_template(text[done:start]), insert)
            done = at
        return done, "".join(pieces)

    def _insert(self, content: str, valid: bool, literal: str) -> str:
        """Return what stands in the place of a heavy literal."""
        style = style_of(content, literal) if valid else "v"
        if style == "v":
            verbatim = Splitter(self._threshold)
            marker, parts = f"p:{verbatim._part(_to_bytes(literal[1:-1]), TEXT)}", verbatim.parts
        else:
            marker, parts = self._nested(content)
        self.parts.update(parts)
        insert = f"{MARK}{style}{len(marker)}:{marker}"
        if len(literal) <= _MOST_SEEN_CHARS:
            self._seen.literals[literal[:_HEAD_CHARS]] = literal, insert, parts
        return insert

    def _nested(self, content: str) -> tuple[str, Parts]:
        """Return the marker of a literal's content, and its parts. The same text may stand there in other escapes."""
        known = self._seen.contents.get(content)
        if known is None:
            inside = Splitter(self._threshold, seen=self._seen)
            known = inside._marker(content, nested=True), inside.parts
            if len(content) <= _MOST_SEEN_CHARS:
                self._seen.contents[content] = known
        return known


def _behind(light: re.Pattern[str], text: str, at: int) -> int:
    """Skip what is no literal, and literals that are short and without escapes."""
    match = light.match(text, at)
    return match.end() if match else at


def escape_template(text: str) -> str:
    """Return a sender's text as it stands in a template."""
    return text.replace(MARK, MARK + MARK)


def template_marker(template: str) -> str:
    """Return what stands for a JSON text whose template is given."""
    return f"{MARK}j:{template}"


def _to_bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _to_text(data: bytes) -> str:
    return data.decode(errors="surrogatepass")


@cache
def _light_literals(longest: int) -> re.Pattern[str]:
    return re.compile(f'(?:[^"]++|"[^"\\\\]{{0,{longest}}}+")*+')


def _from_base64(text: str) -> tuple[str, str, bytes, str] | None:
    """Read a string that is base64 of a known format: style, prefix, data, media type; None where it is not.

    Styles: standard or URL alphabet, with or without padding. Anything that would not come back to the byte is None.
    """
    url = _DATA_URL.match(text)
    prefix = url[0] if url else ""
    head = _BASE64.match(text, len(prefix))
    if head is None or sniff_media_type(_decoded(head[0]) or b"") is None:
        return None
    body = text[len(prefix) :]
    data = _decoded(body)
    media_type = sniff_media_type(data) if data else None
    if data is None or media_type is None:
        return None
    for style in "snuw":
        if _to_base64(style, data) == body:
            return style, prefix, data, media_type
    return None


def _decoded(text: str) -> bytes | None:
    standard = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _to_base64(style: str, data: bytes) -> str:
    text = (base64.b64encode(data) if style in "sn" else base64.urlsafe_b64encode(data)).decode()
    return text.rstrip("=") if style in "nw" else text


def _join_marker(marker: str, get: Get) -> Value:
    kind, rest = marker[:2], marker[2:]
    if kind == "e:":
        return rest
    if kind == "o:":
        return get(_hash(rest))
    return _join_text(marker, get)


def _join_text(marker: str, get: Get) -> str:
    kind, rest = marker[:2], marker[2:]
    if kind == "p:":
        return _part_text(rest, get)
    if kind == "j:":
        return _fill(rest, get)
    if kind == "t:":
        return _fill(_part_text(rest, get), get)
    binary = _BINARY_MARKER.match(marker)
    if binary:
        return marker[binary.end() :] + _to_base64(binary[1], get(binary[2]))
    raise CorruptError("a skeleton holds a marker that nothing writes")


def _hash(text: str) -> str:
    if not _SHA256.fullmatch(text):
        raise CorruptError("a skeleton names a part by what is no SHA-256")
    return text


def _part_text(sha256: str, get: Get) -> str:
    try:
        return _to_text(get(_hash(sha256)))
    except UnicodeDecodeError:
        raise CorruptError(f"part {sha256} is not text") from None


def _fill(template: str, get: Get) -> str:
    """Put the literals back into a template."""
    pieces: list[str] = []
    done = 0
    while insert := _INSERT.search(template, done):
        pieces.append(template[done : insert.start()])
        done = insert.end()
        if insert[1] is None:
            pieces.append(MARK)
            continue
        end = done + int(insert[2])
        pieces.append(STYLES[insert[1]](_join_text(template[done:end], get)))
        done = end
    pieces.append(template[done:])
    return "".join(pieces)
