"""Long skeletons are cut where their content says so: a history that grew by a turn has the chunks that it had before,
stored once.
"""

import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from runreel.canonical.parts import MARK, TEMPLATE, Get, Parts

_LONG_CHARS = 4096  # shorter skeletons stay whole
_CHUNK_CHARS = 1024  # and so do chunks shorter than this
_WINDOW_CHARS = 192  # what decides about a cut
_ONE_IN = 8

_PLACES = re.compile(r"[}\]]")
_CHUNKS = re.compile(f"{MARK}c:((?:[0-9a-f]{{64}})*);", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cut:
    """The start of a skeleton's text, with the chunks cut off it so far: whatever follows, these stay.

    Attributes:
        text: The start, whole.
        hashes: The chunks, one after the other.
        data: Their bytes.
        done: Where the last of them ends.
        at: Where the next place to cut is looked for.
    """

    text: str = ""
    hashes: tuple[str, ...] = ()
    data: tuple[bytes, ...] = ()
    done: int = 0
    at: int = _CHUNK_CHARS

    def grown(self, more: str) -> "Cut":
        """Return the start with more text."""
        text, done, at = self.text + more, self.done, self.at
        new: list[bytes] = []
        while match := _PLACES.search(text, at):
            at = match.end()
            if zlib.crc32(text[at - _WINDOW_CHARS : at].encode()) % _ONE_IN == 0:
                new.append(text[done:at].encode())
                done = at
                at += _CHUNK_CHARS
        hashes = (hashlib.sha256(one).hexdigest() for one in new)
        return Cut(text, (*self.hashes, *hashes), (*self.data, *new), done, at)

    def closed(self, rest: str, parts: Parts) -> str:
        """Return the skeleton that ends with `rest`, which is not empty; add all its chunks but the last to the parts.

        It is cut nowhere in its last character.
        """
        if len(self.text) + len(rest) < _LONG_CHARS:
            return self.text + rest
        cut = self.grown(rest[:-1])
        if not cut.hashes:
            return cut.text + rest[-1]
        parts.update((sha256, (data, TEMPLATE)) for sha256, data in zip(cut.hashes, cut.data, strict=True))
        return f"{MARK}c:{''.join(cut.hashes)};{cut.text[cut.done :]}{rest[-1]}"


def cut(text: str, parts: Parts) -> str:
    """Cut a long skeleton; add all chunks but the last to the parts."""
    return Cut().closed(text, parts)


def whole(skeleton: str, get: Get) -> str:
    """Return the text of a skeleton that may be cut. `get` returns a chunk's bytes by hash. Raises ValueError."""
    found = _CHUNKS.match(skeleton)
    return "".join((*_texts(found[1], get), skeleton[found.end() :])) if found else skeleton


def _texts(hashes: str, get: Get) -> Iterator[str]:
    return (get(hashes[at : at + 64]).decode() for at in range(0, len(hashes), 64))
