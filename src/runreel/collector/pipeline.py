"""The way of one request: decode, chain (schema, redact, split), store; it returns once what was sent is durable."""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from runreel import otlp
from runreel.collector import telemetry
from runreel.collector.admission import Lease
from runreel.collector.commit import Committer, Exporters
from runreel.collector.forward import Forwarder
from runreel.collector.logs import describe
from runreel.collector.telemetry import Telemetry
from runreel.collector.unusual import WRONG_PATH, Services, unusual
from runreel.component import Exporter
from runreel.errors import DecodeError, PermanentError, RetryableError
from runreel.spool import Spool
from runreel.spool.quarantine import set_apart
from runreel.values import DEFAULT_TENANT, RawBatch, Rejection, SplitBatch

_HASH_INLINE_BYTES = 256 * 1024  # above it hashing would hold up the event loop noticeably
_OTHERS_NAME: Mapping[str, bytes] = {"traces": b'"resourceLogs"', "logs": b'"resourceSpans"'}
_WRONG_PATH: Mapping[otlp.Signal, str] = {
    "logs": "these are log records, sent where others go: send them to /v1/logs, over gRPC LogsService/Export",
    "traces": "these are spans, sent where others go: send them to /v1/traces, over gRPC TraceService/Export",
}
_log = logging.getLogger(__name__)


class Chain(Protocol):
    """schema, redact and split as one step. Pure but for its memo; called from several threads."""

    def process(self, batch: RawBatch) -> SplitBatch: ...


@dataclass(frozen=True, slots=True)
class Request:
    """One export request as it came. `limit_bytes` holds for its decompressed size. `path` is where it came, where that
    is not where its signal goes."""

    signal: otlp.Signal
    encoding: otlp.Encoding
    body: bytes
    gzipped: bool
    limit_bytes: int
    tenant: str = DEFAULT_TENANT
    path: Literal["", "metrics"] = ""


@dataclass(frozen=True, slots=True)
class Route:
    """Where one signal goes: its chain, and its exporters in order."""

    chain: Chain
    exporters: Exporters


