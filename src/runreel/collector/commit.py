"""Group commit: one writer thread merges the batches that wait, writes them once, then answers all of them.

An answer follows the durable write. Where a merged write fails for good, each batch is tried alone, and of a bad one
what can be stored: the records that cannot go into the quarantine, and do not take their neighbours along.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from runreel.collector import telemetry
from runreel.collector.logs import describe
from runreel.collector.telemetry import Telemetry
from runreel.component import Exporter
from runreel.errors import ConsumeError, PermanentError, RetryableError
from runreel.spool.quarantine import keeps, rescue
from runreel.values import Quarantined, SplitBatch

MAX_ROWS = 10_000
MAX_BYTES = 64 * 1024 * 1024
LINGER_S = 0.02
_log = logging.getLogger(__name__)

Exporters = Mapping[str, Exporter]
"""Component id to exporter, in the order of writing."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    batch: SplitBatch
    exporters: Exporters
    size_bytes: int
    done: "Future[Sequence[Quarantined]]" = field(default_factory=Future)


class Committer:
    """Owns the writer thread: the only caller of `export`. `start` before `submit`; `stop` writes what still waits.

    `expecting` tells how many more batches may arrive soon. The writer lingers for them, up to LINGER_S, and does not
    linger for nobody: a lone client gets its answer at once.
    """

    def __init__(self, counts: Telemetry, expecting: Callable[[], int] = lambda: 0) -> None:
        self._counts = counts
        self._expecting = expecting
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="runreel-writer", daemon=True)
        self._stopped = False
        self._closing = threading.Lock()
        self._failing: set[str] = set()  # the writer's own
        self.room: Callable[[], bool] = lambda: True
        """Whether the quarantine takes more; where it does not, a batch that is refused stays refused."""

    def start(self) -> None:
        """Start the writer thread."""
        self._thread.start()

    def submit(self, batch: SplitBatch, exporters: Exporters, size_bytes: int) -> "Future[Sequence[Quarantined]]":
        """Queue a batch. The future is done once the batch is durable, with the records of it that stores refused and
        that are in the quarantine now; or it holds a ConsumeError."""
        waiting = _Waiting(batch, exporters, size_bytes)
        with self._closing:  # nothing may be queued behind the end: nobody would answer it
            if not self._stopped:
                self._queue.put(waiting)
                return waiting.done
        waiting.done.set_exception(RetryableError("the collector is stopping: send again"))
        return waiting.done

    def stop(self) -> None:
        """Write what waits and end the thread. Blocks; twice is no error, nor is it without `start`."""
        with self._closing:
            if not self._stopped:
                self._stopped = True
                self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        while True:
            group, ending = self._gather()
            # From here on nobody can cancel: an answer to a cancelled future would end this thread.
            live = [waiting for waiting in group if waiting.done.set_running_or_notify_cancel()]
            for together in _by_destination(live):
                try:
                    self._commit(together)
                except Exception as error:  # noqa: BLE001  out of memory, say: the next group must have its writer
                    _log.error("a write failed unexpectedly", extra={"error": describe(error)})
                    for waiting in together:
                        if not waiting.done.done():
                            self._answer(waiting, error)
            if ending:
                return

    def _gather(self) -> tuple[list[_Waiting], bool]:
        """Wait for a batch, then take those that come with it. The second value is true at the end of all."""
        first = self._queue.get()
        if first is None:
            return [], True
        group, rows, size = [first], _rows(first.batch), first.size_bytes
        deadline = time.monotonic() + LINGER_S
        while rows < MAX_ROWS and size < MAX_BYTES:
            left = deadline - time.monotonic()
            try:
                more = self._queue.get(timeout=left) if left > 0 and self._expecting() > 0 else self._queue.get_nowait()
            except queue.Empty:
                break
            if more is None:
                return group, True
            group.append(more)
            rows += _rows(more.batch)
            size += more.size_bytes
        return group, False

    def _commit(self, group: Sequence[_Waiting]) -> None:
        error = self._write(merge([waiting.batch for waiting in group]), group[0].exporters)
        if error is not None and len(group) > 1 and not isinstance(error, RetryableError):
            for waiting in group:
                self._save(waiting, self._write(waiting.batch, waiting.exporters))
            return
        for waiting in group:
            self._save(waiting, error)

    def _save(self, waiting: _Waiting, error: Exception | None) -> None:
        """Answer a batch that was written alone or failed; of one that was refused for good, save what can be."""
        apart: Sequence[Quarantined] = ()
        if isinstance(error, PermanentError) and keeps(waiting.exporters.values()) and self.room():
            error, apart = rescue(waiting.batch, error, lambda batch: self._write(batch, waiting.exporters))
            if apart:
                self._counts.quarantined(apart)
                _log.error(
                    "records that a store refuses went into the quarantine",
                    extra={"records": len(apart), "reason": apart[0].reason},
                )
        self._answer(waiting, error, apart)

    def _answer(self, waiting: _Waiting, error: Exception | None, apart: Sequence[Quarantined] = ()) -> None:
        if error is None:
            waiting.done.set_result(apart)
        elif isinstance(error, ConsumeError):
            waiting.done.set_exception(error)
        else:
            waiting.done.set_exception(RetryableError("storing failed unexpectedly: send again"))

    def _write(self, batch: SplitBatch, exporters: Exporters) -> Exception | None:
        """Hand a batch to each exporter in order; return what went wrong, None once it is durable in all."""
        for name, exporter in exporters.items():
            try:
                exporter.export(batch)
            except Exception as error:  # noqa: BLE001  also what it must not raise: the client keeps the data, the writer lives
                self._failed(name, error)
                return error
            if name in self._failing:
                self._failing.discard(name)
                _log.info("a store takes batches again", extra={"exporter": name})
            self._counts.add(telemetry.SENT_SPANS, len(batch.rows), exporter=name)
            self._counts.add(telemetry.SENT_LOGS, len(batch.logs), exporter=name)
        self._counts.add(telemetry.COMMITS)
        return None

    def _failed(self, name: str, error: Exception) -> None:
        """Count a failure, and log the first of a row of them: a store that is down is asked many times a second."""
        kind = "bug"
        if isinstance(error, ConsumeError):
            kind = "permanent" if isinstance(error, PermanentError) else "retryable"
        self._counts.add(telemetry.SEND_FAILED, exporter=name, kind=kind)
        if name not in self._failing:
            self._failing.add(name)
            level = logging.ERROR if kind == "bug" else logging.WARNING
            _log.log(
                level, "a store did not take a batch", extra={"exporter": name, "kind": kind, "error": describe(error)}
            )


