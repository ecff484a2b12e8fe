"""Holds values that a class keeps while everything around them is redacted, and puts them back afterwards."""

import re
import secrets
from collections.abc import Mapping
from typing import NamedTuple, TypeVar, cast

from runreel.processors.redact.edits import json_escaped
from runreel.values import Value

V = TypeVar("V", bound=Value)

_LETTERS = "abcdefghijklmnopqrst"
_MARK = re.compile(r"(\\*\")?(<WITHHELD:keep_[a-z]{24}>)(\\*\")?")


class _Value(NamedTuple):
    """A kept value: itself where it is no text, else as it is written where it stood. `scalar`: no quotes there."""

    value: Value
    written: str
    scalar: bool


class Kept:
    """The kept values of one batch. Marks stand in their places meanwhile; no sender can guess one."""

    def __init__(self) -> None:
        self.values: dict[str, _Value] = {}
        self._nonce = "".join(secrets.choice(_LETTERS) for _ in range(16))

    def mark(self, value: Value, depth: int, *, scalar: bool = False) -> str:
        """Return the mark of a value that stands inside `depth` layers of JSON text; `scalar`: without quotes there."""
        number, name = len(self.values), ""
        for _ in range(8):
            number, digit = divmod(number, len(_LETTERS))
            name += _LETTERS[digit]
        mark = f"<WITHHELD:keep_{self._nonce}{name}>"
        written = value if isinstance(value, str) else ""
        for _ in range(depth):
            written = json_escaped(written)
        self.values[mark] = _Value(value if not isinstance(value, str) else None, written, scalar)
        return mark

    def put_back(self, value: V) -> V:
        """Return a value with what was kept in the places of its marks."""
        return cast("V", self._put_back(value))

    def _put_back(self, value: Value) -> Value:
        if isinstance(value, str):
            if "<WITHHELD:keep_" not in value:
                return value
            whole = self.values.get(value)
            if whole is not None and whole.value is not None:
                return whole.value
            return _MARK.sub(self._written, value)
        if isinstance(value, bytes):
            if b"<WITHHELD:keep_" not in value:
                return value
            back = self._put_back(value.decode())
            return back if isinstance(back, bytes) else str(back).encode()
        if isinstance(value, tuple):
            return tuple(self._put_back(item) for item in value)
        if isinstance(value, Mapping):
            return {key: self._put_back(item) for key, item in value.items()}
        return value

    def _written(self, match: "re.Match[str]") -> str:
        before, mark, after = match.groups("")
        kept = self.values.get(mark)
        if kept is None:
            return match[0]
        return kept.written if kept.scalar else f"{before}{kept.written}{after}"
