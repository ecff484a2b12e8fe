"""A connection to a ClickHouse, embedded or a server: queries, commands and inserts, and its errors turned into ours.

The engine quotes data in its error texts, so none of them leaves this module: an error of ours names the table, the
code and what to do.
"""

import logging
import re
import threading
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from runreel.errors import ConsumeError, PermanentError, RetryableError, StoreError
from runreel.exporters import schema

# What the data itself is to blame for: the same batch would fail again. Every other code may pass (full disk, memory,
# too many parts, a server that is starting), and a code that we do not know is not the data's fault until shown.
PERMANENT_CODES = frozenset({
    6, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 128, 131, 190, 321, 349, 407, 469,
})  # fmt: skip
_DISK_FULL = 243
_NOT_ALLOWED = 497
# How a statement of ours begins, up to what it names.
_HEAD = re.compile(r"[A-Z ]+(?:runreel(?:\.\w+)?)?")
_NAME = re.compile(r"[A-Z][A-Z0-9_]{2,60}")
Rows = Sequence[Sequence[Any]]


class Connection:
    """What embedded engine and server have in common. Thread-safe.

    Args:
        path: What errors and reports call it: a folder, or an address.
    """

    over_network = False
    cluster = ""
    """The cluster that the tables are spread over; empty where there is none."""

    def __init__(self, path: object) -> None:
        self.path = path
        self._writer: Any = None
        self._reader: Any = None
        self._closing = threading.Lock()

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
        what = _HEAD.match(sql)
        told = what[0].strip() if what else sql.split(maxsplit=1)[0]
        if getattr(failure, "code", None) == _NOT_ALLOWED:
            may = f"this user may not run `{told} ...` (engine error {_NOT_ALLOWED})"
            raise StoreError(f"{self.path}: {may}: run `runreel db migrate` as one who may, or grant it")
        raise StoreError(f"{self.path}: {describe(failure)} while running {told}")

    def erase(self, table: str, where: str) -> None:
        """Delete rows, bytes and all; waits for it. `where` holds no text of others. Raises StoreError."""
        target = f"{table}_local ON CLUSTER `{self.cluster}`" if self.cluster else table
        self.command(f"ALTER TABLE {schema.DATABASE}.{target} DELETE WHERE {where} SETTINGS mutations_sync = 2")

    def insert(self, table: str, columns: Mapping[str, Sequence[Any]], token: str) -> None:
        """Insert rows, durable on return.

        Args:
            table: A table of database `runreel`.
            columns: Column name to values, all of one length.
            token: Deduplication token: unique per attempt.

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
            written = self._writer.insert(
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
            # An insert that was cut off must not pass for a whole one, whatever the answer says.
            rows = len(next(iter(columns.values())))
            if self.over_network and int(getattr(written, "written_rows", rows)) < rows:
                raise RetryableError(f"insert into {table}: the server took fewer rows than were sent")
            return
        # Raised out here, not in the handler: the engine's error must not hang on ours as its context.
        raise consume_error(failure, table, over_network=self.over_network)

    def close(self) -> None:
        """Close the clients. Safe twice."""
        with self._closing:
            for client in (self._reader, self._writer):
                if client is not None:
                    client.close()
            self._reader = self._writer = None

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
        """Raise StoreError where it cannot be used."""
        if self._writer is None:
            raise StoreError(f"{self.path}: the store is closed")


def quiet() -> None:
    """Silence the client's own log: its lines hold the data of a failed insert."""
    logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL + 1)


def describe(error: Exception) -> str:
    """Say what went wrong in words that hold no data: the engine's code and its name, or the kind of exception."""
    code, name = getattr(error, "code", None), getattr(error, "name", None)
    if isinstance(code, int):
        known = f" ({name})" if isinstance(name, str) and _NAME.fullmatch(name) else ""
        return f"engine error {code}{known}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}"
    return f"{type(error).__name__}"


def consume_error(error: Exception, table: str, *, over_network: bool = False) -> ConsumeError:
    """Map what an insert failed with to one of the two errors that may leave an exporter.

    Over a network, an answer that broke off may end as any error in the client: only what it says of a value is final.
    """
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
    if over_network:
        kinds = (ArithmeticError,)
    if isinstance(error, kinds) or type(error).__name__ in {"DataError", "ProgrammingError", "error"}:
        return PermanentError(what)
    return RetryableError(what)


def new_token() -> str:
    """Return a deduplication token. Never derived from content: a used token silently swallows a later insert."""
    return uuid.uuid4().hex
