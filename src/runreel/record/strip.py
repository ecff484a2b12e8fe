"""Secrets go before anything leaves the agent's process, by the rules that the collector has too."""

from collections.abc import Mapping, Sequence

from runreel.canonical import dumps
from runreel.semconv.secret_names import sensitive_key
from runreel.semconv.secrets import MARKS, strip_secrets
from runreel.values import Value


def without_secrets(value: Value) -> Value:
    """Return the value with every secret replaced by `<SECRET:rule>`: known by its form, or by the name above it."""
    if isinstance(value, str):
        return strip_secrets(value)
    if isinstance(value, tuple):
        return tuple(without_secrets(item) for item in value)
    if isinstance(value, Mapping):
        return {key: _under(key, item) for key, item in value.items()}
    return value


def _under(name: str, value: Value) -> Value:
    clean = without_secrets(value)
    rule = sensitive_key(name)
    if rule is None or not isinstance(value, str) or clean != value or not value or MARKS.fullmatch(value):
        return clean
    return f"<SECRET:{rule}>"


def command_line(arguments: Sequence[str]) -> list[str]:
    """Return a command line without its secrets: an option's name announces the argument after it."""
    announced = ["", *(argument if argument.startswith("-") else "" for argument in arguments)]
    pairs = zip(announced, arguments, strict=False)
    return [str(_under(option, argument)) if option else strip_secrets(argument) for option, argument in pairs]


def to_json(value: Value) -> str:
    """Return the value without its secrets as typed JSON text."""
    return dumps(without_secrets(value))
