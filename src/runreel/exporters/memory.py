"""A store in memory: an Exporter, a Database and a BlobStore in one. Reels stand on it, and tests."""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from runreel.errors import CorruptError, NotFoundError
from runreel.exporters import rows
from runreel.storage import CachedRun, StoredPart, Trace
from runreel.values import LogEvent, Part, Payload, SpanRow, SplitBatch

_NO_TIME = 2**64 - 1
Key = tuple[str, str]


class Memory:
    """Keeps what it is given until it is dropped. Thread-safe; the same batch twice is kept once.

    Args:
        clock: Our time in nanoseconds since 1970: when a batch arrived.
    """

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._arrived_ns = 0
        self._spans: dict[Key, dict[tuple[str, str], SpanRow]] = {}
        self._logs: dict[Key, dict[tuple[str, str], LogEvent]] = {}
        self._payloads: dict[Key, Payload] = {}
        self._parts: dict[Key, Part] = {}
        self._traces: dict[Key, Trace] = {}
        self._names: dict[tuple[str, str, str], set[str]] = {}
        self._cached: dict[Key, tuple[CachedRun, ...]] = {}

    def start(self) -> None:
        """Nothing to open."""

    def export(self, batch: SplitBatch) -> None:
        """Keep a batch."""
        with self._lock:
            self._arrived_ns = max(self._arrived_ns + 1, self._clock())
            for part in batch.parts:
                self._parts.setdefault((part.tenant, part.sha256), part)
            for payload in batch.payloads:
                self._payloads.setdefault((payload.tenant, payload.ref.sha256), payload)
            for log in batch.logs:
                self._logs.setdefault((log.tenant, log.trace_id), {})[log.span_id, log.copy] = log
            for row in batch.rows:
                key = row.span.key
                self._spans.setdefault((key.tenant, key.trace_id), {})[key.span_id, key.copy] = row
            for trace in rows.traces_of(batch.rows, batch.logs, self._arrived_ns):
                self._learn(batch.tenant, trace)

    def forget_known(self) -> None:
        """Nothing is remembered beside what is stored."""

    def shutdown(self) -> None:
        """Nothing to close."""

    def _learn(self, tenant: str, new: Trace) -> None:
        old = self._traces.get((tenant, new.trace_id)) or Trace(new.trace_id, False, _NO_TIME, 0, 0)
        self._traces[tenant, new.trace_id] = Trace(
            new.trace_id,
            old.steps or new.steps,
            min(old.started_ns, new.started_ns),
            max(old.ended_ns, new.ended_ns),
            max(old.changed_ns, new.changed_ns),
            tuple(sorted({*old.run_hints, *new.run_hints})),
            tuple(sorted({*old.instances, *new.instances})),
        )
        for name in new.run_hints:
            self._names.setdefault((tenant, "run", name), set()).add(new.trace_id)
        for name in new.instances if new.steps else ():
            self._names.setdefault((tenant, "instance", name), set()).add(new.trace_id)

    # --- Database ---

    def recent(self, tenant: str, *, since_ns: int | None, limit: int, offset: int) -> Sequence[Trace]:
        """Return traces with steps, latest start first."""
        found = [
            trace
            for (owner, _), trace in self._traces.items()
            if owner == tenant and trace.steps and trace.started_ns >= (since_ns or 0)
        ]
        found.sort(key=lambda trace: (-trace.started_ns, trace.trace_id))
        return found[offset : offset + limit]

    def traces(self, tenant: str, trace_ids: Sequence[str]) -> Sequence[Trace]:
        """Return what is known of these traces."""
        wanted = sorted(set(trace_ids))
        return [self._traces[tenant, trace_id] for trace_id in wanted if (tenant, trace_id) in self._traces]

    def named(self, tenant: str, what: Literal["run", "instance"], names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return the traces in which a sender used one of these names."""
        return {name: sorted(self._names[tenant, what, name]) for name in names if (tenant, what, name) in self._names}

    def starting_with(self, tenant: str, prefix: str, limit: int) -> Sequence[str]:
        """Return ids of traces with steps: the trace id, or what the sender called the run, starts with the prefix."""
        found = sorted(
            trace.trace_id
            for (owner, _), trace in self._traces.items()
            if owner == tenant
            and trace.steps
            and any(name.startswith(prefix) for name in (trace.trace_id, *trace.run_hints))
        )
        return found[:limit]

    def rows(self, tenant: str, trace_ids: Sequence[str]) -> tuple[Sequence[SpanRow], Sequence[LogEvent]]:
        """Return every span and log event of these traces."""
        wanted = list(dict.fromkeys(trace_ids))
        return (
            [row for trace_id in wanted for row in self._spans.get((tenant, trace_id), {}).values()],
            [log for trace_id in wanted for log in self._logs.get((tenant, trace_id), {}).values()],
        )

    def payloads(self, tenant: str, hashes: Sequence[str]) -> Mapping[str, Payload]:
        """Return payloads by the SHA-256 of their ref."""
        return {sha256: self._payloads[tenant, sha256] for sha256 in hashes if (tenant, sha256) in self._payloads}

    def parts(self, tenant: str, hashes: Sequence[str]) -> Mapping[str, StoredPart]:
        """Return parts by SHA-256."""
        found = {sha256: self._parts[tenant, sha256] for sha256 in hashes if (tenant, sha256) in self._parts}
        return {
            sha256: StoredPart(sha256, len(part.data), part.media_type, part.data) for sha256, part in found.items()
        }

    def cached(self, tenant: str, anchors: Sequence[str]) -> Mapping[str, Sequence[CachedRun]]:
        """Return, by anchor, the lines of the latest assembly."""
        return {anchor: self._cached[tenant, anchor] for anchor in anchors if (tenant, anchor) in self._cached}

    def remember(self, tenant: str, runs: Sequence[CachedRun]) -> None:
        """Keep lines of the cache: of each anchor those of the latest assembly."""
        with self._lock:
            for anchor in {run.anchor for run in runs}:
                lines = [*self._cached.get((tenant, anchor), ()), *(run for run in runs if run.anchor == anchor)]
                latest = max(line.assembled_ns for line in lines)
                self._cached[tenant, anchor] = tuple(
                    dict.fromkeys(line for line in lines if line.assembled_ns == latest)
                )

    # --- BlobStore ---

    def put(self, tenant: str, sha256: str, data: bytes, media_type: str) -> None:
        """Keep bytes under their hash."""
        with self._lock:
            self._parts.setdefault((tenant, sha256), Part(tenant, sha256, data, media_type))

    def get(self, tenant: str, sha256: str) -> bytes:
        """Return the bytes, verified. Raises NotFoundError, CorruptError."""
        part = self._parts.get((tenant, sha256))
        if part is None:
            raise NotFoundError(f"no part sha256:{sha256} in memory")
        if hashlib.sha256(part.data).hexdigest() != sha256:
            raise CorruptError(f"part sha256:{sha256} is damaged: memory does not hold the bytes of that hash")
        return part.data

    def close(self) -> None:
        """Nothing to close."""
