"""The Protocols that the collector's components keep, and what may be expected of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from runreel.values import CleanBatch, Quarantined, RawBatch, SplitBatch


class SchemaProcessor(Protocol):
    """Takes the facts out of each span. Pure: no I/O, no task, no clock."""

    def process(self, batch: RawBatch) -> RawBatch: ...


class RedactProcessor(Protocol):
    """Redacts every string of a batch, at every depth. Pure but for its memo; thread-safe; fails closed."""

    def process(self, batch: RawBatch) -> CleanBatch: ...

    def text(self, text: str) -> str:
        """Return one text redacted. Raises what a detector raises: the caller must withhold the text then."""
        ...


class SplitProcessor(Protocol):
    """Splits heavy values off by content hash. Pure."""

    def process(self, batch: CleanBatch) -> SplitBatch: ...


class Exporter(Protocol):
    """Stores a batch. Synchronous: the collector calls it from one writer thread.

    `export` returns only once the batch is durable, is idempotent (the same batch twice is stored once), and raises
    RetryableError or PermanentError only. `shutdown` is safe without `start`, and twice.
    """

    def start(self) -> None: ...

    def export(self, batch: SplitBatch) -> None: ...

    def check(self) -> None:
        """Write and read something small. Raises StoreError or ConsumeError with the reason. Any thread."""

    def shutdown(self) -> None: ...


Fate = Literal["released", "dropped", "expired"]
"""What becomes of what is in quarantine."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a quarantine holds of one tenant for one reason."""

    items: int
    bytes: int


class Quarantine(Protocol):
    """What is kept aside instead of stored. Thread-safe. Raises StoreError, RetryableError, PermanentError."""

    def put(self, items: Sequence[Quarantined]) -> None:
        """Keep items, durable on return; the same item twice is kept once."""

    def items(self, tenant: str, *, limit: int = 0) -> Sequence[Quarantined]:
        """Return what is kept, newest first, without the records. `limit` 0 means all."""
        ...

    def get(self, tenant: str, ids: Sequence[str]) -> Sequence[Quarantined]:
        """Return these, with their records; those that are not kept are left out."""
        ...

    def remove(self, items: Sequence[Quarantined], fate: Fate) -> None:
        """Take these out for good: their bytes go, their fate stays. One that was put there again meanwhile stays."""

    def fates(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Fate | Literal["held"]]:
        """Return what became of these at last, `held` where they are kept; those that never were are left out."""
        ...

    def kept(self) -> Mapping[tuple[str, str], Kept]:
        """Return how much is kept, by tenant and reason."""
        ...

    def expired(self, before_ns: int, *, limit: int) -> Sequence[Quarantined]:
        """Return what was put there before a time, of every tenant, without the records."""
        ...


@runtime_checkable
class KeepsQuarantine(Protocol):
    """An exporter whose `export` puts what a batch has in `quarantined` into its quarantine."""

    quarantine: Quarantine

    def withdraw(self, batch: SplitBatch) -> None:
        """Delete the log events and spans of a batch where they are stored, in that order: they are kept aside. What
        they name, and others may name too, stays. Raises StoreError, ConsumeError; once more changes nothing."""
