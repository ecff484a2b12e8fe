"""The typed text of a value (exact) and its canonical form (what hashes and equality are made of).

Both are JSON with four typed objects for what JSON lacks: `{"$float": "NaN"}` (also Infinity, -Infinity, and in the
canonical form -0.0), `{"$bytes": "<base64>"}`, `{"$text": "<text>"}` with lone surrogates as `\\udXXX` and backslashes
doubled, and `{"$map": [[key, value], ...]}` for a map that would read as one of the four, or whose keys hold lone
surrogates. The canonical form, scheme `rr-json-1`, also sorts keys by code point and writes numbers that are whole as
integers, so that 1.0 equals 1; it keeps true, 1 and "1" apart, and never rounds an integer. Text is not normalised.
"""

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from runreel.values import Ref, Value

SCHEME = "rr-json-1"

MAX_NESTING = 128
"""Lists and maps inside each other in a JSON text. Deeper text stays text: every walk over a value is recursive."""

_TYPED = {"$float", "$bytes", "$text", "$map"}
_LOOKS_TYPED = '{"$'  # quotes inside strings are escaped, so in JSON text this is an object's start
_ESCAPED = re.compile(r"\\(\\|u[0-9a-f]{4})")

# How the encoder ends a float that is whole: 3.0, 1e+16. In a string it may stand as well; then care costs time alone.
_WHOLE_FLOAT = re.compile(rb"[0-9](?:\.0|e\+[0-9]+)(?![0-9.e])")

_SHORT_CHARS = 256  # below it one call of the encoder is cheapest
_RARE = bytes(sorted({*range(0x20)} - {*b"\n\r\t"}))


def _encoder(*, sort_keys: bool) -> Callable[[Any], str]:
    """Return what JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode does. That makes its
    C part anew at every call: a span has four texts, so it is kept. It looks for no circles: values have none."""
    write = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
        None, _no_value, json.encoder.encode_basestring, None, ":", ",", sort_keys, False, False
    )
    return lambda value: "".join(write(value, 0))


def _no_value(obj: object) -> NoReturn:
    raise TypeError(f"{type(obj).__name__} has no place in JSON")


_plain = _encoder(sort_keys=False)
_sorted = _encoder(sort_keys=True)


def dumps(value: Value) -> str:
    """Write a value as typed text: exact, key order kept, 1 and 1.0 and -0.0 apart, and always encodable as UTF-8."""
    if isinstance(value, str) and len(value) > _SHORT_CHARS and is_encodable(value):
        return f'"{escape_text(value).decode()}"'
    try:
        text = _plain(value)
    except (TypeError, ValueError):  # bytes; NaN or an infinity
        return _plain(_typed(value, _exact_float))
    if _LOOKS_TYPED not in text and is_encodable(text):
        return text
    return _plain(_typed(value, _exact_float))


def loads(text: str) -> Value:
    """Read typed text: the inverse of `dumps`. Raises ValueError for anything that `dumps` does not write."""
    return _untyped(json.loads(text, parse_constant=_no_constant))


def canonical(value: Value) -> bytes:
    """Write a value in canonical form: equal bytes for values equal up to key order and 1.0 = 1, and for no others."""
    if isinstance(value, str) and is_encodable(value):
        return b'"%b"' % escape_text(value)
    if not isinstance(value, float) and (data := _sorted_plainly(value)) is not None:
        return data
    return _sorted(_typed(value, _canonical_float)).encode()


def _sorted_plainly(value: Value) -> bytes | None:
    """Return the canonical form as the encoder alone writes it; None where something in it may need a typed object, or
    a float another spelling."""
    try:
        data = _sorted(value).encode()
    except (TypeError, ValueError):  # bytes; NaN or an infinity; a lone surrogate
        return None
    if _LOOKS_TYPED.encode() in data:
        return None
    if (b".0" in data or b"e+" in data) and _WHOLE_FLOAT.search(data):
        return None
    return data


def make_ref(value: Value) -> Ref:
    """Return the ref of a whole value: SHA-256 and size of its canonical form."""
    data = canonical(value)
    return Ref(hashlib.sha256(data).hexdigest(), len(data), "whole")


def exact_ref(value: Value) -> Ref:
    """Return the address of a value with its types and key order: SHA-256 and size of its typed text.

    It equals `make_ref` where the typed text is canonical already, as that of any string is.
    """
    text = isinstance(value, str) and is_encodable(value)
    data = canonical(value) if text else dumps(value).encode()
    return Ref(hashlib.sha256(data).hexdigest(), len(data), "whole")


