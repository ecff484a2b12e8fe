"""Helpers for tests about redaction: one redactor for all of them, and every text that a batch holds."""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from runreel.processors.redact import Redactor, RedactSettings, TenantKey

KEY = TenantKey("", b"0123456789abcdef0123456789abcdef")
"""A key without an id, so that records are not marked with it."""


@lru_cache(maxsize=8)
def redactor(**settings: Any) -> Redactor:
    """Return a redactor; building one takes two seconds, so tests share them."""
    hyperscan = settings.pop("hyperscan", None)
    return Redactor(KEY, RedactSettings(**settings), hyperscan=hyperscan)


def redact(text: str) -> str:
    """Return a text as the default redactor leaves it."""
    return redactor().text(text)


def texts(value: Any) -> Iterator[str]:
    """Yield every string in a value, at every depth: fields, keys, values, bytes that are text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode(errors="replace")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(key)
            yield from texts(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from texts(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from texts(getattr(value, field.name))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)


def opened(text: str, depth: int = 0) -> Iterator[str]:
    """Yield a text and whatever it decodes to: JSON at any depth, base64."""
    yield text
    if depth > 6:
        return
    if text.lstrip()[:1] in ("{", "[", '"'):
        try:
            value = json.loads(text)
        except ValueError:
            pass  # a text that only starts like JSON; it was yielded as it is
        else:
            for item in texts(value):
                yield from opened(item, depth + 1)
    for word in text.replace(",", " ").replace('"', " ").split():
        if len(word) >= 16 and len(word) % 4 == 0:
            try:
                plain = base64.b64decode(word, validate=True).decode()
            except ValueError:
                continue  # no base64, or no text in it
            yield from opened(plain, depth + 1)
