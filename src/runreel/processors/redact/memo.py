"""A bounded memo, least recently used first out, whose keys do not hold what they were made from."""

import secrets
from collections import OrderedDict
from hashlib import sha256
from threading import Lock
from typing import Generic, Protocol, Self, TypeVar

V = TypeVar("V")


class Hasher(Protocol):
    """What makes a key of text that comes in pieces."""

    def copy(self) -> Self:
        """Return one that has seen the same."""
        ...

    def update(self, data: bytes, /) -> None:
        """Take the next piece."""
        ...

    def digest(self) -> bytes:
        """Return the key of all pieces so far, 32 bytes."""
        ...


class Memo(Generic[V]):
    """Remembers results of at most `size` in all; one counts 1 where nothing else is said. Thread-safe.

    Keys are keyed cryptographic hashes: no text stays in memory for it, and nobody can craft two texts of which one
    inherits the other's clean verdict. They are SHA-256 (processors have instructions for it, which make it twice as
    quick as BLAKE2) behind one block of a secret and the hash of `version`, which separates the results of one set of
    rules from another's: they tell nothing to one who has not the secret. No key leaves the process.
    """

    def __init__(self, size: int, version: str) -> None:
        self._size = size
        self._base: Hasher = sha256(secrets.token_bytes(32) + sha256(version.encode()).digest())
        self._entries: OrderedDict[bytes, tuple[V, int]] = OrderedDict()
        self._held = 0
        self._lock = Lock()

    def hasher(self) -> Hasher:
        """Return what makes a key, without any text yet."""
        return self._base.copy()

    def key(self, text: str) -> bytes:
        """Return the key of a text, lone surrogates included."""
        hasher = self._base.copy()
        hasher.update(encoded(text))
        return hasher.digest()

    def get(self, key: bytes) -> V | None:
        found = self._entries.get(key)
        if found is None:
            return None
        try:  # without the lock, which would take as long as all else here
            self._entries.move_to_end(key)
        except KeyError:  # another thread has put so much meanwhile that it is gone
            return found[0]
        return found[0]

    def put(self, key: bytes, value: V, weight: int = 1) -> None:
        with self._lock:
            before = self._entries.pop(key, None)
            self._entries[key] = value, weight
            self._held += weight - (before[1] if before else 0)
            while self._held > self._size:
                self._held -= self._entries.popitem(last=False)[1][1]

    def __len__(self) -> int:
        return len(self._entries)


def encoded(text: str) -> bytes:
    """Return what a hasher reads of a text."""
    return text.encode("utf-8", "surrogatepass")
