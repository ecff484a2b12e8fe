"""Tells values from what only stands where a value could: placeholders, names of variables, words of prose."""

import math
import re
from collections import Counter

from runreel.semconv.secret_names import sensitive_word

Span = tuple[int, int, str]
"""Where a secret starts and ends, and the rule that found it."""

PLACEHOLDER = re.compile(
    r"none|null|nil|true|false|undefined|string|str|text|\*+|\.{3}|[xX]{3,}|\$\{?[\w.]+\}?|\$\(.*|\$?\{\{?[^{}]*\}?\}"
    r"|<[^<>]*>|%\(?\w+\)?s?|__redacted__|\[redacted\]"
    r"|(?:your|my|some|insert|enter|replace|put)[-_ ][\w -]*(?:key|token|secret|password|here)",
    re.IGNORECASE,
)
"""The allow-list of what stands for a secret and is none."""

TRAILING = ".,:;!?"
_SIGN = re.compile(r"[^\w.\-]")
# What follows a telling word in help texts and prose.
_WORDS = frozenset(
    [
        "string",
        "text",
        "value",
        "values",
        "file",
        "path",
        "name",
        "stdin",
        "prompt",
        "option",
        "options",
        "argument",
        "arguments",
        "required",
        "optional",
        "is",
        "are",
        "was",
        "and",
        "or",
        "not",
        "with",
        "without",
        "for",
        "from",
        "the",
        "this",
        "that",
        "instead",
        "used",
        "using",
        "into",
        "must",
        "should",
        "will",
        "can",
        "may",
        "when",
        "where",
        "before",
        "after",
        "then",
        "than",
        "has",
        "have",
        "flag",
        "flags",
        "parameter",
        "parameters",
        "field",
        "fields",
        "header",
        "headers",
        "here",
        "there",
        "missing",
        "invalid",
        "expired",
        "default",
        "empty",
        "given",
        "set",
    ]
)


def is_placeholder(value: str) -> bool:
    """Tell whether a value is a stand-in: `<password>`, `$TOKEN`, `YOUR_API_KEY`, or again only a telling name."""
    return bool(PLACEHOLDER.fullmatch(value)) or (
        not any(char.isdigit() for char in value) and len(value) <= 40 and sensitive_word(value) is not None
    )


def is_word(value: str) -> bool:
    """Tell whether a value is a word that help texts and prose have in this place, or a name in capitals."""
    return value.lower() in _WORDS or (value.isupper() and value.replace("_", "").replace("-", "").isalpha())


def looks_random(value: str) -> bool:
    """Tell whether a value has a digit or a sign in it, as passwords have and words have not."""
    if len(value) < 4 or is_placeholder(value):
        return False
    return any(char.isdigit() for char in value) or _SIGN.search(value) is not None


def entropy(value: str) -> float:
    """Return the bits of information per character, judged by how often each stands in the value."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values()) if size else 0.0