def _rows(batch: SplitBatch) -> int:
    return len(batch.rows) + len(batch.logs)


def _by_destination(group: Iterable[_Waiting]) -> Iterable[list[_Waiting]]:
    """Group by tenant and exporters: only those can be one write."""
    found: dict[tuple[str, tuple[str, ...]], list[_Waiting]] = {}
    for waiting in group:
        found.setdefault((waiting.batch.tenant, tuple(waiting.exporters)), []).append(waiting)
    return found.values()


def merge(batches: Sequence[SplitBatch]) -> SplitBatch:
    """Put batches of one tenant into one; payloads and parts that several bring are kept once."""
    if len(batches) == 1:
        return batches[0]
    payloads = {payload.ref.sha256: payload for batch in batches for payload in batch.payloads}
    parts = {part.sha256: part for batch in batches for part in batch.parts}
    return SplitBatch(
        batches[0].tenant,
        rows=tuple(row for batch in batches for row in batch.rows),
        logs=tuple(log for batch in batches for log in batch.logs),
        payloads=tuple(payloads.values()),
        parts=tuple(parts.values()),
        rejected=tuple(rejection for batch in batches for rejection in batch.rejected),
        quarantined=tuple({one.id: one for batch in batches for one in batch.quarantined}.values()),
        sealed=tuple({(one.token, one.key_id): one for batch in batches for one in batch.sealed}.values()),
    )
