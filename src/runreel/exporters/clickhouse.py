"""Stores split batches in ClickHouse tables, and reads back the rows that runs are assembled from.

Order of writing: heavy parts to the blob store, then parts, payloads, log events, what is known of each trace, and the
spans last, so that no row names what is not stored. Each table collapses rows by key on read, so a batch that is
sent again, whole or in part, changes nothing.
"""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import zstandard

from runreel.errors import CorruptError
from runreel.exporters import rows, tables
from runreel.exporters.blobs import unpack
from runreel.exporters.connection import Connection, new_token
from runreel.exporters.quarantine import QuarantineTable, erase
from runreel.onward import onward_ns
from runreel.storage import BlobStore, CachedRun, KeptGolden, StoredPart, Trace
from runreel.values import LogEvent, Part, Payload, Ref, SpanRow, SplitBatch

T = TypeVar("T")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LEVEL = 3
# Names in one query: their text travels with it.
_CHUNK = 500
_SPANS = (
    "SELECT trace_id, span_id, copy, parent_id, span_kind, status, start_ns, end_ns, facts, record, scope, resource "
    "FROM runreel.spans FINAL WHERE tenant = {tenant:String} AND trace_id IN {names:Array(String)}"
)
_LOGS = (
    "SELECT trace_id, span_id, copy, severity, time_ns, observed_ns, record, scope, resource "
    "FROM runreel.log_events FINAL WHERE tenant = {tenant:String} AND trace_id IN {names:Array(String)}"
)
# A hash that ends in a zero byte equals its column only as a FixedString: a String loses the zero on the way.
_PAYLOADS = (
    "SELECT sha256, size, state, reason, skeleton, parts FROM runreel.payloads "
    "WHERE tenant = {tenant:String} AND sha256 IN (SELECT toFixedString(unhex(arrayJoin({names:Array(String)})), 32))"
)
_PARTS = (
    "SELECT sha256, size, media_type, codec, place, data FROM runreel.parts "
    "WHERE tenant = {tenant:String} AND sha256 IN (SELECT toFixedString(unhex(arrayJoin({names:Array(String)})), 32))"
)
_TRACES = (
    "SELECT trace_id, steps, started_ns, ended_ns, changed_ns, run_hints, other_steps, callers FROM runreel.trace_news"
)
_CACHED = (
    "SELECT run_id, made, traces, changed_ns, assembled_ns, derivation, trace_ids, agent_id, started_ns, ended_ns, "
    "outcome, open, model_calls, tool_calls, retrievals, replayable, parent_run_id, replay_of, user_ref, env, "
    "revision, tools, replay_result, usage FROM runreel.runs "
    "WHERE tenant = {tenant:String} AND run_id IN {names:Array(String)}"
)