def escape_text(text: str) -> bytes:
    """Return a text, free of lone surrogates, as it stands between the quotes of a canonical string."""
    data = text.encode()
    if len(data) <= _SHORT_CHARS or len(data.translate(None, _RARE)) != len(data):
        return _plain(text)[1:-1].encode()
    # The encoder goes character by character. Most long texts need no more than this, which is thrice as quick.
    data = data.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return data.replace(b"\n", b"\\n").replace(b"\r", b"\\r").replace(b"\t", b"\\t")


def is_encodable(text: str) -> bool:
    """Say whether a string is free of lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def freeze(obj: object) -> Value:
    """Copy a Python object into a value: lists become tuples, at every depth. Raises TypeError for what is no value."""
    if obj is None or isinstance(obj, bool):
        return obj
    if isinstance(obj, str):
        return obj if type(obj) is str else str.__str__(obj)  # a StrEnum's text, not its name
    if isinstance(obj, int):
        return int(obj)
    if isinstance(obj, float):
        return float(obj)
    if isinstance(obj, (bytes, bytearray, memoryview)):
        return bytes(obj)
    if isinstance(obj, (list, tuple)):
        return tuple([freeze(item) for item in obj])
    if isinstance(obj, Mapping):
        return {_frozen_key(key): freeze(item) for key, item in obj.items()}
    raise TypeError(f"{type(obj).__name__} is no value: a string, number, bool, None, bytes, list or map is wanted")


def parse_json(text: str) -> Value:
    """Parse strict JSON; arrays become tuples.

    Raises ValueError for NaN and Infinity, numbers too large for a float, repeated keys, text behind the document, and
    nesting deeper than MAX_NESTING.
    """
    try:
        document = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
        return _tuples(document, 0)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def document_in(text: str) -> Value:
    """Return the object or array that a text is as JSON (see `parse_json`); the text itself where it is none."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return text


def _frozen_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a map's key is {type(key).__name__}: a string is wanted")
    return key if type(key) is str else str.__str__(key)


def _typed(value: Value, write_float: Callable[[float], Any]) -> Any:
    """Turn a value into what the JSON encoder writes: the typed objects put in."""
    if isinstance(value, str):
        return value if is_encodable(value) else {"$text": _escape(value)}
    if isinstance(value, float):
        return write_float(value)
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, tuple):
        return [_typed(item, write_float) for item in value]
    if isinstance(value, Mapping):
        return _typed_map(value, write_float)
    return value


def _typed_map(value: Mapping[str, Value], write_float: Callable[[float], Any]) -> Any:
    ambiguous = len(value) == 1 and next(iter(value)) in _TYPED
    if not ambiguous and all(map(is_encodable, value)):
        return {key: _typed(item, write_float) for key, item in value.items()}
    pairs = sorted(value.items()) if write_float is _canonical_float and len(value) > 1 else value.items()
    return {"$map": [[_typed(key, write_float), _typed(item, write_float)] for key, item in pairs]}


def _exact_float(value: float) -> Any:
    return value if math.isfinite(value) else {"$float": _special(value)}


def _canonical_float(value: float) -> Any:
    if not math.isfinite(value):
        return {"$float": _special(value)}
    if not value.is_integer():
        return value
    return {"$float": "-0.0"} if value == 0 and math.copysign(1, value) < 0 else int(value)


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").encode(errors="backslashreplace").decode()


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: "\\" if match[1] == "\\" else chr(int(match[1][1:], 16)), text)


def _untyped(document: Any) -> Value:
    if isinstance(document, list):
        return tuple([_untyped(item) for item in document])
    if not isinstance(document, dict):
        return document  # type: ignore[no-any-return]  # a scalar
    if len(document) == 1:
        ((name, content),) = document.items()
        if name in _TYPED:
            return _read_typed(name, content)
    return {key: _untyped(item) for key, item in document.items()}


def _read_typed(name: str, content: Any) -> Value:
    try:
        if name == "$float":
            return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0.0": -0.0}[content]
        if name == "$bytes":
            return base64.b64decode(content, validate=True)
        if name == "$text":
            return _unescape(content)
        return {_text_key(_untyped(key)): _untyped(item) for key, item in content}
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"not typed text: a {name} that nothing writes") from None


def _text_key(key: Value) -> str:
    if not isinstance(key, str):
        raise TypeError("a key is no string")
    return key


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number is too large")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a key is repeated")
    return out


def _tuples(document: Any, depth: int) -> Value:
    if isinstance(document, list):
        _check(depth)
        return tuple([_tuples(item, depth + 1) for item in document])
    if isinstance(document, dict):
        _check(depth)
        return {key: _tuples(item, depth + 1) for key, item in document.items()}
    return document  # type: ignore[no-any-return]  # a scalar


def _check(depth: int) -> None:
    if depth >= MAX_NESTING:
        raise ValueError(f"nested more than {MAX_NESTING} deep")
