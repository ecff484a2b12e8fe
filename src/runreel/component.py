"""The Protocols that the collector's components keep, and what may be expected of each."""

from typing import Protocol

from runreel.values import CleanBatch, RawBatch, SplitBatch


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
