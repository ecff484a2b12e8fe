"""Secrets go before anything leaves the agent's process, by the rules that the collector has too."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from opentelemetry.util.types import AttributeValue

from runreel.canonical import document_in, dumps
from runreel.record.convert import plain, thaw
from runreel.semconv.secret_lists import list_values, starts_list
from runreel.semconv.secret_names import sensitive_key
from runreel.semconv.secrets import MARKS, strip_secrets
from runreel.values import Value


def without_secrets(value: Value) -> Value:
    """Return the value with every secret replaced by `<SECRET:rule>`: known by its form, or by the name above it."""
    if isinstance(value, str):
        return _stripped(value)
    if isinstance(value, bytes):
        return _stripped_bytes(value)
    if isinstance(value, tuple):
        return _stripped_list(value)
    if isinstance(value, Mapping):
        return _stripped_map(value, _under)
    return value


def _stripped(text: str) -> str:
    """Return a text without secrets. An agent sends its history again with every model call: long texts without any are
    told by their hashes from then on."""
    if len(text) < _LONG:
        return strip_secrets(text)
    key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    if key in _clean:
        return text
    stripped = strip_secrets(text)
    if stripped == text:
        if len(_clean) >= _MOST_CLEAN:
            _clean.clear()
        _clean[key] = None
    return stripped


_LONG = 64
_MOST_CLEAN = 20_000
_clean: dict[bytes, None] = {}


def _stripped_list(items: tuple[Value, ...]) -> Value:
    """Return a list without secrets, those included that the texts before them announce: `--password`, then `x`."""
    words = [item if isinstance(item, str) else "" for item in items]
    out = [without_secrets(item) for item in items]
    if any(starts_list(word) for word in words):
        for place, start, end, rule in list_values(words, in_list=len(words) == 2):
            if out[place] == items[place] and not MARKS.fullmatch(words[place][start:end]):
                out[place] = f"{words[place][:start]}<SECRET:{rule}>{words[place][end:]}"
    return tuple(out)


def _stripped_bytes(value: bytes) -> bytes:
    try:
        return strip_secrets(value.decode()).encode()
    except UnicodeDecodeError:  # no text
        return value


def _stripped_map(value: Mapping[str, Value], strip: Callable[[str, Value], Value]) -> Value:
    out: dict[str, Value] = {}
    for key, item in value.items():
        clean = unique = strip_secrets(key)
        number = 2
        while unique in out:  # two secrets of one kind were two entries
            unique, number = f"{clean}#{number}", number + 1
        out[unique] = strip(key, item)
    return out


def _under(name: str, value: Value) -> Value:
    """Return a value without secrets; under a telling name nothing in it stays but its structure."""
    rule = sensitive_key(name)
    if rule is None or (isinstance(value, Mapping) and value.get("type") in _SCHEMA_TYPES):
        return without_secrets(value)
    return _covered(value, rule)


def _covered(value: Value, rule: str) -> Value:
    if isinstance(value, tuple):
        return tuple(_covered(item, rule) for item in value)
    if isinstance(value, Mapping):
        return _stripped_map(value, lambda _, item: _covered(item, rule))
    if value is None or isinstance(value, bool) or value in ("", b""):
        return value
    if isinstance(value, str):
        clean = strip_secrets(value)
        return clean if clean != value or MARKS.fullmatch(value) else f"<SECRET:{rule}>"
    return f"<SECRET:{rule}>".encode() if isinstance(value, bytes) else f"<SECRET:{rule}>"


# A map that describes a secret (`{"type": "string"}`) holds none.
_SCHEMA_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})


def command_line(arguments: Sequence[str]) -> list[str]:
    """Return a command line without its secrets: an option's name announces the argument after it."""
    announced = ["", *(argument if argument.startswith("-") else "" for argument in arguments)]
    pairs = zip(announced, arguments, strict=False)
    return [str(_under(option, argument)) if option else strip_secrets(argument) for option, argument in pairs]


def attribute(name: str, value: AttributeValue) -> AttributeValue:
    """Return a span's attribute, of any instrumentation, without secrets; JSON in a text keeps its structure."""
    if isinstance(value, str):
        found = _under(name, document_in(value))
        if isinstance(found, str):
            return found
        return value if found == document_in(value) else dumps(found)
    if isinstance(value, Sequence | Mapping):
        items = plain(value)
        cleaned = _under(name, items)
        return value if cleaned == items else cast("AttributeValue", thaw(cleaned))
    return value


def to_json(value: Value) -> str:
    """Return the value without its secrets as typed JSON text."""
    return dumps(without_secrets(value))
