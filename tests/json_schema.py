"""As much of JSON Schema as our own schema uses, so that a document can be held to it."""

import re
from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": int | float,
}
_KNOWN = {"$schema", "$defs", "$ref", "title", "description", "format", "type", "properties", "required", "items"} | {
    "anyOf",
    "enum",
    "const",
    "pattern",
    "minimum",
    "minItems",
    "maxItems",
}


def errors(schema: dict[str, Any], value: Any, root: dict[str, Any] | None = None, at: str = "") -> Iterator[str]:
    """Yield what of a document breaks its schema, with the place. A word that is not known here is an error too."""
    root = root or schema
    assert set(schema) <= _KNOWN, set(schema) - _KNOWN
    if "$ref" in schema:
        yield from errors(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], value, root, at)
        return
    if "anyOf" in schema and not any(not list(errors(one, value, root, at)) for one in schema["anyOf"]):
        yield f"{at}: fits none of them"
    if "type" in schema and not _is(value, schema["type"]):
        yield f"{at}: {type(value).__name__} is no {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{at}: not {schema['const']}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{at}: does not match"
    if "minimum" in schema and isinstance(value, int) and value < schema["minimum"]:
        yield f"{at}: below {schema['minimum']}"
    if isinstance(value, dict):
        yield from (f"{at}/{name}: is missing" for name in schema.get("required", ()) if name not in value)
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                yield from errors(inner, value[name], root, f"{at}/{name}")
    if isinstance(value, list) and not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield f"{at}: {len(value)} items"
    if isinstance(value, list) and not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield f"{at}: {len(value)} items"
    if isinstance(value, list) and "items" in schema:
        for place, item in enumerate(value):
            yield from errors(schema["items"], item, root, f"{at}/{place}")


def _is(value: Any, types: Any) -> bool:
    names = [types] if isinstance(types, str) else types
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, _TYPES[name]) for name in names)
