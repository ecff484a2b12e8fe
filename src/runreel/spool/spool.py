"""Keeps acknowledged batches until they are stored: appended, flushed to the disk in groups, taken out in order.

An append returns once the record is on the disk. One consumer takes records from the front and says what became of
them; the place up to which all are done is written with the counts (ledger.py). After a crash the records behind it
are there again: storing one twice changes nothing, so that none is lost and none counts twice.
"""

import contextlib
import logging
import os
import queue
import secrets
import socket
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from runreel.disk import flush_folder
from runreel.errors import PermanentError, RetryableError, StoreError
from runreel.spool import ledger as ledgers
from runreel.spool import records, segments
from runreel.spool.ledger import Cursor, Ledger, Tally
from runreel.values import Quarantined, SplitBatch

LIMIT_BYTES = 2 << 30
SEGMENT_BYTES = 64 << 20
MEMORY_BYTES = 64 << 20
"""Batches that wait are kept in memory, too, up to so many bytes; beyond, they are read from the disk again."""
DAMAGED, REFUSED = "damaged", "refused"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One batch that waits. `batch` is None where it has to be read from the disk. Equal to itself alone."""

    segment: int
    offset: int
    size: int
    tally: Tally
    batch: SplitBatch | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class _Append:
    tally: Tally
    data: bytes
    batch: SplitBatch
    done: "Future[None]" = field(default_factory=Future)


class Spool:
    """A spool in a folder. `open` before the rest. Thread-safe for appending; one thread may take. `name` tells it from
    those of other collectors.

    Args:
        folder: Where the segments are; made if missing. Only one process may use it at a time.
        limit_bytes: How many bytes may wait; then appends are refused, to be tried again.
        sync: Flush each group to the disk before it is acknowledged. Without it only a crash of the process is
            survived, not one of the machine.
    """

    def __init__(
        self,
        folder: Path,
        *,
        limit_bytes: int = LIMIT_BYTES,
        segment_bytes: int = SEGMENT_BYTES,
        memory_bytes: int = MEMORY_BYTES,
        sync: bool = True,
    ) -> None:
        self.folder = folder
        self.ledger = Ledger()
        self.name = ""
        self._limit, self._segment_limit, self._memory_limit = limit_bytes, segment_bytes, memory_bytes
        self._sync = sync
        self._waiting: deque[Entry] = deque()
        self._changed = threading.Condition()
        self._held_bytes = self._memory_bytes = 0
        self._appended = self._finished = 0
        self._hurried = self._draining = self._closing = False
        self._unwritten = False
        self._queue: queue.SimpleQueue[_Append | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_all, name="runreel-spool", daemon=True)
        self._segment = self._offset = 0
        self._file: int | None = None

    def open(self) -> None:
        """Read what waits from an earlier time, and begin to take appends. Raises StoreError."""
        try:
            for folder in (self.folder, self.folder / DAMAGED, self.folder / REFUSED):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.name = _name(self.folder / "name")
            self._recover()
        except OSError as error:
            raise StoreError(f"cannot use the spool {self.folder}: {error.strerror}; set RUNREEL_HOME") from None
        self._writer.start()

    # --- appending ----------------------------------------------------------------------------------------------------

    def append(self, batch: SplitBatch, *, again: bool = False) -> "Future[None]":
        """Write a batch; the future is done once it is on the disk, or holds a RetryableError. Encodes in the caller's
        thread. `again`: it comes out of the quarantine, and was acknowledged before."""
        tally = Tally.of(batch, again=again)
        asked = _Append(tally, segments.frame(tally, records.encode(batch)), batch)
        with self._changed:
            # One that is larger than the limit must go through some time.
            full = bool(self._held_bytes) and self._held_bytes + len(asked.data) > self._limit
            if not full and not self._closing:
                self._held_bytes += len(asked.data)
                self._queue.put(asked)
                return asked.done
        why = "the collector is stopping" if self._closing else f"the spool is full ({self._limit} bytes wait)"
        asked.done.set_exception(RetryableError(f"{why}: send again", 5.0))
        return asked.done

    def _write_all(self) -> None:
        ending = False
        while not ending:
            group = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    group.append(self._queue.get_nowait())
            ending = None in group
            asked = [one for one in group if one is not None and one.done.set_running_or_notify_cancel()]
            if asked:
                self._write_group(asked)

    def _write_group(self, group: Sequence[_Append]) -> None:
        try:
            file = self._segment_for_writing()
            start = self._offset
            _write(file, b"".join(one.data for one in group))
            if self._sync:
                os.fdatasync(file)
        except OSError as error:
            self._take_back()
            with self._changed:
                self._held_bytes -= sum(len(one.data) for one in group)
            for one in group:
                one.done.set_exception(
                    RetryableError(f"cannot write the spool {self.folder}: {error.strerror}: send again", 5.0)
                )
            return
        with self._changed:
            for one in group:
                self._add(Entry(self._segment, start, len(one.data), one.tally, one.batch))
                start += len(one.data)
            self._offset = start
            self._changed.notify_all()
        for one in group:
            one.done.set_result(None)

    def _segment_for_writing(self) -> int:
        if self._file is not None and self._offset >= self._segment_limit:
            os.close(self._file)
            self._file = None
        if self._file is None:
            path = segments.file_of(self.folder, self._segment + 1)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with self._changed:  # the two are one place
                self._segment, self._offset = self._segment + 1, 0
            flush_folder(self.folder)
        return self._file

    def _take_back(self) -> None:
        """Take back what a failed write left. Where even that fails, the next record begins a new segment: what is
        half there is set aside when the spool is opened again."""
        if self._file is None:
            return
        try:
            os.ftruncate(self._file, self._offset)
            os.lseek(self._file, self._offset, os.SEEK_SET)
        except OSError:
            os.close(self._file)
            self._file = None

    def _add(self, entry: Entry) -> None:
        """Put an entry at the end of what waits; under the lock."""
        if self._memory_bytes + entry.size > self._memory_limit:
            entry = replace(entry, batch=None)
        elif entry.batch is not None:
            self._memory_bytes += entry.size
        self._waiting.append(entry)
        self._appended += 1
        self.ledger.waits(entry.tally)

    # --- taking out ---------------------------------------------------------------------------------------------------

    def take(self, *, most_rows: int, most_bytes: int, linger_s: float = 0.0) -> list[Entry]:
        """Return entries from the front, without taking them out: `finish` does.

        Waits for one; for more, up to `linger_s`, unless somebody waits for them in `settle`. After `let_go` it waits
        for nothing, and returns none where none are left; after `close` it returns none.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._draining or self._closing)
            if linger_s:
                self._changed.wait_for(
                    lambda: self._closing or self._draining or self._hurried or _rows(self._waiting) >= most_rows,
                    linger_s,
                )
            taken: list[Entry] = []
            rows = size = 0
            for entry in () if self._closing else self._waiting:
                if taken and (rows >= most_rows or size + entry.size > most_bytes):
                    break
                taken.append(entry)
                rows += entry.tally.spans + entry.tally.logs
                size += entry.size
            return taken

    def let_go(self) -> None:
        """Let whoever takes wait no longer: what is there is all that will be."""
        with self._changed:
            self._draining = True
            self._changed.notify_all()

    def load(self, entry: Entry) -> SplitBatch:
        """Return an entry's batch. Raises PermanentError where it cannot be read any more."""
        if entry.batch is not None:
            return entry.batch
        try:
            data = segments.body(segments.file_of(self.folder, entry.segment), entry.offset, entry.size)
            return records.decode(data)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise PermanentError(f"a record of the spool cannot be read ({type(error).__name__})") from None

    def finish(
        self,
        entries: Sequence[Entry],
        refused: Iterable[Entry] = (),
        quarantined: Mapping[Entry, Sequence[Quarantined]] = MappingProxyType({}),
    ) -> None:
        """Say that the entries at the front are done: stored, but for those that were refused for good, which are set
        aside in the folder `refused`, and for records that stores put into their quarantine. Raises OSError where they
        cannot be set aside: then nothing is done."""
        away = set(refused)
        for entry in away:
            self._set_aside(entry.segment, entry.offset, entry.size, REFUSED)
        with self._changed:
            for entry in entries:
                first = self._waiting.popleft()
                assert first is entry
                self._held_bytes -= entry.size
                self._memory_bytes -= entry.size if entry.batch is not None else 0
                self.ledger.done(entry.tally, None if entry in away else quarantined.get(entry, ()))
            self._write_down()
            self._finished += len(entries)
            self._hurried = self._hurried and bool(self._waiting)
            self._changed.notify_all()

    def _write_down(self) -> None:
        """Write the cursor and the counts, and remove segments that are done."""
        cursor = self._cursor()
        try:
            old = [number for number in segments.numbers(self.folder) if number < cursor.segment]
            ledgers.write(self.folder, cursor, self.ledger, flush=bool(old))
            for number in old:  # after the cursor is on the disk: an older one must not point into what is gone
                segments.file_of(self.folder, number).unlink(missing_ok=True)
        except OSError as error:
            # The next one writes it all. Until then a crash means to store again what is stored.
            if not self._unwritten:
                _log.warning("the spool's cursor cannot be written", extra={"error": str(error.strerror)})
            self._unwritten = True
        else:
            self._unwritten = False

    def settle(self, timeout_s: float) -> bool:
        """Wait until what is acknowledged now is stored; say whether it is."""
        with self._changed:
            until = self._appended
            if self._finished >= until:
                return True
            self._hurried = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._finished >= until or self._closing, timeout_s)

    def waiting(self) -> tuple[int, int]:
        """Return how many batches and bytes wait."""
        with self._changed:
            return len(self._waiting), self._held_bytes

    def full(self) -> bool:
        """Say whether nothing more fits."""
        with self._changed:
            return self._held_bytes >= self._limit

    def counted(self) -> dict[str, dict[str, int]]:
        """Return the ledger as it is now, as a document."""
        with self._changed:
            return self.ledger.document()

    def close(self) -> None:
        """Finish the appends that came, and let everybody go who waits. What is not stored stays. Safe twice."""
        with self._changed:
            if self._closing:
                return
            self._closing = True
            self._queue.put(None)
            self._changed.notify_all()
        if self._writer.is_alive():
            self._writer.join()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _cursor(self) -> Cursor:
        if self._waiting:
            return Cursor(self._waiting[0].segment, self._waiting[0].offset)
        if self._file is None:  # nothing was appended since it was opened: what it found is done, and the next is new
            return Cursor(self._segment + 1, 0)
        return Cursor(self._segment, self._offset)

    # --- recovering ---------------------------------------------------------------------------------------------------

    def _recover(self) -> None:
        cursor = Cursor()
        try:
            known = ledgers.read(self.folder)
            if known is not None:
                cursor, self.ledger = known
        except ValueError as error:
            # Nothing is lost by it: what is stored already is stored again, which changes nothing but the counts.
            _log.error("the spool's cursor is damaged: every record is stored again", extra={"error": str(error)})
        for number in segments.numbers(self.folder):
            self._segment = max(self._segment, number)
            if number < cursor.segment:
                segments.file_of(self.folder, number).unlink(missing_ok=True)
                continue
            start = cursor.offset if number == cursor.segment else 0
            for found in segments.scan(segments.file_of(self.folder, number), start):
                if found.tally is not None:
                    self._held_bytes += found.size
                    self._add(Entry(number, found.offset, found.size, found.tally))
                else:
                    self._damaged(number, found)
        if cursor.segment > self._segment:
            self._segment = cursor.segment
        ledgers.write(self.folder, self._cursor(), self.ledger, flush=True)

    def _damaged(self, number: int, found: segments.Found) -> None:
        """Set a stretch aside that is no record: torn by a crash before it was acknowledged, or damaged since."""
        if self._set_aside(number, found.offset, found.size, DAMAGED):
            self.ledger.damaged(found.size)
            _log.error(
                "a stretch of the spool is damaged and was set aside",
                extra={"segment": number, "offset": found.offset, "size": found.size},
            )

    def _set_aside(self, number: int, offset: int, size: int, where: str) -> bool:
        """Copy bytes of a segment into a folder of the spool; say whether they were not there yet."""
        target = self.folder / where / f"{number:012d}-{offset}.bin"
        if target.exists():
            return False
        with segments.file_of(self.folder, number).open("rb") as source:
            source.seek(offset)
            data = source.read(size)
        half = target.with_suffix(".half")
        descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            _write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        half.rename(target)
        flush_folder(target.parent)
        return True


def _name(file: Path) -> str:
    """Return the name of a spool, drawn when it was made: two collectors of one machine have two."""
    if not file.exists():
        half = file.with_suffix(".half")
        half.write_text(f"{socket.gethostname()}-{secrets.token_hex(4)}", encoding="utf-8")
        half.replace(file)
    return file.read_text(encoding="utf-8")


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _rows(entries: Iterable[Entry]) -> int:
    return sum(entry.tally.spans + entry.tally.logs for entry in entries)
