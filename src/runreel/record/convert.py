"""Python values to recorded ones and back: what a tool takes and returns is more than JSON has."""

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePath
from typing import Any, Final
from uuid import UUID

from runreel import canonical
from runreel.values import Value

_AS_TEXT: Final = (UUID, Decimal, Fraction, PurePath)


class UnrecordableError(TypeError):
    """A value of a type that has no recorded form. Names the type, never the value."""


def plain(value: object, unknown: Callable[[object], Value] | None = None) -> Value:
    """Return the recorded form of a value: objects become maps, sets sorted tuples, times and ids text.

    `unknown` stands in for what has no recorded form; without it UnrecordableError is raised.
    """
    if value is None or type(value) in (bool, int, float, str, bytes):
        return typing.cast("Value", value)
    if isinstance(value, enum.Enum):
        return plain(value.value, unknown)
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item, unknown) for key, item in value.items()}
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str | float):
        return value[:] if isinstance(value, str) else float(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, AbstractSet):
        return tuple(sorted((plain(item, unknown) for item in value), key=repr))
    if isinstance(value, Sequence):
        return tuple(plain(item, unknown) for item in value)
    return _object(value, unknown)


def _object(value: object, unknown: Callable[[object], Value] | None) -> Value:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name), unknown) for one in dataclasses.fields(value)}
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, _AS_TEXT):
        return str(value)
    dump, to_list = getattr(value, "model_dump", None), getattr(value, "tolist", None)
    if callable(dump) and not isinstance(value, type):  # pydantic
        return plain(dump(by_alias=True, round_trip=True), unknown)
    if callable(to_list):  # numpy, pandas
        return plain(to_list(), unknown)
    if unknown is None:
        raise UnrecordableError(f"{type(value).__module__}.{type(value).__qualname__}")
    return unknown(value)


def thaw(value: Value) -> Any:
    """Return a recorded value as agent code wants it: lists and dicts of its own."""
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    return value


def rebuild(output: Value, extra: Value) -> Value:
    """Return the exact value that a recorded tool or retriever returned.

    `output` is the step's output, `extra` its field `replay` (our own attributes, without prefix). The conventions
    carry results as text and documents in a shape of their own; where that is not what was returned, the recorder says
    so: `result.type` is `json` for text that holds the value, `result.value` holds it beside.
    """
    if not isinstance(extra, Mapping):
        return output
    exact = extra.get("result.value")
    if isinstance(exact, str):
        return canonical.loads(exact)
    if extra.get("result.type") == "json" and isinstance(output, str):
        return canonical.loads(output)
    return output


def restore(value: Value, hint: Any) -> Any:
    """Return a recorded value in the type that a function says it returns; as it is where the type is not known.

    Raises nothing: a value that does not fit the type is returned as it is.
    """
    if isinstance(value, str) and _wants_structure(hint):
        # Recorded by somebody else, as text.
        try:
            value = canonical.parse_json(value)
        except (ValueError, RecursionError):
            return value
    try:
        return _restore(value, hint)
    except Exception:  # noqa: BLE001  constructors of any kind run here; the plain value is the best that is left
        return thaw(value)


def _wants_structure(hint: Any) -> bool:
    origin = typing.get_origin(hint) or hint
    if origin in (typing.Union, types.UnionType):
        return all(_wants_structure(one) for one in typing.get_args(hint) if one is not type(None))
    structured = isinstance(origin, type) and issubclass(origin, Mapping | list | tuple | AbstractSet)
    return structured or dataclasses.is_dataclass(origin) or hasattr(origin, "model_validate")


def _restore(value: Value, hint: Any) -> Any:
    origin, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is typing.Annotated:
        return _restore(value, inner[0])
    if origin in (typing.Union, types.UnionType):
        return _restore_union(value, inner)
    if isinstance(value, tuple):
        return _restore_items(value, origin, inner)
    if not isinstance(origin, type):
        return thaw(value)
    if hasattr(origin, "model_validate"):
        return origin.model_validate(thaw(value))
    if isinstance(value, Mapping):
        return _restore_map(value, origin, inner)
    if issubclass(origin, enum.Enum):
        return origin(value)
    if issubclass(origin, datetime | date | time) and isinstance(value, str):
        return origin.fromisoformat(value)
    if issubclass(origin, timedelta) and isinstance(value, int | float):
        return timedelta(seconds=value)
    if issubclass(origin, _AS_TEXT) and isinstance(value, str):
        return Path(value) if issubclass(origin, PurePath) else origin(value)
    return value


def _restore_union(value: Value, options: tuple[Any, ...]) -> Any:
    if value is None and type(None) in options:
        return None
    rest = [option for option in options if option is not type(None)]
    if len(rest) == 1:
        return _restore(value, rest[0])
    return thaw(value)  # which one it was is not recorded


def _restore_items(value: tuple[Value, ...], origin: Any, inner: tuple[Any, ...]) -> Any:
    fields = getattr(origin, "_fields", None)
    if fields is not None:
        hints = typing.get_type_hints(origin)
        return origin(*(_restore(item, hints.get(name, Any)) for name, item in zip(fields, value, strict=True)))
    if origin is tuple and inner and inner[-1] is not Ellipsis:
        return tuple(_restore(item, hint) for item, hint in zip(value, inner, strict=True))
    items = [_restore(item, inner[0] if inner else Any) for item in value]
    return origin(items) if origin in (tuple, set, frozenset) else items


def _restore_map(value: Mapping[str, Value], origin: type, inner: tuple[Any, ...]) -> Any:
    if dataclasses.is_dataclass(origin):
        hints = typing.get_type_hints(origin)
        made = {one.name: _restore(value[one.name], hints[one.name]) for one in dataclasses.fields(origin) if one.init}
        return origin(**made)
    key_type = inner[0] if len(inner) == 2 else str
    keys = {key: int(key) if key_type is int else key for key in value}
    return {keys[key]: _restore(item, inner[1] if len(inner) == 2 else Any) for key, item in value.items()}
