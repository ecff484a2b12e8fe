"""A recorded result, turned into what a plain function used to return."""

import ast
import json
import types
import typing
from typing import Any

from runreel.canonical import freeze
from runreel.record.convert import restore, thaw
from runreel.values import Value

_LITERALS = (dict, list, tuple, set, frozenset, int, float, bool)


def revive(value: Value, annotation: object = None) -> Any:
    """Return a recorded result as its function returned it.

    Text is parsed as JSON, unless the function says that it returns text; what is not JSON stays text. The return
    annotation, where there is one, brings back tuples, sets, dataclasses, enums and pydantic models.
    """
    if not isinstance(value, str):
        return restore(value, annotation)
    kinds = _members(annotation)
    if str in kinds:
        return None if value == "null" and type(None) in kinds else value
    try:
        return _typed(json.loads(value), annotation)
    except ValueError:
        return _literal(value, annotation)


def _typed(value: Any, annotation: object) -> Any:
    frozen = freeze(value)
    return thaw(frozen) if annotation is None else restore(frozen, annotation)


def _members(annotation: object) -> tuple[object, ...]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)
    return typing.get_args(annotation)[:1] if typing.get_origin(annotation) is typing.Annotated else (annotation,)


def _literal(text: str, annotation: object) -> Any:
    """Read Python's own notation (agents that record `str(result)`) where the annotation says that it was no text."""
    if not any((typing.get_origin(kind) or kind) in _LITERALS for kind in _members(annotation)):
        return text
    try:
        return _typed(ast.literal_eval(text), annotation)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
