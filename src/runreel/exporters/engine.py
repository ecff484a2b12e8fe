"""The embedded engine: opens chDB in a folder, and brings its tables up to date. One process owns a folder: chDB has no
second reader."""

import os
import tempfile
from pathlib import Path
from typing import Any

from runreel.errors import ConsumeError, StoreError
from runreel.exporters import owner, schema
from runreel.exporters.connection import Connection, describe, quiet
from runreel.exporters.hush import hushed


class Engine(Connection):
    """An open store. Thread-safe: writes go one after the other, and reads do not wait for them.

    Make it with `open`. `close` is safe twice. Never use it in a forked child: chDB hangs there, so that is refused.
    """

    def __init__(self, path: Path, lock: owner.Lock, tmp: "_TemporaryFolder") -> None:
        super().__init__(path)
        self._lock = lock
        self._tmp = tmp
        self._pid = os.getpid()

    @classmethod
    def open(cls, path: Path, *, tmp: Path) -> "Engine":
        """Open the folder, made if missing, and bring its tables up to date.

        Args:
            path: Where chDB keeps its files.
            tmp: Where the client writes each insert before the engine reads it; swept here.

        Raises:
            LockedError: another process has the folder open, or this one does.
            StoreError: the folder cannot be used, or its tables are of a newer RunReel.
        """
        import chdb  # noqa: F401  a missing package must name itself: the client's own message does not
        from clickhouse_connect.driver.exceptions import ClickHouseError

        quiet()
        for folder in (path, tmp):
            _usable(folder)
        lock = owner.take(path)
        engine = cls(path, lock, _TemporaryFolder(tmp))
        failure: str | None = None
        try:
            with hushed():
                engine._writer = _client(path)
                engine._reader = _client(path)
                schema.migrate(engine)
        except ClickHouseError as error:
            failure = _open_failure(path, error)
        except ConsumeError as error:
            failure = f"cannot open the store {path}: {error}"
        except BaseException:
            engine.close()
            raise
        if failure is not None:
            engine.close()
            raise StoreError(failure)
        return engine

    def close(self) -> None:
        """Close the clients and let the folder go."""
        if os.getpid() != self._pid:  # they are the parent's
            self._reader = self._writer = None
        super().close()
        self._tmp.leave()
        self._lock.release()

    def _check(self) -> None:
        super()._check()
        if os.getpid() != self._pid:
            raise StoreError(f"{self.path}: opened by process {self._pid}, and not to be used in its forked child")


def _client(path: Path) -> Any:
    from clickhouse_connect import get_client

    return get_client(interface="chdb", path=str(path), show_clickhouse_errors="scrub")


def _usable(folder: Path) -> None:
    """Make a folder that only its owner may read. Raises StoreError where that cannot be done."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot use the data folder {folder}: {error.strerror}. {_ADVICE}") from None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise StoreError(f"cannot use the data folder {folder}: no permission to read and write it. {_ADVICE}")


_ADVICE = "Make it a folder that this user may read and write, or set RUNREEL_HOME to one"


def _open_failure(path: Path, error: Exception) -> str:
    text = str(error)
    if "already initialized with path" in text:
        return f"cannot open the store {path}: this process has another store open, and chDB allows one. Close it first"
    where = f"cannot open the store {path}: {describe(error)}. "
    return where + "Another program may have it open, or its files are damaged or of a newer engine"


class _TemporaryFolder:
    """Points `tempfile` at a folder of ours while the store is open.

    The client writes every insert to a temporary file first, and `kill -9` leaves it there: what is redacted text of
    runs must not lie about in the system's /tmp, where neither erasure nor audit would find it.
    """

    _LEFT = "*.native"

    def __init__(self, folder: Path) -> None:
        for left in folder.glob(self._LEFT):
            left.unlink(missing_ok=True)
        self._folder = str(folder)
        self._before = tempfile.tempdir
        tempfile.tempdir = self._folder

    def leave(self) -> None:
        if tempfile.tempdir == self._folder:
            tempfile.tempdir = self._before
