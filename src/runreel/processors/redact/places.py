"""Goes through a value with the path of each place in it, JSON inside strings included, and replaces some of them.

What stands around a replaced place in a JSON text stays byte for byte, as with everything that redaction replaces.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from runreel.processors.redact import jsontext
from runreel.processors.redact.edits import Edit, apply, json_escaped
from runreel.values import Value

Path: TypeAlias = tuple[str, ...]

# Groups: a sign, a string without escapes, the quote of another string, a scalar.
_SIGN, _STRING, _ESCAPED = 1, 2, 3
_TOKEN = re.compile(
    r"\s*+(?:([{}\[\],:])|(\"[^\"\\]*+\")|(\")|(true|false|null|-?(?:NaN|Infinity)|-?[0-9][0-9.eE+\-]*+))",
    re.DOTALL,
)
_CUT = re.compile(r"\"(?:[^\"\\]|\\.)*\\?|[a-zA-Z0-9.+\-]{1,32}", re.DOTALL)
_DEEPEST = 12  # layers of JSON in strings
BEHIND = "\0behind"
"""The member that what follows a whole JSON document counts as."""

_CLOSED = {"}": "map", "]": "list"}


@dataclass(slots=True)
class Node:
    """A value in a JSON text: text[start:end], strings with their quotes. `cut`: the text ends inside of it. What is
    behind the last thing that is JSON's is of kind `broken`, unless it looks like the start of a value that was cut.
    `decoded`: what a string stands for, once it was asked for."""

    path: Path
    kind: str
    start: int
    end: int
    cut: bool = False
    decoded: str | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class _Open:
    node: Node
    index: int = 0
    key: str | None = None


def nodes(text: str) -> list[Node]:
    """Return the values in a JSON text, each before what it holds. Of a text that is cut or broken, those up to there;
    what was open there reaches to the end of the text."""
    found: list[Node] = []
    stack: list[_Open] = []
    at = 0
    while (match := _TOKEN.match(text, at)) is not None:
        group, decoded = match.lastindex or 0, None
        start, end = match.start(group), match.end()
        if group == _ESCAPED:
            decoded, end = jsontext.string(text, end)
            if end < 0:
                break
        at = end
        top = stack[-1] if stack else None
        sign = text[start] if group == _SIGN else ""
        if not sign:
            if group in (_STRING, _ESCAPED) and top is not None and top.node.kind == "map" and top.key is None:
                top.key = text[start + 1 : end - 1] if group == _STRING else decoded or ""
            else:
                kind = "string" if group in (_STRING, _ESCAPED) else "scalar"
                found.append(Node(_path(top), kind, start, end, decoded=decoded))
                if not stack:
                    break
        elif sign in "{[":
            node = Node(_path(top), "map" if sign == "{" else "list", start, len(text), cut=True)
            found.append(node)
            stack.append(_Open(node))
        elif sign in "}]":
            if top is None or top.node.kind != _CLOSED[sign]:
                break
            top.node.end, top.node.cut = at, False
            stack.pop()
            if not stack:
                break
        elif top is not None and sign == ",":
            top.index, top.key = top.index + 1, None
    rest = len(text) - len(text[at:].lstrip())
    if rest < len(text):
        where = _path(stack[-1]) if stack else (BEHIND,)
        kind = "string" if stack and _CUT.fullmatch(text, rest) else "broken"
        found.append(Node(where, kind, rest, len(text), cut=True))
    return found


def _path(above: _Open | None) -> Path:
    if above is None:
        return ()
    return (*above.node.path, (above.key or "") if above.node.kind == "map" else str(above.index))


class Scalar(str):
    """A number, true, false or null of a JSON text, as it is written there."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """An object, an array or what is broken in a JSON text."""

    text: str
    node: Node

    @property
    def written(self) -> str:
        return self.text[self.node.start : self.node.end]


Content: TypeAlias = "Value | Piece"
Decide: TypeAlias = Callable[[Path, Content, int], "str | None"]
"""Says what replaces a place, None where it stays; the last argument counts the layers of JSON text around it. It is
asked for containers and then, where they stay, for what is in them; scalars of JSON text come in their written form."""


Matters: TypeAlias = Callable[[Path], bool]
"""Tells whether anything may be replaced at a place or in it."""


def rewrite(
    value: Value,
    path: Path,
    decide: Decide,
    known: dict[str, list[Node]] | None = None,
    matters: Matters | None = None,
) -> Value:
    """Return a value with places replaced, equal to the value itself where none is. `known` remembers what its texts
    are made of, for one who goes through them again. `decide` is not asked about what does not matter."""
    if matters is not None and not matters(path):
        return value
    new = decide(path, value, 0)
    if new is not None:
        return new.encode() if isinstance(value, bytes) else new
    if isinstance(value, Mapping):
        return {key: rewrite(item, (*path, key), decide, known, matters) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(rewrite(item, (*path, str(place)), decide, known, matters) for place, item in enumerate(value))
    if isinstance(value, str):
        return apply(value, edits(value, path, decide, 1, known, matters))
    if isinstance(value, bytes) and value.lstrip()[:1] in (b"{", b"["):
        try:
            text = value.decode()
        except UnicodeDecodeError:
            return value
        return apply(text, edits(text, path, decide, 1, known, matters)).encode()
    return value


def edits(
    text: str,
    path: Path,
    decide: Decide,
    depth: int,
    known: dict[str, list[Node]] | None = None,
    matters: Matters | None = None,
) -> list[Edit]:
    """Return the edits that replace places in a JSON text; none where it is no object or array."""
    if depth > _DEEPEST or text.lstrip()[:1] not in ("{", "["):
        return []
    out: list[Edit] = []
    done = 0
    found = None if known is None else known.get(text)
    if found is None:
        found = nodes(text)
        if known is not None:
            known[text] = found
    for node in found:
        if node.start < done or not node.path:
            continue
        where = (*path, *node.path)
        if matters is not None and not matters(where):
            continue
        content = _content(text, node)
        new = decide(where, content, depth)
        if new is not None:
            out.append(Edit(node.start, node.end, json.dumps(new, ensure_ascii=False), ()))
            done = node.end
        elif node.kind == "string" and isinstance(content, str) and not node.cut:
            inner = edits(content, where, decide, depth + 1, known, matters)
            if inner:
                out += _outwards(text, node, inner)
    return out


def is_document(text: str) -> bool:
    """Tell whether a text is a JSON object or array from its start to its end, whole or cut."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    found = nodes(text)
    return bool(found) and found[0].end >= len(text.rstrip()) and not any(node.kind == "broken" for node in found)


def _outwards(text: str, node: Node, inner: list[Edit]) -> list[Edit]:
    """Return the edits of a decoded string as edits of the text that it is written in."""
    offsets = jsontext.Offsets(text, node.start + 1, node.end - 1)
    return [Edit(offsets.written(edit.start), offsets.written(edit.end), json_escaped(edit.text), ()) for edit in inner]


def _content(text: str, node: Node) -> Content:
    if node.kind in ("map", "list", "broken"):
        return Piece(text, node)
    if node.kind == "scalar":
        return Scalar(text[node.start : node.end])
    if node.cut:
        return text[node.start : node.end].removeprefix('"')
    if node.decoded is None:
        node.decoded = jsontext.decode(text, node.start + 1, node.end - 1)
    return node.decoded
