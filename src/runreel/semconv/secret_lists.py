"""Secrets in lists of texts, and in maps that hold a name under one key and the value under another.

`["--password", "x"]`, `["mysql", "-px"]`, `[["x-api-key", "x"]]`, `{"name": "X-Api-Key", "value": "x"}`.
"""

import re
from collections.abc import Iterator, Sequence

from runreel.semconv.secret_commands import argument_values, is_command, is_option
from runreel.semconv.secret_names import sensitive_word
from runreel.semconv.secret_values import looks_random

NAME_KEYS = frozenset({"name", "key", "header", "field", "variable", "k", "Name", "Key", "Header"})
VALUE_KEYS = frozenset({"value", "values", "val", "v", "Value", "Values", "stringValue", "rawValue", "defaultValue"})
NAME_LISTS = frozenset({"required", "enum", "scopes", "columns", "fields", "scope", "headers_allowed"})
"""Lists under these keys are of names, and hold no value."""

_LONGEST_NAME = 64
_DIGIT_OR_SIGN = re.compile(r"\d|[^\w.\- :]")


def starts_list(text: str) -> bool:
    """Tell cheaply whether a text in a list may announce that a secret stands behind it."""
    if len(text) > _LONGEST_NAME or not text:
        return False
    return (
        (text[0] == "-" and is_option(text))
        or is_command(text)
        or (text[-1].isalnum() and sensitive_word(text) is not None)
    )


def list_values(items: Sequence[str], *, in_list: bool = False) -> Iterator[tuple[int, int, int, str]]:
    """Yield (number of the item, start, end, rule) of the secrets that items before them announce.

    `in_list`: the list is one of several in a list, as headers are written.
    """
    yield from argument_values(items)
    for number, name in enumerate(items[:-1]):
        rule = sensitive_word(name) if name[:1] != "-" and len(name) <= _LONGEST_NAME and " " not in name else None
        if rule is None:
            continue
        value = items[number + 1]
        paired = in_list and len(items) == 2
        if value and (paired or _is_value(value)):
            yield number + 1, 0, len(value), rule


def _is_value(value: str) -> bool:
    if sensitive_word(value) is not None:
        return False
    return " " in value or (len(value) >= 8 and looks_random(value) and _DIGIT_OR_SIGN.search(value) is not None)
