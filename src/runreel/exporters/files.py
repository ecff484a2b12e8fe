"""Keeps heavy parts in a directory: `<root>/<tenant>/sha256/<2>/<2>/<hex>.zst`."""

import contextlib
import os
import tempfile
import time
from pathlib import Path

from runreel.disk import flush_folder
from runreel.errors import CorruptError, NotFoundError, PermanentError, RetryableError, StoreError
from runreel.exporters.blobs import SWEPT, opened, pack, place

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
        self.root = self._root = root
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

        A file that is there and holds something else, torn by a crash or damaged since, is replaced by a whole one.

        Raises:
            RetryableError: the disk is full or the directory cannot be written.
            PermanentError: no tenant's name, or no hash.
        """
        try:
            file = self._file(tenant, sha256)
        except NotFoundError as error:
            raise PermanentError(f"cannot write a part: {error}") from None
        try:
            if not _holds(file, sha256):
                self._write(file, pack(data))
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
            packed = _read(file, self._root / SWEPT / place(tenant, sha256))
        except FileNotFoundError:
            raise NotFoundError(f"no part sha256:{sha256} in {self._root} (looked for {file})") from None
        except OSError as error:
            raise StoreError(f"cannot read part sha256:{sha256} from {file}: {error.strerror}") from None
        data = opened(packed, sha256)
        if data is None:
            raise CorruptError(f"part sha256:{sha256} is damaged: {file} does not hold the bytes of that hash")
        return data

    def check(self) -> None:
        """Write a small file, read it and take it away. Raises StoreError."""
        data = os.urandom(16)
        try:
            _make(self._root / _TMP)
            with tempfile.NamedTemporaryFile(dir=self._root / _TMP) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                same = Path(file.name).read_bytes() == data
        except OSError as error:
            raise StoreError(f"cannot write to the blob folder {self._root}: {error.strerror}") from None
        if not same:
            raise StoreError(f"the blob folder {self._root} gives back other bytes than were written")

    def close(self) -> None:
        """Nothing is held open."""

    def _file(self, tenant: str, sha256: str) -> Path:
        return self._root / place(tenant, sha256)

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
        flush_folder(file.parent)

    def _sweep(self) -> None:
        before = time.time() - _LEFT_OVER_S
        for left in (self._root / _TMP).glob("*"):
            # Another process may sweep, or finish its file, at the same time.
            with contextlib.suppress(FileNotFoundError):
                if left.stat().st_mtime < before:
                    left.unlink()


def _read(file: Path, swept: Path) -> bytes:
    """Read a file, or the one that a sweep moved aside, or back meanwhile. Raises FileNotFoundError, OSError."""
    for one in (file, swept):
        with contextlib.suppress(FileNotFoundError):
            return one.read_bytes()
    return file.read_bytes()


def _holds(file: Path, sha256: str) -> bool:
    """Say whether a file is there and holds the bytes of that hash. Raises OSError where it cannot be read."""
    try:
        packed = file.read_bytes()
    except FileNotFoundError:
        return False
    return opened(packed, sha256) is not None


def _make(folder: Path) -> None:
    """Make a folder for its owner only, and flush each new name to the disk: a power cut must not lose a part that
    was acknowledged."""
    if folder.is_dir():
        return
    _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    flush_folder(folder.parent)
