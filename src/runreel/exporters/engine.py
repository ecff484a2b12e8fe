"""The embedded engine: opens chDB in a folder, brings its tables up to date, and turns its errors into ours.

One process owns a folder: chDB has no second reader. The engine quotes data in its error texts, so none of them leaves
this module: an error of ours names the table, the code and what to do.
"""

import logging
import os
import re
import tempfile
import threading
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runreel.errors import ConsumeError, PermanentError, RetryableError, StoreError
from runreel.exporters import owner, schema

# What the data itself is to blame for: the same batch would fail again. Every other code may pass (full disk, memory,
# too many parts, a server that is starting), and a code that we do not know is not the data's fault until shown.
PERMANENT_CODES = frozenset({
    6, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 128, 131, 190, 321, 349, 407, 469,
})  # fmt: skip
_DISK_FULL = 243
_NAME = re.compile(r"[A-Z][A-Z0-9_]{2,60}")
Rows = Sequence[Sequence[Any]]


class Engine:
    """An open store. Thread-safe: writes go one after the other, and reads do not wait for them.

    Make it with `open`. `close` is safe twice. Never use it in a forked child: chDB hangs there, so that is refused.
    """

    def __init__(self, path: Path, lock: owner.Lock, tmp: "_TemporaryFolder") -> None:
        self.path = path
        self._lock = lock
        self._tmp = tmp
        self._pid = os.getpid()
        self._writer: Any = None
        self._reader: Any = None
        self._closing = threading.Lock()

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

        # Its log lines hold the data of a failed insert.
        logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL + 1)
        for folder in (path, tmp):
            _usable(folder)
        lock = owner.take(path)
        engine = cls(path, lock, _TemporaryFolder(tmp))
        failure: str | None = None
        try:
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

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None, *, binary: Sequence[str] = ()) -> Rows:
        """Return the rows of a SELECT. `binary` names the String columns to return as bytes. Raises StoreError."""
        return self._read(self._reader, sql, parameters, binary)

    def command(self, sql: str) -> None:
        """Run a statement that answers nothing. Raises StoreError."""
        self._check()
        failure: Exception
        try:
            self._writer.command(sql)
        except Exception as error:  # noqa: BLE001  the client lets through whatever its codecs raise, with data in it
            failure = error
        else:
            return
        raise StoreError(f"{self.path}: {describe(failure)} while running {sql.split(maxsplit=1)[0]}")

    def insert(self, table: str, columns: Mapping[str, Sequence[Any]], token: str) -> None:
        """Insert rows, durable on return.

        Args:
            table: A table of database `runreel`.
            columns: Column name to values, all of one length.
            token: Deduplication token: unique per flush, the same again when that flush is retried.

        Raises:
            RetryableError, PermanentError: by what went wrong; without a word of the data.
        """
        try:
            self._check()
        except StoreError as error:
            raise RetryableError(str(error)) from None
        if not any(columns.values()):
            return
        failure: Exception
        try:
            self._writer.insert(
                table,
                list(columns.values()),
                column_names=list(columns),
                column_type_names=[schema.TYPES[table][name] for name in columns],
                database=schema.DATABASE,
                column_oriented=True,
                settings={"insert_deduplication_token": token},
            )
        except Exception as error:  # noqa: BLE001  as above
            failure = error
        else:
            return
        # Raised out here, not in the handler: the engine's error must not hang on ours as its context.
        raise consume_error(failure, table)

    def close(self) -> None:
        """Close the clients and let the folder go."""
        with self._closing:
            for client in (self._reader, self._writer):
                if client is not None and os.getpid() == self._pid:
                    client.close()
            self._reader = self._writer = None
            self._tmp.leave()
            self._lock.release()

    def _read(self, client: Any, sql: str, parameters: Mapping[str, Any] | None, binary: Sequence[str]) -> Rows:
        self._check()
        failure: Exception
        try:
            result = client.query(
                sql,
                parameters=dict(parameters or {}),
                query_formats={"FixedString": "bytes", "DateTime64": "int"},
                column_formats=dict.fromkeys(binary, "bytes"),
            )
            rows: Rows = result.result_rows
        except Exception as error:  # noqa: BLE001  as above
            failure = error
        else:
            return rows
        raise StoreError(f"{self.path}: {describe(failure)} while reading")

    def _check(self) -> None:
        if self._writer is None:
            raise StoreError(f"{self.path}: the store is closed")
        if os.getpid() != self._pid:
            raise StoreError(f"{self.path}: opened by process {self._pid}, and not to be used in its forked child")


def describe(error: Exception) -> str:
    """Say what went wrong in words that hold no data: the engine's code and its name, or the kind of exception."""
    code, name = getattr(error, "code", None), getattr(error, "name", None)
    if isinstance(code, int):
        known = f" ({name})" if isinstance(name, str) and _NAME.fullmatch(name) else ""
        return f"engine error {code}{known}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}"
    return f"{type(error).__name__}"


def consume_error(error: Exception, table: str) -> ConsumeError:
    """Map what an insert failed with to one of the two errors that may leave an exporter."""
    what = f"insert into {table}: {describe(error)}"
    code = getattr(error, "code", None)
    if isinstance(code, int):
        if code in PERMANENT_CODES:
            return PermanentError(what)
        advice = "; the disk is full" if code == _DISK_FULL else ""
        return RetryableError(what + advice)
    if isinstance(error, OSError):
        return RetryableError(what)
    # Raised before anything reached the engine: a value that does not fit its column, now and always.
    kinds: tuple[type[Exception], ...] = (ValueError, TypeError, ArithmeticError, AttributeError, LookupError)
    if isinstance(error, kinds) or type(error).__name__ in {"DataError", "ProgrammingError", "error"}:
        return PermanentError(what)
    return RetryableError(what)


def new_token() -> str:
    """Return a deduplication token. Never derived from content: a used token silently swallows a later insert."""
    return uuid.uuid4().hex


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
