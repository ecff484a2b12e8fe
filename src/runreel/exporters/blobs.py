"""What every blob store shares: where a part stands, how it is packed, and the exporter that puts heavy parts there."""

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor

import zstandard

from runreel.errors import NotFoundError
from runreel.storage import BlobStore
from runreel.values import Part, SplitBatch

_HEX = re.compile(r"[0-9a-f]{64}")
_TENANT = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_LEVEL = 3
LEAST_GRACE_S = 3600.0
"""How old a blob must be at least before a sweep touches it. Whoever remembers what it put, and does not put it again,
may do so for half as long."""
SWEPT = ".swept"
"""Before the place of a blob that nothing named when it was looked for (aside.py). It is deleted a grace later."""


def place(tenant: str, sha256: str) -> str:
    """Return where a part stands, relative to the root or bucket: `<tenant>/sha256/<2>/<2>/<hex>.zst`.

    Directories and buckets have the same names, so that one can be copied into the other.

    Raises:
        NotFoundError: no tenant's name, or no hash. Both come from outside: neither may climb out of the root.
    """
    if not _HEX.fullmatch(sha256):
        raise NotFoundError(f"{sha256[:80]!r} is no SHA-256 in lower-case hex")
    if not _TENANT.fullmatch(tenant):
        raise NotFoundError(f"{tenant[:80]!r} is no tenant's name")
    return f"{tenant}/sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}.zst"


def pack(data: bytes) -> bytes:
    """Return the zstd frame that is stored for these bytes."""
    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def unpack(packed: bytes, size: int | None = None) -> bytes | None:
    """Return what a zstd frame holds; None where it is damaged, or holds another number of bytes than `size`."""
    try:
        if size is not None and zstandard.frame_content_size(packed) != size:
            return None
        return zstandard.ZstdDecompressor().decompress(packed)
    except zstandard.ZstdError:
        return None


def opened(packed: bytes, sha256: str) -> bytes | None:
    """Return the bytes of a part, None where the frame does not hold the bytes of that hash."""
    data = unpack(packed)
    return data if data is not None and hashlib.sha256(data).hexdigest() == sha256 else None


class BlobsExporter:
    """Puts the heavy parts of a batch into a blob store, before any row names them.

    Args:
        blobs: The store. Shut down with the exporter.
        inline_bytes: Parts of at most this many bytes are left to the table of parts.
        width: How many parts are put at once.
    """

    def __init__(self, blobs: BlobStore, inline_bytes: int = 32 * 1024, width: int = 1) -> None:
        self.blobs = blobs
        self.inline_bytes = inline_bytes
        self._pool = ThreadPoolExecutor(width, thread_name_prefix="runreel-blobs") if width > 1 else None

    def start(self) -> None:
        """Nothing to open."""

    def export(self, batch: SplitBatch) -> None:
        """Store the heavy parts, durable on return. Raises RetryableError, PermanentError."""
        heavy = [part for part in batch.parts if len(part.data) > self.inline_bytes]
        for _ in map(self._put, heavy) if self._pool is None else self._pool.map(self._put, heavy):
            pass  # looked at one by one: an error is raised here

    def _put(self, part: Part) -> None:
        self.blobs.put(part.tenant, part.sha256, part.data, part.media_type)

    def check(self) -> None:
        """Write, read and delete a small object. Raises StoreError."""
        self.blobs.check()

    def shutdown(self) -> None:
        """Close the store. Safe twice."""
        if self._pool is not None:
            self._pool.shutdown()
        self.blobs.close()
