"""The Protocols of stores, and what a store is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from runreel.values import DEFAULT_TENANT, LogEvent, Payload, Run, RunSummary, SpanRow


@dataclass(frozen=True, slots=True)
class RunQuery:
    """What `runs ls` asks for. Newest first; `limit` 0 means all.

    `user` is a user's ref as runs show it, `tool` a tool that was called, `verdict` full, partial or none. `text` is
    looked for in everything that the run holds, redacted as it is, whatever the case: each run is read for that.
    Without `replays` only recorded runs are listed, with it only replays; `replay_of` is the run that they replay.
    """

    tenant: str = DEFAULT_TENANT
    since_ns: int | None = None
    agent: str | None = None
    user: str | None = None
    outcome: str | None = None
    tool: str | None = None
    verdict: str | None = None
    text: str | None = None
    replays: bool = False
    replay_of: str | None = None
    limit: int = 100


class BlobStore(Protocol):
    """Heavy parts by hash. Thread-safe. A tenant never sees another's parts."""

    def put(self, tenant: str, sha256: str, data: bytes, media_type: str) -> None:
        """Store bytes under their hash; the same bytes twice is no error. Durable on return. Raises RetryableError."""

    def get(self, tenant: str, sha256: str) -> bytes:
        """Return the bytes, verified against the hash. Raises NotFoundError, CorruptError."""
        ...

    def check(self) -> None:
        """Write something small, read it and take it away. Raises StoreError with the reason."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Trace:
    """What a store knows of a trace without reading its rows. Times in nanoseconds since 1970.

    `started_ns` and `ended_ns` are the sender's, 2**64-1 and 0 where no span has a time that can be; `changed_ns` is
    when the last of it arrived, by our clock. `steps`: it has a span that is a step of a run. `run_hints` are the runs
    that its spans name. `other_steps`: it has steps that are no model calls. `callers` are the (service instance,
    scope) that wrote its model calls, where the instance is known.
    """

    trace_id: str
    steps: bool
    started_ns: int
    ended_ns: int
    changed_ns: int
    run_hints: tuple[str, ...] = ()
    other_steps: bool = False
    callers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part as a database holds it, not verified. `data` is None where its bytes are in the blob store."""

    sha256: str
    size: int
    media_type: str
    data: bytes | None


@dataclass(frozen=True, slots=True)
class CachedRun:
    """A line of the cache of runs: what came out when the spans of these traces were assembled.

    `changed_ns` is the newest news that were seen, `derivation` names the code that assembled. `summary` is None where
    the traces hold no run of that id.
    """

    run_id: str
    traces: tuple[str, ...]
    changed_ns: int
    assembled_ns: int
    derivation: str
    summary: RunSummary | None


@dataclass(frozen=True, slots=True)
class KeptGolden:
    """A golden as stores know it: a run that is kept as a test case in somebody's repository, which no store can see.

    `name` and `ticket` are redacted. `sha256` is the fingerprint of what was recorded (`goldens.folder.fingerprint`),
    `registered_ns` our time in nanoseconds since 1970, 0 before it is stored.
    """

    run_id: str
    name: str
    ticket: str = ""
    sha256: str = ""
    registered_ns: int = 0


class GoldenRegister(Protocol):
    """Which runs are goldens: retention keeps them, erasure names the goldens that hold what is erased."""

    def keep_golden(self, tenant: str, golden: KeptGolden) -> None:
        """Register a golden, durable on return; once more puts it in the place of what it said before.

        Raises ConsumeError, StoreError.
        """

    def goldens(self, tenant: str) -> Sequence[KeptGolden]:
        """Return every golden that is registered, by run and name. Raises StoreError."""
        ...


class Database(GoldenRegister, Protocol):
    """The rows that runs are assembled from. Exact before any merge: a batch sent twice is there once.

    Raises StoreError where it cannot be read, CorruptError where a row is not what was written.
    """

    def recent(self, tenant: str, *, since_ns: int | None, limit: int, offset: int) -> Sequence[Trace]:
        """Return traces with steps, latest start first."""
        ...

    def changed(self, tenant: str, *, after_ns: int, until_ns: int, limit: int) -> Sequence[Trace]:
        """Return traces with steps whose last news came in (after, until], the oldest news first. More than `limit`
        only where the last of them share their news."""
        ...

    def traces(self, tenant: str, trace_ids: Sequence[str]) -> Sequence[Trace]:
        """Return what is known of these traces; those that are not there are left out."""
        ...

    def named(self, tenant: str, run_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return, by run id, the traces with spans that name the run."""
        ...

    def beside(self, tenant: str, traces: Sequence[Trace]) -> Mapping[str, Sequence[str]]:
        """Return, for each trace, others whose model calls may be the same as its own: another scope of the same
        service instance wrote them, at the time. What they say decides, and is not looked at here."""
        ...

    def starting_with(self, tenant: str, prefix: str, limit: int) -> Sequence[str]:
        """Return ids of traces with steps whose own id, or that of a run they name, starts with the prefix."""
        ...

    def rows(self, tenant: str, trace_ids: Sequence[str]) -> tuple[Sequence[SpanRow], Sequence[LogEvent]]:
        """Return every span and log event of these traces, heavy values still as references."""
        ...

    def payloads(self, tenant: str, hashes: Sequence[str]) -> Mapping[str, Payload]:
        """Return payloads by the SHA-256 of their ref, not verified; those that are not there are left out."""
        ...

    def parts(self, tenant: str, hashes: Sequence[str]) -> Mapping[str, StoredPart]:
        """Return parts by SHA-256, not verified; those that are not there are left out."""
        ...

    def cached(self, tenant: str, run_ids: Sequence[str]) -> Mapping[str, CachedRun]:
        """Return, by run id, the line of the latest assembly."""
        ...

    def remember(self, tenant: str, runs: Sequence[CachedRun]) -> None:
        """Write lines of the cache. Twice is harmless."""

    def shutdown(self) -> None: ...


class RunStore(Protocol):
    """One interface, three ways to a run: a store, a collector's read API, a reel file."""

    def runs(self, query: RunQuery) -> Sequence[RunSummary]:
        """List runs, newest first."""
        ...

    def resolve(self, tenant: str, text: str) -> str:
        """Return the run id for a run id, a trace id, a unique prefix of either, or `last`, which is no replay.

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