_GOLDENS = (
    "SELECT run_id, name, ticket, sha256, registered_ns FROM runreel.goldens FINAL WHERE tenant = {tenant:String} "
    "ORDER BY run_id, name"
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What of the store can be set.

    Attributes:
        inline_bytes: Parts of more bytes than this go to the blob store, where there is one.
        memo_parts: How many parts written lately are remembered, and not written again. 0: none.
        memo_s: For how long. Must stay under half the grace of whatever sweeps parts that nothing names.
    """

    inline_bytes: int = 32 * 1024
    memo_parts: int = 100_000
    memo_s: float = 600.0


class ClickHouse:
    """An Exporter, and the Database that runs are read from. Thread-safe; owns its engine.

    Args:
        engine: An open engine, or a connection to a server.
        blobs: Where heavy parts go; None keeps every part in the table.
        settings: See Settings.
        clock: Our time in nanoseconds since 1970: when a batch arrived.
    """

    def __init__(
        self,
        engine: Connection,
        blobs: BlobStore | None = None,
        settings: Settings | None = None,
        clock: Callable[[], int] = onward_ns,
    ) -> None:
        self._engine = engine
        self._blobs = blobs
        self._settings = settings or Settings()
        self._clock = clock
        self._writing = threading.Lock()
        self._arrived_ns = 0
        self._known = _Memo(self._settings.memo_parts, self._settings.memo_s)
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self.quarantine = QuarantineTable(engine, clock)

    def start(self) -> None:
        """Do the first insert of the process, which costs most of a second, before anybody waits for it; and learn of
        the last news, which what comes now is newer than, though the clock was set back since."""
        ((latest,),) = self._engine.query("SELECT max(changed_ns) FROM runreel.traces")
        self._arrived_ns = max(self._arrived_ns, latest)
        self.check()

    def export(self, batch: SplitBatch) -> None:
        """Store a batch, durable on return; the same batch again changes nothing.

        Raises:
            RetryableError, PermanentError: without a word of the data.
        """
        with self._writing:
            # Never the token of an attempt before: where that was cut off, it may stand for a part of the rows, and
            # would swallow the rest. Each table collapses what is there twice.
            self._write(batch, new_token())

    def forget_known(self) -> None:
        """Forget which parts are stored; whoever deletes parts calls this first."""
        with self._writing:
            self._known.clear()

    def withdraw(self, batch: SplitBatch) -> None:
        """Delete the spans and log events of a batch, bytes and all; waits for it. Raises StoreError, ConsumeError."""
        spans, logs = [one.span.key for one in batch.rows], batch.logs
        traces = {one.trace_id for one in spans} | {one.trace_id for one in logs}
        # Before, too: cut off in between, no line of the cache may be trusted that was made while they were there.
        self._tell_news(batch.tenant, traces)
        erase(self._engine, "log_events", [(one.tenant, one.trace_id, one.span_id, one.copy) for one in logs])
        erase(self._engine, "spans", [(one.tenant, one.trace_id, one.span_id, one.copy) for one in spans])
        self._tell_news(batch.tenant, traces)

    def _tell_news(self, tenant: str, trace_ids: Iterable[str]) -> None:
        with self._writing:
            arrived = self._arrived_ns = max(self._arrived_ns + 1, self._clock())
            columns = tables.trace_columns(tenant, rows.gone(trace_ids, arrived))
            self._engine.insert("traces", columns, new_token())

    def check(self) -> None:
        """Write the tables' version again, and read it. Raises StoreError, ConsumeError."""
        ((version,),) = self._engine.query("SELECT max(version) FROM runreel.schema_version")
        self._engine.insert("schema_version", {"version": [version]}, new_token())

    def shutdown(self) -> None:
        """Close the engine."""
        self._engine.close()

    def _write(self, batch: SplitBatch, token: str) -> None:
        # Never twice the same, and never back: a reader tells news from what it has seen by this number.
        arrived = self._arrived_ns = max(self._arrived_ns + 1, self._clock())
        parts = {part.sha256: part for part in batch.parts if not self._known.holds((batch.tenant, part.sha256))}
        payloads = {payload.ref.sha256: payload for payload in batch.payloads}
        self._engine.insert("parts", self._part_columns([*parts.values()], arrived), token)
        self._engine.insert("payloads", tables.payload_columns([*payloads.values()], arrived), token)
        self._engine.insert("log_events", rows.log_columns(batch.logs, arrived), token)
        traces = rows.traces_of(batch.rows, batch.logs, arrived)
        self._engine.insert("run_names", tables.name_columns(batch.tenant, traces), token)
        self._engine.insert("callers", tables.caller_columns(batch.tenant, traces), token)
        self._engine.insert("traces", tables.trace_columns(batch.tenant, traces), token)
        self._engine.insert("spans", rows.span_columns(batch.rows, arrived), token)
        self.quarantine.put(batch.quarantined)
        for sha256 in parts:
            self._known.add((batch.tenant, sha256))

    def _part_columns(self, parts: Sequence[Part], arrived_ns: int) -> Mapping[str, Sequence[Any]]:
        data, codecs, places = [], [], []
        for part in parts:
            if self._blobs is not None and len(part.data) > self._settings.inline_bytes:
                self._blobs.put(part.tenant, part.sha256, part.data, part.media_type)
                packed, codec, place = b"", "none", "blobs"
            else:
                packed, codec, place = self._compressor.compress(part.data), "zstd", "table"
                if len(packed) >= len(part.data):
                    packed, codec = part.data, "none"
            data.append(packed)
            codecs.append(codec)
            places.append(place)
        return {
            "tenant": [part.tenant for part in parts],
            "sha256": [bytes.fromhex(part.sha256) for part in parts],
            "size": [len(part.data) for part in parts],
            "media_type": [part.media_type for part in parts],
            "codec": codecs,
            "place": places,
            "data": data,
            "arrived_ns": [arrived_ns] * len(parts),
        }

    def version(self) -> tuple[str, int]:
        """Return what the store is called, and the version of its tables. Raises StoreError."""
        ((version,),) = self._engine.query("SELECT max(version) FROM runreel.schema_version")
        return str(self._engine.path), version

    def tell_ledger(self, collector: str, counts: Mapping[str, Mapping[str, int]]) -> None:
        """Write what a collector counts, by tenant, over what it told last. Raises RetryableError, PermanentError."""
        lines = [(tenant, what, number) for tenant, of in counts.items() for what, number in of.items()]
        columns: dict[str, Sequence[Any]] = {
            "tenant": [tenant for tenant, _, _ in lines],
            "collector": [collector] * len(lines),
            "what": [what for _, what, _ in lines],
            "number": [number for _, _, number in lines],
            "told_ns": [self._clock()] * len(lines),
        }
        self._engine.insert("ledger", columns, new_token())

    # --- Database ---

    def recent(self, tenant: str, *, since_ns: int | None, limit: int, offset: int) -> Sequence[Trace]:
        """Return traces with steps, latest start first."""
        found = self._engine.query(
            f"{_TRACES} "  # noqa: S608
            # The inner query goes over every trace of the tenant, so it looks at no more than the order needs.
            "WHERE tenant = {tenant:String} AND trace_id IN (SELECT trace_id FROM runreel.traces "
            "WHERE tenant = {tenant:String} GROUP BY trace_id "
            "HAVING max(steps) = 1 AND min(started_ns) >= {since:UInt64} "
            "ORDER BY min(started_ns) DESC, trace_id LIMIT {limit:UInt64} OFFSET {offset:UInt64}) "
            "ORDER BY started_ns DESC, trace_id",
            {"tenant": tenant, "since": max(0, since_ns or 0), "limit": limit, "offset": offset},
        )
        return [tables.trace(row) for row in found]

    def changed(self, tenant: str, *, after_ns: int, until_ns: int, limit: int) -> Sequence[Trace]:
        """Return traces with steps by their last news, the oldest first."""
        found = self._engine.query(
            f"{_TRACES} WHERE tenant = {{tenant:String}} AND steps = 1 AND trace_id IN ("  # noqa: S608
            "SELECT trace_id FROM runreel.traces WHERE tenant = {tenant:String} GROUP BY trace_id "
            "HAVING max(changed_ns) > {after:UInt64} AND max(changed_ns) <= {until:UInt64} AND max(steps) = 1 "
            "ORDER BY max(changed_ns) LIMIT {limit:UInt64} WITH TIES) ORDER BY changed_ns, trace_id",
            {"tenant": tenant, "after": after_ns, "until": until_ns, "limit": limit},
        )
        return [tables.trace(row) for row in found]

    def traces(self, tenant: str, trace_ids: Sequence[str]) -> Sequence[Trace]:
        """Return what is known of these traces."""
        sql = f"{_TRACES} WHERE tenant = {{tenant:String}} AND trace_id IN {{names:Array(String)}} ORDER BY trace_id"
        return [tables.trace(row) for row in self._by_name(sql, tenant, trace_ids)]

    def named(self, tenant: str, run_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return, by run id, the traces with spans that name the run."""
        sql = (
            "SELECT DISTINCT run_id, trace_id FROM runreel.run_names "
            "WHERE tenant = {tenant:String} AND run_id IN {names:Array(String)} ORDER BY run_id, trace_id"
        )
        found: dict[str, list[str]] = {}
        for name, trace_id in self._by_name(sql, tenant, run_ids):
            found.setdefault(name, []).append(trace_id)
        return found

    def beside(self, tenant: str, traces: Sequence[Trace]) -> Mapping[str, Sequence[str]]:
        """Return, for each trace, others whose model calls may be the same as its own."""
        asked = [trace for trace in traces if trace.callers]
        if not asked:
            return {}
        instances = sorted({instance for trace in asked for instance, _ in trace.callers})
        windows = [rows.window(trace) for trace in asked]
        # An instance with one scope, the ordinary case, says nothing: the inner query sorts it out along the key.
        where = (
            "tenant = {tenant:String} AND instance IN {names:Array(String)} "
            "AND started_ns BETWEEN {first:UInt64} AND {last:UInt64}"
        )
        found = self._engine.query(
            f"SELECT DISTINCT instance, scope, trace_id, started_ns FROM runreel.callers WHERE {where} "  # noqa: S608
            f"AND instance IN (SELECT instance FROM runreel.callers WHERE {where} "
            "GROUP BY instance HAVING uniqExact(scope) > 1) ORDER BY started_ns, trace_id",
            {
                "tenant": tenant,
                "names": instances,
                "first": min(first for first, _ in windows),
                "last": max(last for _, last in windows),
            },
        )
        return rows.beside(asked, [(instance, scope, trace_id, at) for instance, scope, trace_id, at in found])

    def starting_with(self, tenant: str, prefix: str, limit: int) -> Sequence[str]:
        """Return ids of traces with steps whose own id, or that of a run they name, starts with the prefix."""
        found = self._engine.query(
            "SELECT trace_id FROM runreel.trace_news WHERE tenant = {tenant:String} AND steps = 1 AND "
            "(startsWith(trace_id, {prefix:String}) OR trace_id IN ("
            "SELECT trace_id FROM runreel.run_names WHERE tenant = {tenant:String} "
            "AND startsWith(run_id, {prefix:String}))) ORDER BY trace_id LIMIT {limit:UInt64}",
            {"tenant": tenant, "prefix": prefix, "limit": limit},
        )
        return [trace_id for (trace_id,) in found]

    def rows(self, tenant: str, trace_ids: Sequence[str]) -> tuple[Sequence[SpanRow], Sequence[LogEvent]]:
        """Return every span and log event of these traces."""
        spans = self._by_name(_SPANS, tenant, trace_ids)
        logs = self._by_name(_LOGS, tenant, trace_ids)
        return (
            [_decoded(rows.span_row, tenant, row, "span") for row in spans],
            [_decoded(rows.log_event, tenant, row, "log event") for row in logs],
        )

    def payloads(self, tenant: str, hashes: Sequence[str]) -> Mapping[str, Payload]:
        """Return payloads by the SHA-256 of their ref."""
        return {
            sha256.hex(): Payload(
                tenant, Ref(sha256.hex(), size, state, reason), skeleton, tuple(part.hex() for part in parts)
            )
            for sha256, size, state, reason, skeleton, parts in self._by_name(_PAYLOADS, tenant, _hex(hashes))
        }

    def parts(self, tenant: str, hashes: Sequence[str]) -> Mapping[str, StoredPart]:
        """Return parts by SHA-256."""
        found = {}
        rows_ = self._by_name(_PARTS, tenant, _hex(hashes), binary=("data",))
        for sha256, size, media_type, codec, place, data in rows_:
            name = sha256.hex()
            if place == "blobs":
                found[name] = StoredPart(name, size, media_type, None)
                continue
            raw = unpack(data, size) if codec == "zstd" else data
            # What does not decompress is handed on as it is: whoever checks the hash finds it damaged.
            found[name] = StoredPart(name, size, media_type, data if raw is None else raw)
        return found

    def cached(self, tenant: str, run_ids: Sequence[str]) -> Mapping[str, CachedRun]:
        """Return, by run id, the line of the latest assembly."""
        found: dict[str, CachedRun] = {}
        for row in self._by_name(_CACHED, tenant, run_ids):
            run = tables.cached_run(tenant, row)
            if run.run_id not in found or run.assembled_ns > found[run.run_id].assembled_ns:
                found[run.run_id] = run
        return found

    def remember(self, tenant: str, runs: Sequence[CachedRun]) -> None:
        """Write lines of the cache."""
        lines = [tables.cached_line(tenant, run) for run in runs]
        if lines:
            self._engine.insert("runs", {name: [line[name] for line in lines] for name in lines[0]}, new_token())

    def keep_golden(self, tenant: str, golden: KeptGolden) -> None:
        """Register a golden, over what was said of it before."""
        self._engine.insert("goldens", tables.golden_columns(tenant, golden, self._clock()), new_token())

    def goldens(self, tenant: str) -> Sequence[KeptGolden]:
        """Return every golden that is registered, by run and name."""
        return [KeptGolden(*row) for row in self._engine.query(_GOLDENS, {"tenant": tenant})]

    def _by_name(
        self,
        sql: str,
        tenant: str,
        names: Sequence[str],
        binary: Sequence[str] = (),
    ) -> Iterator[Sequence[Any]]:
        """Run a query over many names in pieces."""
        unique = list(dict.fromkeys(names))
        for start in range(0, len(unique), _CHUNK):
            asked = {"tenant": tenant, "names": unique[start : start + _CHUNK]}
            yield from self._engine.query(sql, asked, binary=binary)


def _hex(hashes: Sequence[str]) -> list[str]:
    """Return those that are hashes: what is none is not there, and no error of the engine."""
    return [sha256 for sha256 in hashes if _SHA256.fullmatch(sha256)]


class _Memo:
    """Remembers a bounded number of things for a bounded time."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._since: OrderedDict[tuple[str, str], float] = OrderedDict()

    def holds(self, thing: tuple[str, str]) -> bool:
        since = self._since.get(thing)
        return since is not None and time.monotonic() - since < self._seconds

    def add(self, thing: tuple[str, str]) -> None:
        self._since.pop(thing, None)
        self._since[thing] = time.monotonic()
        while len(self._since) > self._most:
            self._since.popitem(last=False)

    def clear(self) -> None:
        self._since.clear()


def _decoded(decode: Callable[[str, Sequence[Any]], T], tenant: str, row: Sequence[Any], what: str) -> T:
    try:
        return decode(tenant, row)
    except (ValueError, TypeError, KeyError):
        where = f"{what} {row[1]} of trace {row[0]}"
    raise CorruptError(f"{where}: its row is not what this version writes; the store is damaged, or of a newer RunReel")