class Pipeline:
    """Takes requests from every receiver. `consume` may be called from the event loop only.

    CPU work runs in worker threads, so that the event loop stays live; the write in the committer's thread. With a
    spool a request is answered once it is in there, and stored behind the answer; without, once it is stored.
    """

    def __init__(
        self,
        routes: Mapping[otlp.Signal, Route],
        counts: Telemetry,
        workers: int = 2,
        spool: Spool | None = None,
    ) -> None:
        self._routes = routes
        self._counts = counts
        self._services = Services()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="runreel-worker")
        self._processing = 0
        self._committer = Committer(counts, lambda: 0 if spool else self._processing)
        self._spool = spool
        # Every pipeline names the same exporters: the configuration was checked for that.
        exporters = next(iter(routes.values())).exporters if routes else {}
        self._forwarder = Forwarder(spool, self._committer, exporters, counts) if spool else None
        self._strayed: set[str] = set()
        self._room: Callable[[], bool] = lambda: True
        self._in_flight: dict[bytes, asyncio.Task[tuple[Rejection, ...]]] = {}

    @property
    def signals(self) -> frozenset[otlp.Signal]:
        """The signals that have a pipeline."""
        return frozenset(self._routes)

    def has_room_aside(self, room: Callable[[], bool]) -> None:
        """Have `room` asked whether the quarantine takes more; where it does not, spans that belong there are rejected,
        and batches that a store refuses stay in the spool's folder."""
        self._room = self._committer.room = room

    def store_again(self, batches: Sequence[SplitBatch]) -> Sequence[Exception | None]:
        """Store what comes out of the quarantine, durable on return; say of each batch what went wrong. Blocks; any
        thread but the event loop's."""
        waits: list[Future[Any]]
        if self._spool is not None:
            waits = [self._spool.append(batch, again=True) for batch in batches]
        else:
            waits = [self._committer.submit(batch, self._exporters(), 0) for batch in batches]
        return [_outcome(wait) for wait in waits]

    async def start(self) -> None:
        """Start exporters, each once, then the writer. Raises StoreError where the spool cannot be used."""
        for exporter in self._exporters().values():
            await asyncio.to_thread(exporter.start)
        self._committer.start()
        if self._spool and self._forwarder:
            await asyncio.to_thread(self._spool.open)
            self._forwarder.start()

    async def shutdown(self) -> None:
        """Finish what is in flight, then stop the writer and the exporters. Safe without `start`, and twice."""
        while self._in_flight:
            await asyncio.wait(list(self._in_flight.values()))
        if self._spool and self._forwarder:
            await asyncio.to_thread(self._forwarder.stop)
            await asyncio.to_thread(self._spool.close)
        await asyncio.to_thread(self._committer.stop)
        self._pool.shutdown()
        for name, exporter in reversed(self._exporters().items()):
            try:
                await asyncio.to_thread(exporter.shutdown)
            except Exception as error:  # noqa: BLE001  the others must be shut down too, and nobody waits any more
                _log.error("an exporter did not shut down", extra={"exporter": name, "error": describe(error)})

    async def astray(self, body: bytes, encoding: otlp.Encoding, gzipped: bool, limit_bytes: int) -> otlp.Signal | None:
        """Return what a request holds that came as one of metrics, None where it is one, or none that can be read.

        Raises DecodeError where it cannot be unpacked within the limit.
        """

        def look() -> otlp.Signal | None:
            held = otlp.held(otlp.gunzip(body, limit_bytes) if gzipped else body, encoding)
            return max(held, default=None)  # of both, the traces: the logs are taken with them

        return await asyncio.get_running_loop().run_in_executor(self._pool, look)

    async def consume(self, request: Request, lease: Lease) -> tuple[Rejection, ...]:
        """Store one request; return what of it was not taken. What is returned from is durable.

        A request equal to one in flight shares its result. The work goes on when the caller is cancelled (a client that
        hung up), since half of it may be written already. Raises DecodeError, RetryableError, PermanentError.
        """
        key = await self._key(request)
        task = self._in_flight.get(key)
        if task is not None:
            self._counts.add(telemetry.JOINED, signal=request.signal)
        else:
            # The task owns the lease's bytes as long as it runs, whatever becomes of the caller.
            task = asyncio.create_task(self._store(request, lease.hand_over()))
            self._in_flight[key] = task
            task.add_done_callback(lambda done: self._landed(key, done))
        return await asyncio.shield(task)

    def _landed(self, key: bytes, task: "asyncio.Task[tuple[Rejection, ...]]") -> None:
        self._in_flight.pop(key, None)
        if not task.cancelled():
            task.exception()  # looked at: where every caller hung up, asyncio would complain that nobody did

    async def _key(self, request: Request) -> bytes:
        name = f"{request.tenant}\0{request.signal}\0{request.encoding}\0{request.gzipped}\0".encode()
        if len(request.body) <= _HASH_INLINE_BYTES:
            return hashlib.sha256(name + request.body).digest()
        return await asyncio.to_thread(_digest, name, request.body)

    async def _store(self, request: Request, lease: Lease) -> tuple[Rejection, ...]:
        with lease:
            loop = asyncio.get_running_loop()
            self._processing += 1
            try:
                batch, durable = await loop.run_in_executor(self._pool, self._take, request, lease)
            finally:
                self._processing -= 1
            if durable is not None:
                await asyncio.wrap_future(durable)
            self._count(batch)
            return batch.rejected

    def _take(self, request: Request, lease: Lease) -> "tuple[SplitBatch, Future[Any] | None]":
        """Process a request and hand it on; in a worker thread. The future is done once it is durable."""
        batch, exporters = self._process(request, lease)
        if self._spool is not None:
            # Also where nothing of it was taken: what was rejected is counted from the spool, too.
            something = batch.rows or batch.logs or batch.rejected or batch.quarantined
            return batch, self._spool.append(batch) if something else None
        if not (batch.rows or batch.logs or batch.quarantined):
            return batch, None
        return batch, self._committer.submit(batch, exporters, len(request.body))

    def _process(self, request: Request, lease: Lease) -> tuple[SplitBatch, Exporters]:
        """Bytes to a batch that may be stored, and where it goes; in a worker thread."""
        body = request.body
        if request.gzipped:
            body = otlp.gunzip(body, request.limit_bytes)
            lease.grow(len(body) - len(request.body))
        signals, strays = self._signals(request, body)
        try:
            found = [self._decoded(signal, request, body) for signal in signals]
            found += [_not_taken(signal, request, body) for signal in strays]
            exporters = {name: one for signal in signals for name, one in self._routes[signal].exporters.items()}
            return _together(found), exporters
        except DecodeError:
            raise
        except Exception as error:  # noqa: BLE001  a bug: the client keeps the data, the log has the place only
            self._counts.add(telemetry.BUGS, where="processing")
            _log.error("a batch could not be processed", extra={"signal": request.signal, "error": describe(error)})
            raise RetryableError("processing failed unexpectedly: send again") from None

    def _signals(self, request: Request, body: bytes) -> tuple[Sequence[otlp.Signal], Sequence[otlp.Signal]]:
        """Return what a body is to be read as: what it holds, wherever it came; and what of it no pipeline takes.

        Read as what it is not, next to nothing of it would be found, and the rest lost without a word. Raises
        DecodeError where it holds only what no pipeline takes.
        """
        # In JSON the names tell; only a body that has the other's name somewhere is worth a look.
        if request.encoding == "json" and not request.path and _OTHERS_NAME[request.signal] not in body:
            return (request.signal,), ()
        held = sorted(otlp.held(body, request.encoding), reverse=True)
        taken = tuple(signal for signal in held if signal in self._routes)
        strays = tuple(signal for signal in held if signal not in self._routes)
        if strays and not taken:
            raise DecodeError(_WRONG_PATH[strays[0]], "wrong_path")
        came = request.path or request.signal
        if any(signal != came for signal in taken) and came not in self._strayed:
            self._strayed.add(came)  # a client that is set up so sends on: once is enough
            _log.warning("a request came where others go; it was taken", extra={"path": came, "held": ", ".join(held)})
        return taken or (request.signal,), strays

    def _decoded(self, signal: otlp.Signal, request: Request, body: bytes) -> SplitBatch:
        raw = otlp.decode(signal, body, request.encoding, request.tenant)
        if signal != request.signal or request.path:
            spans = tuple(replace(span, marks=(*span.marks, WRONG_PATH)) for span in raw.spans)
            logs = tuple(replace(log, marks=(*log.marks, WRONG_PATH)) for log in raw.logs)
            raw = replace(raw, spans=spans, logs=logs)
        batch = set_apart(self._routes[signal].chain.process(raw))
        if batch.quarantined and not self._room():
            full = Rejection(
                "span", "quarantine_full", "the quarantine is full: `runreel quarantine` releases and drops"
            )
            return replace(batch, quarantined=(), rejected=(*batch.rejected, *(full,) * len(batch.quarantined)))
        return batch

    def _count(self, batch: SplitBatch) -> None:
        self._counts.add(telemetry.ACCEPTED_SPANS, len(batch.rows) + len(batch.quarantined))
        self._counts.quarantined(batch.quarantined)
        self._counts.add(telemetry.ACCEPTED_LOGS, len(batch.logs))
        for rejection in batch.rejected:
            self._counts.add(telemetry.REJECTED, signal=rejection.signal, reason=rejection.reason)
        for (service, what), count in unusual(batch, self._services).items():
            self._counts.add(telemetry.UNUSUAL, count, service=service, what=what)

    def _exporters(self) -> dict[str, Exporter]:
        return {name: exporter for route in self._routes.values() for name, exporter in route.exporters.items()}


