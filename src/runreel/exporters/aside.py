"""Blobs that nothing names: found by their age, moved aside, moved back or deleted. Whoever reads one that is aside
still gets it (`get` of each store looks there), so that moving one loses nothing, whatever is under way meanwhile.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from runreel.exporters.blobs import SWEPT, place
from runreel.exporters.files import FileBlobs
from runreel.storage import BlobStore

if TYPE_CHECKING:
    from runreel.exporters.s3 import S3Blobs

_NAME = re.compile(r"([^/]+)/sha256/[0-9a-f]{2}/[0-9a-f]{2}/([0-9a-f]{64})\.zst")
Blob = tuple[str, str, float]
"""Tenant, hash, and when it was written, in seconds since 1970."""


class Aside(Protocol):
    """What a sweep does with a blob store. Raises StoreError, OSError."""

    def standing(self) -> Iterator[Blob]:
        """Yield every blob in its place."""
        ...

    def aside(self) -> Iterator[Blob]:
        """Yield every blob that was moved aside, and when."""
        ...

    def set_aside(self, tenant: str, sha256: str) -> None:
        """Move one aside. One that is gone is no error."""

    def put_back(self, tenant: str, sha256: str) -> None:
        """Move one back into its place. One that is gone is no error."""

    def drop(self, tenant: str, sha256: str) -> None:
        """Delete one that is aside, for good. One that is gone is no error."""


def aside_of(blobs: BlobStore) -> Aside | None:
    """Return what a sweep does with this store; None where it keeps nothing that lasts."""
    if isinstance(blobs, FileBlobs):
        return FilesAside(blobs)
    if hasattr(blobs, "names"):
        return ObjectsAside(cast("S3Blobs", blobs))
    return None


class FilesAside:
    """Of a directory."""

    def __init__(self, blobs: FileBlobs) -> None:
        self._root = blobs.root

    def standing(self) -> Iterator[Blob]:
        """Yield every blob in its place."""
        return self._below(self._root)

    def aside(self) -> Iterator[Blob]:
        """Yield every blob that was moved aside, and when."""
        return self._below(self._root / SWEPT)

    def set_aside(self, tenant: str, sha256: str) -> None:
        """Move one aside."""
        self._move(self._root / place(tenant, sha256), self._root / SWEPT / place(tenant, sha256))

    def put_back(self, tenant: str, sha256: str) -> None:
        """Move one back into its place."""
        self._move(self._root / SWEPT / place(tenant, sha256), self._root / place(tenant, sha256))

    def drop(self, tenant: str, sha256: str) -> None:
        """Delete one that is aside."""
        (self._root / SWEPT / place(tenant, sha256)).unlink(missing_ok=True)

    def _below(self, folder: Path) -> Iterator[Blob]:
        for file in folder.glob("*/sha256/??/??/*.zst"):
            found = _NAME.fullmatch(file.relative_to(folder).as_posix())
            with suppress(FileNotFoundError):  # moved meanwhile
                if found:
                    yield found[1], found[2], file.stat().st_mtime

    def _move(self, old: Path, new: Path) -> None:
        new.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            os.utime(old)  # first: it must never look older than the move
            old.replace(new)


class ObjectsAside:
    """Of a bucket."""

    def __init__(self, blobs: "S3Blobs") -> None:
        self._blobs = blobs

    def standing(self) -> Iterator[Blob]:
        """Yield every blob in its place."""
        return self._below("")

    def aside(self) -> Iterator[Blob]:
        """Yield every blob that was moved aside, and when."""
        return self._below(f"{SWEPT}/")

    def set_aside(self, tenant: str, sha256: str) -> None:
        """Move one aside."""
        self._move(place(tenant, sha256), f"{SWEPT}/{place(tenant, sha256)}")

    def put_back(self, tenant: str, sha256: str) -> None:
        """Move one back into its place."""
        self._move(f"{SWEPT}/{place(tenant, sha256)}", place(tenant, sha256))

    def drop(self, tenant: str, sha256: str) -> None:
        """Delete one that is aside."""
        self._blobs.remove(f"{SWEPT}/{place(tenant, sha256)}")

    def _below(self, folder: str) -> Iterator[Blob]:
        for name, written in self._blobs.names(folder):
            found = _NAME.fullmatch(name)
            if found:
                yield found[1], found[2], written

    def _move(self, old: str, new: str) -> None:
        # The bytes are those of their hash: whoever puts them again meanwhile puts the same.
        if self._blobs.copy(old, new):
            self._blobs.remove(old)
