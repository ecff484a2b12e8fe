"""The Protocols of stores, and what a store is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from runreel.values import DEFAULT_TENANT, Run, RunSummary


@dataclass(frozen=True, slots=True)
class RunQuery:
    """What `runs ls` asks for. Newest first; `limit` 0 means all."""

    tenant: str = DEFAULT_TENANT
    since_ns: int | None = None
    agent: str | None = None
    outcome: str | None = None
    replays: bool = False
    limit: int = 100


class BlobStore(Protocol):
    """Heavy parts by hash. Thread-safe. A tenant never sees another's parts."""

    def put(self, tenant: str, sha256: str, data: bytes, media_type: str) -> None:
        """Store bytes under their hash; the same bytes twice is no error. Durable on return. Raises RetryableError."""

    def get(self, tenant: str, sha256: str) -> bytes:
        """Return the bytes, verified against the hash. Raises NotFoundError, CorruptError."""
        ...

    def close(self) -> None: ...


class RunStore(Protocol):
    """One interface, three ways to a run: a store, a collector's read API, a reel file."""

    def runs(self, query: RunQuery) -> Sequence[RunSummary]:
        """List runs, newest first."""
        ...

    def resolve(self, tenant: str, text: str) -> str:
        """Return the run id for a run id, a trace id, a unique prefix of either, or `last`.

        Raises NotFoundError (names the text, and what there is), UsageError where a prefix is not unique.
        """
        ...

    def run(self, tenant: str, run_id: str) -> Run:
        """Load and assemble a run, every part and payload checked against its hash.

        Raises NotFoundError, CorruptError.
        """
        ...

    def reel(self, tenant: str, run_id: str) -> bytes:
        """Return the run as a reel (zip): its rows, payloads and parts."""
        ...

    def part(self, tenant: str, sha256: str) -> bytes:
        """Return one part or payload by hash, verified. Raises NotFoundError, CorruptError."""
        ...

    def close(self) -> None: ...
