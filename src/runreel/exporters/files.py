"""Keeps heavy parts in a directory: `<root>/<tenant>/sha256/<2>/<2>/<hex>.zst`."""

import contextlib
import hashlib
import os
import re
import tempfile
import time
from pathlib import Path

import zstandard

from runreel.errors import CorruptError, NotFoundError, PermanentError, RetryableError, StoreError
from runreel.values import SplitBatch

_HEX = re.compile(r"[0-9a-f]{64}")
_TENANT = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_LEVEL = 3
# A temporary file this old belongs to a writer that is gone.
_LEFT_OVER_S = 3600
_TMP = ".tmp"


class FileBlobs:
    """A BlobStore in a directory. Thread-safe, and safe with several processes: a file appears whole or not at all.

    Args:
        root: The directory; made on the first write.

    Raises:
        StoreError: the directory is there and cannot be used.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        why = ""
        try:
            if root.exists() and not (root.is_dir() and os.access(root, os.R_OK | os.W_OK | os.X_OK)):
                why = "not a folder that this user may read and write"
            self._sweep()
        except OSError as error:
            why = why or f"{error.strerror}"
        if why:
            raise StoreError(
                f"cannot use the blob folder {root}: {why}. Make it a folder that this user may read and write, "
                "or set RUNREEL_HOME to one"
            )

    def put(self, tenant: str, sha256: str, data: bytes, media_type: str) -> None:  # noqa: ARG002  rows know it
        """Store bytes under their hash, durable on return; bytes that are there already are not written again.

        Raises:
            RetryableError: the disk is full or the directory cannot be written.
            PermanentError: no tenant's name, or no hash.
        """
        try:
            file = self._file(tenant, sha256)
        except NotFoundError as error:
            raise PermanentError(f"cannot write a part: {error}") from None
        if file.exists():
            return
        packed = zstandard.ZstdCompressor(level=_LEVEL).compress(data)
        try:
            self._write(file, packed)
        except OSError as error:
            raise RetryableError(f"cannot write part sha256:{sha256} to {file}: {error.strerror}") from None

    def get(self, tenant: str, sha256: str) -> bytes:
        """Return the bytes, verified against the hash.

        Raises:
            NotFoundError: there is no such part of this tenant.
            CorruptError: what is there is something else; names the hash and the file.
            StoreError: the file cannot be read.
        """
        file = self._file(tenant, sha256)
        try:
            packed = file.read_bytes()
        except FileNotFoundError:
            raise NotFoundError(f"no part sha256:{sha256} in {self._root} (looked for {file})") from None
        except OSError as error:
            raise StoreError(f"cannot read part sha256:{sha256} from {file}: {error.strerror}") from None
        data = unpack(packed)
        if data is None or hashlib.sha256(data).hexdigest() != sha256:
            raise CorruptError(f"part sha256:{sha256} is damaged: {file} does not hold the bytes of that hash")
        return data

    def close(self) -> None:
        """Nothing is held open."""

    def _file(self, tenant: str, sha256: str) -> Path:
        # Both come from outside (a token's tenant, a URL): neither may climb out of the directory.
        if not _HEX.fullmatch(sha256):
            raise NotFoundError(f"{sha256[:80]!r} is no SHA-256 in lower-case hex")
        if not _TENANT.fullmatch(tenant):
            raise NotFoundError(f"{tenant[:80]!r} is no tenant's name")
        return self._root / tenant / "sha256" / sha256[:2] / sha256[2:4] / f"{sha256}.zst"

    def _write(self, file: Path, packed: bytes) -> None:
        """Write aside, flush to the disk, rename, and flush the rename."""
        tmp = self._root / _TMP
        for folder in (tmp, file.parent):
            _make(folder)
        descriptor, name = tempfile.mkstemp(dir=tmp)
        try:
            with os.fdopen(descriptor, "wb") as out:
                out.write(packed)
                out.flush()
                os.fsync(out.fileno())
            os.replace(name, file)  # noqa: PTH105  one call, both names are texts already
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _flush(file.parent)

    def _sweep(self) -> None:
        before = time.time() - _LEFT_OVER_S
        for left in (self._root / _TMP).glob("*"):
            # Another process may sweep, or finish its file, at the same time.
            with contextlib.suppress(FileNotFoundError):
                if left.stat().st_mtime < before:
                    left.unlink()


class FilesExporter:
    """The exporter `files`: puts the heavy parts of a batch into the directory, before any row names them.

    Args:
        blobs: The directory. Shut down with the exporter.
        inline_bytes: Parts of at most this many bytes are left to the table of parts.
    """

    def __init__(self, blobs: FileBlobs, inline_bytes: int = 32 * 1024) -> None:
        self.blobs = blobs
        self.inline_bytes = inline_bytes

    def start(self) -> None:
        """Nothing to open."""

    def export(self, batch: SplitBatch) -> None:
        """Store the heavy parts, durable on return. Raises RetryableError, PermanentError."""
        for part in batch.parts:
            if len(part.data) > self.inline_bytes:
                self.blobs.put(part.tenant, part.sha256, part.data, part.media_type)

    def shutdown(self) -> None:
        """Close the directory."""
        self.blobs.close()


def unpack(packed: bytes, size: int | None = None) -> bytes | None:
    """Return what a zstd frame holds; None where it is damaged, or holds another number of bytes than `size`."""
    try:
        if size is not None and zstandard.frame_content_size(packed) != size:
            return None
        return zstandard.ZstdDecompressor().decompress(packed)
    except zstandard.ZstdError:
        return None


def _make(folder: Path) -> None:
    """Make a folder for its owner only, and flush each new name to the disk: a power cut must not lose a part that
    was acknowledged."""
    if folder.is_dir():
        return
    _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    _flush(folder.parent)


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
