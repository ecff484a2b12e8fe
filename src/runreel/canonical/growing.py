"""A memo of texts that grow: an agent sends its history again at every step, and only what is new need be split."""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Self

from runreel.canonical.chunks import Cut
from runreel.canonical.form import escape_text
from runreel.canonical.parts import Parts, template_marker

_KEY_CHARS = 256
_MOST_PER_KEY = 32  # runs of one agent start alike: with its system prompt


@dataclass(frozen=True, slots=True)
class Prefix:
    """The start of a JSON text, up to the end of a heavy literal: its parts, its hash so far, and the skeleton of a
    payload that starts so, as far as that is known."""

    text: str
    parts: Parts
    digest: "hashlib._Hash"
    size: int
    skeleton: Cut

    @classmethod
    def nothing(cls) -> Self:
        """Return the start of every text."""
        return cls("", {}, hashlib.sha256(b'"'), 1, Cut().grown(f'"{template_marker("")}'))

    def grown(self, text: str, template: str, parts: Parts) -> "Prefix":
        """Return the prefix `text`, of which self is a prefix; `template` is that of what was added."""
        digest = self.digest.copy()
        added = escape_text(text[len(self.text) :])
        digest.update(added)
        return Prefix(text, parts, digest, self.size + len(added), self.skeleton.grown(_escaped(template)))

    def close(self, rest: str) -> tuple[str, int]:
        """Return SHA-256 and size of the canonical form of the whole text, which ends with `rest`."""
        end = escape_text(rest) + b'"'
        digest = self.digest.copy()
        digest.update(end)
        return digest.hexdigest(), self.size + len(end)

    def close_skeleton(self, template: str, parts: Parts) -> str:
        """Return the skeleton of the whole text, the template of whose rest is given; add its chunks to the parts."""
        return self.skeleton.closed(f'{_escaped(template)}"', parts)


def _escaped(template: str) -> str:
    return escape_text(template).decode()


class Memo:
    """Prefixes seen lately (redacted text), within a limit of characters. Thread-safe; it changes no result."""

    def __init__(self, limit_chars: int) -> None:
        self._limit = limit_chars
        self._held = 0
        self._prefixes: OrderedDict[str, list[Prefix]] = OrderedDict()
        self._lock = threading.Lock()

    def longest(self, text: str) -> Prefix:
        """Return the longest prefix known of a text."""
        with self._lock:
            known = tuple(self._prefixes.get(text[:_KEY_CHARS], ()))
        longest = _NOTHING
        for prefix in known:
            if len(prefix.text) > len(longest.text) and text.startswith(prefix.text):
                longest = prefix
        return longest

    def put(self, prefix: Prefix, before: Prefix) -> None:
        """Remember a prefix in the place of those that it continues, of which `before` is known to be one."""
        if not _KEY_CHARS <= len(prefix.text) <= self._limit:
            return
        key = prefix.text[:_KEY_CHARS]
        with self._lock:
            known = self._prefixes.pop(key, [])
            kept = [one for one in known if one is not before and not prefix.text.startswith(one.text)]
            kept = kept[: _MOST_PER_KEY - 1]
            self._held += _chars([prefix, *kept]) - _chars(known)
            self._prefixes[key] = [prefix, *kept]
            while self._held > self._limit:
                self._held -= _chars(self._prefixes.popitem(last=False)[1])


_NOTHING = Prefix.nothing()


def _chars(prefixes: list[Prefix]) -> int:
    return sum(len(prefix.text) for prefix in prefixes)
