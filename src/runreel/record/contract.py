"""Contracts of tools: arguments are admitted, coerced or rejected, by a pydantic model or a JSON Schema.

The schema's dialect is the one that tools are described in; a keyword that is not known here is an error where the
tool is made, so that nothing is silently not checked. pydantic is used only where a model of it is given.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from runreel.record.convert import UnrecordableError, plain

Decision = Literal["admit", "coerce", "reject"]

_MOST_REASONS: Final = 5


class ContractError(ValueError):
    """A tool's contract rejects a call: the tool was not run. The text names fields and rules, never a value."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a contract says of one call. `arguments` are those to execute with."""

    decision: Decision
    contract: str
    arguments: Mapping[str, Any] = field(repr=False)
    reason: str = ""


class Contract(Protocol):
    """Judges the arguments of a call, by parameter."""

    def judge(self, arguments: Mapping[str, Any]) -> Judged: ...


def contract(given: Any) -> Contract:
    """Return the contract that a pydantic model class or a JSON Schema (a map) is.

    Raises TypeError for anything else, ValueError for a schema with a keyword that is not known here.
    """
    if isinstance(given, Mapping):
        _require_known(given, "")
        return _Schema(given)
    if isinstance(given, type) and hasattr(given, "model_validate"):
        return _Model(given)
    raise TypeError(f"a contract is a pydantic model or a JSON Schema, not {type(given).__name__}")


@dataclass(frozen=True, slots=True)
class _Model:
    model: Any

    def judge(self, arguments: Mapping[str, Any]) -> Judged:
        name = f"{self.model.__module__}.{self.model.__qualname__}"
        try:
            made = self.model.model_validate(dict(arguments))
        except Exception as error:  # noqa: BLE001  pydantic's own, or a validator's: what cannot be checked is not run
            return Judged("reject", name, arguments, _reasons(error))
        by_alias = {one.alias or key: key for key, one in type(made).model_fields.items()}
        executed = {key: getattr(made, by_alias.get(key, key), value) for key, value in arguments.items()}
        return Judged("admit" if _same(arguments, executed) else "coerce", name, executed)


def _same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    try:
        return repr(plain(before)) == repr(plain(after))  # 1, 1.0 and True are equal, and not the same
    except UnrecordableError:
        return False


def _reasons(error: Exception) -> str:
    """Name the fields and the rules they break. A validator's own message may quote the value: only its type is."""
    listed = getattr(error, "errors", None)
    if not callable(listed):
        return type(error).__name__
    found = [f"/{'/'.join(map(str, one['loc']))}: {one['type']}" for one in listed(include_input=False)]
    return "; ".join(found[:_MOST_REASONS])


# --- JSON Schema ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Schema:
    schema: Mapping[str, Any]

    def judge(self, arguments: Mapping[str, Any]) -> Judged:
        name = str(self.schema.get("$id") or self.schema.get("title") or "json schema")
        problems: list[str] = []
        executed = _fit(dict(arguments), {"type": "object", **self.schema}, "", problems)
        if problems:
            return Judged("reject", name, arguments, "; ".join(problems[:_MOST_REASONS]))
        return Judged("admit" if _same(arguments, executed) else "coerce", name, executed)


_SAYS_NOTHING: Final = frozenset({"$schema", "$id", "title", "description", "default", "examples", "format", "strict"})
_BELOW: Final = frozenset({"properties", "items", "anyOf", "additionalProperties"})
_LIMITS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "enum": lambda value, allowed: any(_equal(value, one) for one in allowed),
    "const": lambda value, only: _equal(value, only),  # noqa: PLW0108  it is defined below
    "minimum": lambda value, least: not _is_number(value) or value >= least,
    "maximum": lambda value, most: not _is_number(value) or value <= most,
    "exclusiveMinimum": lambda value, least: not _is_number(value) or value > least,
    "exclusiveMaximum": lambda value, most: not _is_number(value) or value < most,
    "minLength": lambda value, least: not isinstance(value, str) or len(value) >= least,
    "maxLength": lambda value, most: not isinstance(value, str) or len(value) <= most,
    "pattern": lambda value, pattern: not isinstance(value, str) or re.search(pattern, value) is not None,
    "minItems": lambda value, least: not isinstance(value, list | tuple) or len(value) >= least,
    "maxItems": lambda value, most: not isinstance(value, list | tuple) or len(value) <= most,
}
_KNOWN: Final = _SAYS_NOTHING | _BELOW | _LIMITS.keys() | {"type", "required"}


