"""Reads content that senders stored in files, under configured folders and nowhere else."""

import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runreel.processors.external import Fetched

OBJECT_BYTES = 16 * 1024 * 1024
_FILE_URL = "file://"


@dataclass(frozen=True, slots=True)
class BasePath:
    """References that start with `sent` are read below the local folder `to`."""

    sent: str
    to: Path


class ExternalFiles:
    """The function that Schema fetches content with. Thread-safe."""

    def __init__(self, bases: Sequence[BasePath]) -> None:
        # The longest prefix decides where several fit.
        self._bases = sorted(
            ((_plain(base.sent).rstrip("/") + "/", base.to) for base in bases), key=lambda base: -len(base[0])
        )

    def __call__(self, reference: str, limit_bytes: int) -> Fetched:
        """Return the text of a file below a base path: JSON, of at most so many bytes, or why there is none.

        `outside` (not below a base path, where links lead, too), `not_there`, `too_large`, `not_json`, `unreadable`.
        """
        try:
            place = self._place(reference)
            if place is None:
                return Fetched(None, "outside")
            data = _read(*place, min(limit_bytes, OBJECT_BYTES))
        except (FileNotFoundError, NotADirectoryError):
            return Fetched(None, "not_there")
        except (OSError, ValueError, RuntimeError):  # a NUL in the name; links in a circle
            return Fetched(None, "unreadable")
        if data is None:
            return Fetched(None, "too_large")
        return _json_text(data, lines=reference.endswith(".jsonl"))

    def _place(self, reference: str) -> tuple[Path, Path] | None:
        """Return (folder, path below it) with every link followed; None where that is outside the folder."""
        plain = _plain(reference)
        for sent, to in self._bases:
            if plain.startswith(sent):
                folder = to.resolve(strict=True)
                found = (folder / plain.removeprefix(sent).lstrip("/")).resolve(strict=True)
                return (folder, found.relative_to(folder)) if found.is_relative_to(folder) else None
        return None


def _plain(reference: str) -> str:
    return reference.removeprefix(_FILE_URL)


def _read(folder: Path, below: Path, limit_bytes: int) -> bytes | None:
    """Return a regular file's bytes, None where there are more than the limit.

    Opened part by part without following links: a link that was put there since the path was checked leads nowhere.
    """
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in below.parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = inner
        # A pipe must not be waited for.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(below.name or ".", flags, dir_fd=at), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError("no regular file")
            data = file.read(limit_bytes + 1)
    finally:
        os.close(at)
    return data if len(data) <= limit_bytes else None


def _json_text(data: bytes, *, lines: bool) -> Fetched:
    """Return the text if it is whole: a file that is still being written is none."""
    with suppress(ValueError, RecursionError):
        text = data.decode("utf-8")
        if lines:
            text = f"[{','.join(line for line in text.split(chr(10)) if line.strip())}]"
        json.loads(text)
        return Fetched(text)
    return Fetched(None, "not_json")
