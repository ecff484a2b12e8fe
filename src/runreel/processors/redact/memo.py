"""A bounded memo, least recently used first out, whose keys do not hold what they were made from."""

import secrets
from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class Memo(Generic[V]):
    """Remembers at most `size` results. Thread-safe.

    Keys are keyed cryptographic hashes: no text stays in memory for it, and nobody can craft two texts of which one
    inherits the other's clean verdict. `version` separates the results of one set of rules from another's.
    """

    def __init__(self, size: int, version: str) -> None:
        self._size = size
        self._base = blake2b(version.encode(), digest_size=16, key=secrets.token_bytes(32))
        self._entries: OrderedDict[bytes, V] = OrderedDict()
        self._lock = Lock()

    def key(self, text: str) -> bytes:
        """Return the key of a text, lone surrogates included."""
        digest = self._base.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.digest()

    def get(self, key: bytes) -> V | None:
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def put(self, key: bytes, value: V) -> None:
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)
