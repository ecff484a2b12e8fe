"""What is kept aside and what is left behind in a place: opened for who looks after it, on the command line."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from runreel.components import SPOOL, as_place, database_of, open_blobs, work_off
from runreel.errors import StoreError, UsageError
from runreel.runs.places import Place, remote_runs, running
from runreel.runs.quarantined import RemoteQuarantine
from runreel.spool.custody import Custody, one_by_one
from runreel.values import Quarantined

if TYPE_CHECKING:
    from runreel.govern.sweep import Sweep


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


@contextmanager
def open_sweep(place: Place | Path, grace_s: float) -> "Iterator[Sweep]":
    """Open a sweep of the heavy parts of a place, for a block.

    Raises LockedError where a collector has the embedded store open, StoreError, UsageError (the grace).
    """
    from runreel.exporters.aside import aside_of
    from runreel.govern.sweep import Sweep

    where = as_place(place)
    if where.collector is not None:
        raise UsageError("a sweep needs the store itself: name it with --store and --blobs, or --config")
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
