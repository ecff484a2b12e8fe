"""A store in memory: an Exporter, a Database and a BlobStore in one. Reels stand on it, and tests."""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from runreel.component import Fate, Kept
from runreel.errors import CorruptError, NotFoundError
from runreel.exporters import rows
from runreel.onward import onward_ns
from runreel.storage import CachedRun, KeptGolden, StoredPart, Trace
from runreel.values import LogEvent, Part, Payload, Quarantined, SpanRow, SplitBatch

_NO_TIME = 2**64 - 1
Key = tuple[str, str]


class MemoryQuarantine:
    """A Quarantine in memory. Thread-safe."""

    def __init__(self, clock: Callable[[], int] = onward_ns) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[Key, Quarantined] = {}
        self._fates: dict[Key, Fate | Literal["held"]] = {}

    def put(self, items: Sequence[Quarantined]) -> None:
        """Keep items."""
        with self._lock:
            for one in items:
                before = self._held.get((one.tenant, one.id))
                at = max(self._clock(), before.arrived_ns + 1 if before else 0)
                self._held[one.tenant, one.id] = replace(one, arrived_ns=at)
                self._fates[one.tenant, one.id] = "held"

    def items(self, tenant: str, *, limit: int = 0) -> Sequence[Quarantined]:
        """Return what is kept, newest first, without the records."""
        found = [replace(one, record=b"") for (owner, _), one in self._held.items() if owner == tenant]
        found.sort(key=lambda one: (-one.arrived_ns, one.id))
        return found[: limit or None]

    def get(self, tenant: str, ids: Sequence[str]) -> Sequence[Quarantined]:
        """Return these, with their records."""
        found = [self._held[tenant, id_] for id_ in ids if (tenant, id_) in self._held]
        return sorted(found, key=lambda one: (-one.arrived_ns, one.id))

    def remove(self, items: Sequence[Quarantined], fate: Fate) -> None:
        """Take these out for good."""
        with self._lock:
            for one in items:
                held = self._held.get((one.tenant, one.id))
                if held is not None and held.arrived_ns == one.arrived_ns:
                    del self._held[one.tenant, one.id]
                    self._fates[one.tenant, one.id] = fate

    def fates(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Fate | Literal["held"]]:
        """Return what became of these at last, `held` where they are kept; those that never were are left out."""
        with self._lock:
            return {one: self._fates[tenant, one] for one in ids if (tenant, one) in self._fates}

    def kept(self) -> Mapping[tuple[str, str], Kept]:
        """Return how much is kept, by tenant and reason."""
        found: dict[tuple[str, str], Kept] = {}
        for one in self._held.values():
            before = found.get((one.tenant, one.reason), Kept(0, 0))
            found[one.tenant, one.reason] = Kept(before.items + 1, before.bytes + one.size)
        return dict(sorted(found.items()))

    def expired(self, before_ns: int, *, limit: int) -> Sequence[Quarantined]:
        """Return what was put there before a time, of every tenant, the oldest first."""
        found = [replace(one, record=b"") for one in self._held.values() if one.arrived_ns < before_ns]
        return sorted(found, key=lambda one: one.arrived_ns)[:limit]


