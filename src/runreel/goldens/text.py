"""A reel's members as JSON text that people review: one leaf a line, and back to the same bytes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

_MAP_FIELDS: Final = ("attributes", "key", "resource", "scope")
# How the texts that SDKs write are spelt: with these, JSON inside a text unfolds and folds again byte for byte.
_SPELLINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "json": {"separators": (",", ":"), "ensure_ascii": False},
    "json-spaced": {"ensure_ascii": False},
    "json-ascii": {"separators": (",", ":")},
    "json-spaced-ascii": {},
}


def pretty(document: Any) -> bytes:
    """Write a document as text, indented."""
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "surrogatepass")


def rows(lines: Sequence[str]) -> list[Any]:
    """Return stored rows, one JSON text a line, as documents with sorted names."""
    return [_ordered(json.loads(line)) for line in lines]


def row_line(row: Any) -> str:
    """Return a row's line."""
    return _compact(row)


def payload(line: str) -> dict[str, Any]:
    """Return a stored payload with its skeleton unfolded, where it folds again to the same text."""
    document: dict[str, Any] = json.loads(line)
    skeleton = document.pop("skeleton")
    try:
        value = json.loads(skeleton)
    except ValueError:
        value = None
    if value is None or _compact(value) != skeleton:
        return {**document, "skeleton": skeleton}
    if isinstance(value, str) and (spelling := _spelling(value)):
        return {**document, spelling: json.loads(value)}
    return {**document, "value": value}


def payload_line(document: Mapping[str, Any]) -> str:
    """Return the line of a payload. Raises KeyError where it holds no value, in any form."""
    rest = {name: held for name, held in document.items() if name not in (*_SPELLINGS, "value", "skeleton")}
    spelling = next((name for name in _SPELLINGS if name in document), None)
    if spelling is not None:
        skeleton = _compact(json.dumps(document[spelling], **_SPELLINGS[spelling]))
    else:
        skeleton = document["skeleton"] if "skeleton" in document else _compact(document["value"])
    return _compact({**rest, "skeleton": skeleton})


def _spelling(text: str) -> str:
    """Return how a text that is JSON is spelt; empty where it is none, or spelt in a way of its own."""
    if text[:1] not in ("{", "["):
        return ""
    try:
        value = json.loads(text)
        return next((name for name, how in _SPELLINGS.items() if json.dumps(value, **how) == text), "")
    except (ValueError, RecursionError):
        return ""


def _ordered(row: Any) -> Any:
    """Sort a row's names and those of its maps of attributes. What is inside a value keeps the order it was sent in."""
    if not isinstance(row, dict):
        return row
    return {name: _ordered(row[name]) if name in _MAP_FIELDS else row[name] for name in sorted(row)}


def _compact(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
