"""Keeps sealed values in a file of their own, for a short time: the exporter `vault`; and the log of who asked."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runreel.errors import PermanentError, RetryableError, StoreError
from runreel.values import Sealed, SplitBatch

FILE = "vault.db"
_DAY_NS = 86_400 * 10**9
_SWEEP_NS = 60 * 10**9
_FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS sealed (
    tenant TEXT, token TEXT, key_id TEXT, vault_key_id TEXT, body BLOB, first_ns INTEGER, expires_ns INTEGER,
    PRIMARY KEY (tenant, token, key_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sealed_by_expiry ON sealed (expires_ns);
CREATE TABLE IF NOT EXISTS access (at_ns INTEGER, who TEXT, tenant TEXT, token TEXT, reason TEXT, found INTEGER);
"""
_PUT = """
INSERT INTO sealed VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, token, key_id) DO UPDATE SET
    expires_ns = max(expires_ns, excluded.expires_ns), vault_key_id = excluded.vault_key_id, body = excluded.body
"""


@dataclass(frozen=True, slots=True)
class Access:
    """One look into the vault: who asked for which token, and why. `found`: there was a value."""

    at_ns: int
    who: str
    tenant: str
    token: str
    reason: str
    found: bool


class Vault:
    """An Exporter of sealed values, in one SQLite file. Thread-safe; several processes may have it open.

    Values are forgotten `ttl_days` after the token was last seen; the file keeps nothing of them then.
    """

    def __init__(self, path: Path, ttl_days: int = 7, clock: Callable[[], int] = time.time_ns) -> None:
        self.path = path
        self._ttl_ns = ttl_days * _DAY_NS
        self._clock = clock
        self._swept_ns = 0
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    @classmethod
    def existing(cls, path: Path) -> "Vault":
        """Return a vault that is there, and belongs to who asks. Raises StoreError."""
        try:
            owner = path.stat().st_uid
        except OSError as error:
            raise StoreError(f"there is no vault at {path} ({error.strerror}): name its file with --vault") from None
        if owner != os.getuid():
            raise StoreError(f"the vault {path} belongs to user {owner}: only its owner may look into it")
        return cls(path)

    def start(self) -> None:
        """Open the file, made for its owner only. Raises StoreError."""
        with self._lock:
            self._open()

    def export(self, batch: SplitBatch) -> None:
        """Store what is sealed, durable on return; the same again only lives longer. Raises RetryableError,
        PermanentError."""
        if not batch.sealed:
            return
        now = self._clock()
        rows = [
            (one.tenant, one.token, one.key_id, one.vault_key_id, one.body, now, now + self._ttl_ns)
            for one in batch.sealed
        ]
        try:
            with self._transaction() as connection:
                connection.executemany(_PUT, rows)
                self._sweep(connection, now)
        except sqlite3.OperationalError as error:
            raise RetryableError(f"the vault {self.path} cannot be written: {error.sqlite_errorname}") from None
        except sqlite3.Error as error:
            raise PermanentError(f"the vault {self.path} cannot be written: {type(error).__name__}") from None
        except StoreError as error:
            raise RetryableError(str(error)) from None

    def check(self) -> None:
        """Begin to write and read. Raises StoreError."""
        try:
            with self._transaction() as connection:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the vault {self.path} cannot be used: {type(error).__name__}") from None

    def shutdown(self) -> None:
        """Close the file. Safe twice."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def sealed(self, tenant: str, token: str, *, who: str, reason: str) -> Sequence[Sealed]:
        """Return what is sealed under a token, one for each key that made it, and log that it was asked for: the line
        is on the disk before anything is returned. Raises StoreError."""
        now = self._clock()
        try:
            with self._transaction() as connection:
                self._sweep(connection, now, at_once=True)
                found = connection.execute(
                    "SELECT tenant, token, key_id, vault_key_id, body FROM sealed WHERE tenant = ? AND token = ?",
                    (tenant, token),
                ).fetchall()
                line = (now, who, tenant, token, reason, int(bool(found)))
                connection.execute("INSERT INTO access VALUES (?, ?, ?, ?, ?, ?)", line)
        except sqlite3.Error as error:
            raise StoreError(f"the vault {self.path} cannot be read: {type(error).__name__}") from None
        return [Sealed(*row) for row in found]

    def forget(self, tenant: str, tokens: Sequence[str] | None = None) -> int:
        """Forget the values of these tokens at once, of all of a tenant's where none are named; return how many there
        were. No byte of them stays in the file. Raises StoreError."""
        try:
            with self._transaction() as connection:
                if tokens is None:
                    return connection.execute("DELETE FROM sealed WHERE tenant = ?", (tenant,)).rowcount
                gone = [
                    connection.execute("DELETE FROM sealed WHERE tenant = ? AND token = ?", (tenant, token)).rowcount
                    for token in tokens
                ]
                return sum(gone)
        except sqlite3.Error as error:
            raise StoreError(f"the vault {self.path} cannot be written: {type(error).__name__}") from None

    def accesses(self) -> Sequence[Access]:
        """Return who looked for what, latest first. Raises StoreError."""
        try:
            with self._transaction() as connection:
                rows = connection.execute("SELECT * FROM access ORDER BY at_ns DESC, rowid DESC").fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the vault {self.path} cannot be read: {type(error).__name__}") from None
        return [
            Access(at_ns, who, tenant, token, reason, bool(found)) for at_ns, who, tenant, token, reason, found in rows
        ]

    def _sweep(self, connection: sqlite3.Connection, now: int, *, at_once: bool = False) -> None:
        if at_once or now - self._swept_ns > _SWEEP_NS:
            connection.execute("DELETE FROM sealed WHERE expires_ns <= ?", (now,))
            self._swept_ns = now

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._open()
            with connection:  # commits, or rolls back
                yield connection

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            connection = sqlite3.connect(self.path, timeout=10, check_same_thread=False)
            # What is deleted is overwritten; what is committed is on the disk, and in no second file beside it.
            for setting in ("secure_delete = ON", "journal_mode = DELETE", "synchronous = FULL"):
                connection.execute(f"PRAGMA {setting}")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > _FORMAT:
                connection.close()
                raise StoreError(f"the vault {self.path} is of a newer RunReel (format {version}): use that one")
            connection.executescript(_TABLES)
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
            connection.commit()
        except OSError as error:
            raise StoreError(f"the vault {self.path} cannot be opened: {error.strerror}") from None
        except sqlite3.Error as error:
            raise StoreError(f"the vault {self.path} cannot be opened: {type(error).__name__}") from None
        self._connection = connection
        return connection