class Memory:
    """Keeps what it is given until it is dropped. Thread-safe; the same batch twice is kept once.

    Args:
        clock: Our time in nanoseconds since 1970: when a batch arrived.
    """

    def __init__(self, clock: Callable[[], int] = onward_ns) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._arrived_ns = 0
        self._spans: dict[Key, dict[tuple[str, str], SpanRow]] = {}
        self._logs: dict[Key, dict[tuple[str, str], LogEvent]] = {}
        self._payloads: dict[Key, Payload] = {}
        self._parts: dict[Key, Part] = {}
        self._traces: dict[Key, Trace] = {}
        self._named: dict[Key, set[str]] = {}
        self._cached: dict[Key, CachedRun] = {}
        self._goldens: dict[tuple[str, str, str], KeptGolden] = {}
        self._calls: set[tuple[str, str, str, str, int]] = set()
        self.quarantine = MemoryQuarantine(clock)

    def start(self) -> None:
        """Nothing to open."""

    def export(self, batch: SplitBatch) -> None:
        """Keep a batch."""
        self.quarantine.put(batch.quarantined)
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

    def withdraw(self, batch: SplitBatch) -> None:
        """Forget the spans and log events of a batch."""
        with self._lock:
            keys = [row.span.key for row in batch.rows]
            for key in keys:
                self._spans.get((key.tenant, key.trace_id), {}).pop((key.span_id, key.copy), None)
            for log in batch.logs:
                self._logs.get((log.tenant, log.trace_id), {}).pop((log.span_id, log.copy), None)
            self._arrived_ns = max(self._arrived_ns + 1, self._clock())
            for trace in rows.gone(
                [one.trace_id for one in keys] + [one.trace_id for one in batch.logs], self._arrived_ns
            ):
                self._learn(batch.tenant, trace)

    def forget_known(self) -> None:
        """Nothing is remembered beside what is stored."""

    def check(self) -> None:
        """Memory is always there."""

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
            old.other_steps or new.other_steps,
            tuple(sorted({*old.callers, *new.callers})),
        )
        self._calls.update((tenant, instance, scope, new.trace_id, new.started_ns) for instance, scope in new.callers)
        for name in new.run_hints:
            self._named.setdefault((tenant, name), set()).add(new.trace_id)

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

    def changed(self, tenant: str, *, after_ns: int, until_ns: int, limit: int) -> Sequence[Trace]:
        """Return traces with steps by their last news, the oldest first."""
        found = [
            trace
            for (owner, _), trace in self._traces.items()
            if owner == tenant and trace.steps and after_ns < trace.changed_ns <= until_ns
        ]
        found.sort(key=lambda trace: (trace.changed_ns, trace.trace_id))
        last = found[limit - 1].changed_ns if len(found) >= limit else until_ns
        return [trace for trace in found if trace.changed_ns <= last]

    def traces(self, tenant: str, trace_ids: Sequence[str]) -> Sequence[Trace]:
        """Return what is known of these traces."""
        wanted = sorted(set(trace_ids))
        return [self._traces[tenant, trace_id] for trace_id in wanted if (tenant, trace_id) in self._traces]

    def named(self, tenant: str, run_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return, by run id, the traces with spans that name the run."""
        return {name: sorted(self._named[tenant, name]) for name in run_ids if (tenant, name) in self._named}

    def beside(self, tenant: str, traces: Sequence[Trace]) -> Mapping[str, Sequence[str]]:
        """Return, for each trace, others whose model calls may be the same as its own."""
        return rows.beside(
            traces, [(where, scope, name, at) for owner, where, scope, name, at in self._calls if owner == tenant]
        )

    def starting_with(self, tenant: str, prefix: str, limit: int) -> Sequence[str]:
        """Return ids of traces with steps whose own id, or that of a run they name, starts with the prefix."""
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

    def cached(self, tenant: str, run_ids: Sequence[str]) -> Mapping[str, CachedRun]:
        """Return, by run id, the line of the latest assembly."""
        return {run_id: self._cached[tenant, run_id] for run_id in run_ids if (tenant, run_id) in self._cached}

    def remember(self, tenant: str, runs: Sequence[CachedRun]) -> None:
        """Keep lines of the cache."""
        with self._lock:
            for run in runs:
                before = self._cached.get((tenant, run.run_id))
                if before is None or before.assembled_ns <= run.assembled_ns:
                    self._cached[tenant, run.run_id] = run

    def keep_golden(self, tenant: str, golden: KeptGolden) -> None:
        """Register a golden, over what was said of it before."""
        with self._lock:
            self._goldens[tenant, golden.run_id, golden.name] = replace(golden, registered_ns=self._clock())

    def goldens(self, tenant: str) -> Sequence[KeptGolden]:
        """Return every golden that is registered, by run and name."""
        return [self._goldens[key] for key in sorted(self._goldens) if key[0] == tenant]

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