def _not_taken(signal: otlp.Signal, request: Request, body: bytes) -> SplitBatch:
    """Return the records of a signal that has no pipeline, as rejections."""
    raw = otlp.decode(signal, body, request.encoding, request.tenant)
    noun: Literal["span", "log"] = "span" if signal == "traces" else "log"
    count = len(raw.spans) + len(raw.logs) + len(raw.rejected)
    return SplitBatch(request.tenant, rejected=(Rejection(noun, "wrong_path", "no pipeline takes these"),) * count)


def _together(found: Sequence[SplitBatch]) -> SplitBatch:
    """Return one batch of what a request held: most held one signal."""
    first, *others = found
    for one in others:
        first = SplitBatch(
            first.tenant,
            (*first.rows, *one.rows),
            (*first.logs, *one.logs),
            (*first.payloads, *one.payloads),
            (*first.parts, *one.parts),
            (*first.rejected, *one.rejected),
            (*first.sealed, *one.sealed),
            (*first.quarantined, *one.quarantined),
        )
    return first


def _outcome(wait: "Future[Any]") -> Exception | None:
    error = wait.exception()
    if error is None and wait.result():  # of the records that the batch is, some are in quarantine again
        return PermanentError(wait.result()[0].reason)
    return error if isinstance(error, Exception) or error is None else RetryableError("cancelled: send again")


def _digest(name: bytes, body: bytes) -> bytes:
    digest = hashlib.sha256(name)
    digest.update(body)
    return digest.digest()
