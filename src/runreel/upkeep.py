"""What is kept aside and what is left behind in a place: opened for who looks after it, on the command line."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from runreel.components import SPOOL, as_place, database_of, open_blobs, work_off
from runreel.errors import StoreError
from runreel.runs.places import Place, remote_runs, running
from runreel.runs.quarantined import RemoteQuarantine
from runreel.runs.remote import RemoteRuns
from runreel.spool.custody import Custody, one_by_one
from runreel.values import Quarantined

if TYPE_CHECKING:
    from runreel.govern.sweep import Swept

_SWEEP_S = 24 * 3600.0
"""As long as it may take to look at every object of a bucket."""


def _nobody(text: str) -> None:
    """Take what nobody reads along."""


class Kept(Protocol):
    """What is in quarantine in a place: through the collector that has it open, or directly. Close it."""

    def items(self, tenant: str, limit: int = 0) -> Sequence[Quarantined]:
        """Return what is kept, newest first. Raises StoreError."""
        ...

    def shown(self, tenant: str, id_: str) -> Mapping[str, Any]:
        """Return one record whole, as a document. Raises NotFoundError, CorruptError, StoreError."""
        ...

    def release(self, tenant: str, ids: Sequence[str]) -> tuple[int, Sequence[str]]:
        """Have these stored after all; return how many were, and why others stay. Raises NotFoundError, StoreError."""
        ...

    def drop(self, tenant: str, ids: Sequence[str]) -> int:
        """Delete these; return how many. Raises NotFoundError, StoreError."""
        ...

    def close(self) -> None: ...


def open_custody(place: Place | Path, *, say: Callable[[str], object] = _nobody) -> Kept:
    """Open what is in quarantine in a place. Raises LockedError, StoreError."""
    where = as_place(place)
    asked = running(where, say=say)
    if asked is not None:
        return RemoteQuarantine(remote_runs(where, asked))
    if not where.there:
        raise StoreError(f"nothing is recorded in {where.home} yet")
    database = database_of(where, open_blobs(where))
    spool = where.home / SPOOL
    if where.store is None and not where.server:
        work_off(where.home, database, say)
    return Custody(database.quarantine, one_by_one(database.export), spool, database.shutdown)


class Sweeps(Protocol):
    """One sweep of the heavy parts of a place: through the collector that has it open, or directly."""

    def run(self, *, dry: bool = False, force: bool = False) -> "Swept":
        """Sweep; with `dry` only say what would be done. Raises UsageError, StoreError (govern/sweep.py)."""
        ...


class RemoteSweep:
    """A sweep, asked of a collector."""

    def __init__(self, runs: RemoteRuns, grace_s: float) -> None:
        self._runs = runs
        self._grace_s = grace_s

    def run(self, *, dry: bool = False, force: bool = False) -> "Swept":
        """Have it swept, and wait for it."""
        from runreel.govern.sweep import Swept

        wanted = {"grace_s": self._grace_s, "dry": dry, "force": force}
        found = self._runs.asked("/api/v1/sweep", body=wanted, patience_s=_SWEEP_S)
        return Swept(**{one.name: int(found[one.name]) for one in fields(Swept)})


@contextmanager
def open_sweep(place: Place | Path, grace_s: float, *, say: Callable[[str], object] = _nobody) -> "Iterator[Sweeps]":
    """Open a sweep of the heavy parts of a place, for a block: a collector that has the place open does it.

    Raises LockedError where another process has the embedded store open, StoreError, UsageError (the grace).
    """
    from runreel.exporters.aside import aside_of
    from runreel.govern.sweep import Sweep

    where = as_place(place)
    asked = running(where, say=say)
    if asked is not None:
        yield RemoteSweep(remote_runs(where, asked), grace_s)
        return
    if not where.there:
        raise StoreError(f"nothing is recorded in {where.home} yet")
    blobs = open_blobs(where)
    aside = aside_of(blobs)
    assert aside is not None  # files or s3
    database = database_of(where, blobs)
    try:
        yield Sweep(database.parts, aside, grace_s)
    finally:
        database.shutdown()
        blobs.close()