def _require_known(schema: Any, path: str) -> None:
    if not isinstance(schema, Mapping):
        raise ValueError(f"a JSON Schema is a map, not {type(schema).__name__}, at {path or '/'}")
    unknown = sorted(set(schema) - _KNOWN)
    if unknown:
        raise ValueError(f"{', '.join(unknown)} at {path or '/'} cannot be checked here: give a pydantic model instead")
    kinds = schema.get("type", ())
    for kind in (kinds,) if isinstance(kinds, str) else kinds:
        if kind not in ("integer", "number", *_TYPES):
            raise ValueError(f"{kind!r} at {path or '/'} is no type of JSON Schema")
    for name, inner in schema.get("properties", {}).items():
        _require_known(inner, f"{path}/properties/{name}")
    for number, inner in enumerate(schema.get("anyOf", ())):
        _require_known(inner, f"{path}/anyOf/{number}")
    for name in ("items", "additionalProperties"):
        if not isinstance(schema.get(name, True), bool):
            _require_known(schema[name], f"{path}/{name}")


def _fit(value: Any, schema: Mapping[str, Any], path: str, problems: list[str]) -> Any:
    """Return a value as the schema wants it; append what it breaks, by path and keyword."""
    if "anyOf" in schema:
        value = _fit_any(value, schema["anyOf"], path, problems)
    wanted = schema.get("type")
    if wanted is not None:
        kinds = [wanted] if isinstance(wanted, str) else list(wanted)
        fitting = next((kind for kind in kinds if _is(value, kind)), None)
        coerced = value if fitting else next((made for kind in kinds for made in _coerced(value, kind)), _NONE)
        if coerced is _NONE:
            problems.append(f"{path or '/'}: type")
            return value
        value = coerced
    for name, holds in _LIMITS.items():
        if name in schema and not holds(value, schema[name]):
            problems.append(f"{path or '/'}: {name}")
    if isinstance(value, Mapping):
        return _fit_map(value, schema, path, problems)
    items = schema.get("items")
    if isinstance(value, list | tuple) and isinstance(items, Mapping):
        return [_fit(item, items, f"{path}/{number}", problems) for number, item in enumerate(value)]
    return value


def _fit_any(value: Any, options: list[Mapping[str, Any]], path: str, problems: list[str]) -> Any:
    """Fit the first option that takes the value as it is, else the first that takes it coerced."""
    coerced = []
    for option in options:
        found: list[str] = []
        made = _fit(value, option, path, found)
        if not found and _equal(made, value):
            return made
        if not found:
            coerced.append(made)
    if coerced:
        return coerced[0]
    problems.append(f"{path or '/'}: anyOf")
    return value


def _fit_map(value: Mapping[str, Any], schema: Mapping[str, Any], path: str, problems: list[str]) -> dict[str, Any]:
    known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    problems += [f"{path}/{name}: required" for name in schema.get("required", ()) if name not in value]
    out: dict[str, Any] = {}
    for name, item in value.items():
        if name not in known and rest is False:
            problems.append(f"{path}/{name}: additionalProperties")
        inner = known.get(name, rest if isinstance(rest, Mapping) else {})
        out[name] = _fit(item, inner, f"{path}/{name}", problems)
    return out


_NONE: Final = object()
_TYPES: Final[Mapping[str, Any]] = {
    "string": str,
    "boolean": bool,
    "array": list | tuple,
    "object": Mapping,
    "null": type(None),
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _is(value: Any, kind: str) -> bool:
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return _is_number(value)
    return isinstance(value, _TYPES[kind])


def _coerced(value: Any, kind: str) -> tuple[Any, ...]:
    """Return what a value means as another type, where that is beyond doubt: models write 3 as "3" and as 3.0."""
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return (int(value),)
    if not isinstance(value, str):
        return ()
    if kind == "integer" and re.fullmatch(r"[+-]?\d{1,18}", value):
        return (int(value),)
    if kind == "number" and re.fullmatch(r"[+-]?\d+(\.\d*)?([eE][+-]?\d{1,3})?", value) and math.isfinite(float(value)):
        return (float(value),)
    return ({"true": True, "false": False}[value],) if kind == "boolean" and value in ("true", "false") else ()
