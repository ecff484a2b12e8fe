"""Takes batches out of the spool and has them stored: in order, many at once, again and again while a store is away."""

import logging
import random
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from runreel.collector import telemetry
from runreel.collector.commit import MAX_BYTES, MAX_ROWS, Committer, Exporters
from runreel.collector.logs import describe
from runreel.collector.telemetry import Telemetry
from runreel.errors import PermanentError
from runreel.spool import Entry, Spool
from runreel.values import Quarantined

LINGER_S = 1.0
"""How long a batch may wait for others to be stored with; not while somebody waits to read it. Each write costs a few
milliseconds a table and leaves a part of each to be merged, however little it holds."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
SHRINK, GROW = 4, 2
"""After each write that failed a quarter is written at once, down to one batch, and after each success twice as much:
what waits after an outage may be more than a store takes before a time limit, and would be again at each try."""
DRAIN_S = 10.0
"""How long stopping waits for stores that are away. What is left then is in the spool, and stored at the next start."""
_log = logging.getLogger(__name__)


class Forwarder:
    """Owns a thread. `start`, then `stop`, which stores what waits; `stop` is safe without `start`, and twice."""

    def __init__(self, spool: Spool, committer: Committer, exporters: Exporters, counts: Telemetry) -> None:
        self._spool = spool
        self._committer = committer
        self._exporters = exporters
        self._counts = counts
        self._thread = threading.Thread(target=self._work, name="runreel-forwarder", daemon=True)
        self._late = threading.Event()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, drain_s: float = DRAIN_S) -> None:
        """Store what waits, for at most `drain_s` where stores are away. Blocks."""
        self._spool.let_go()
        if self._thread.is_alive():
            self._thread.join(drain_s)
            self._late.set()
            self._thread.join()
        batches, size = self._spool.waiting()
        if batches:
            _log.warning("batches stay in the spool until the next start", extra={"batches": batches, "bytes": size})

    def _work(self) -> None:
        pause, share = FIRST_PAUSE_S, 1
        while entries := self._spool.take(
            most_rows=MAX_ROWS // share, most_bytes=MAX_BYTES // share, linger_s=LINGER_S
        ):
            try:
                done = self._store(entries)
            except Exception as error:  # noqa: BLE001  a full disk, say: the thread must go on, nothing was taken out
                self._counts.add(telemetry.BUGS, where="spool")
                _log.error("the spool could not be worked off", extra={"error": describe(error)})
                done = False
            if done:
                pause, share = FIRST_PAUSE_S, max(1, share // GROW)
                continue
            share = min(share * SHRINK, MAX_ROWS)
            if self._late.wait(pause * random.uniform(0.5, 1.5)):  # noqa: S311  spreads retries, hides nothing
                return
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _store(self, entries: Sequence[Entry]) -> bool:
        """Store entries and take them out, up to the first that is to be tried again; say whether all were."""
        waits = [(entry, self._submit(entry)) for entry in entries]
        done: list[Entry] = []
        refused: list[Entry] = []
        quarantined: dict[Entry, Sequence[Quarantined]] = {}
        for entry, future in waits:
            error = future.exception()
            if error is not None and not isinstance(error, PermanentError):
                break
            done.append(entry)
            if error is not None:
                refused.append(entry)
                self._counts.add(telemetry.SET_ASIDE)
                _log.error("a batch that no store takes was set aside in the spool", extra={"error": describe(error)})
            else:
                quarantined[entry] = future.result()
        # The later ones were written, too, or will be: what is stored twice is stored once.
        for _, future in waits[len(done) :]:
            future.exception()
        self._spool.finish(done, refused, quarantined)
        return len(done) == len(entries)

    def _submit(self, entry: Entry) -> "Future[Sequence[Quarantined]]":
        try:
            batch = self._spool.load(entry)
        except PermanentError as error:
            unreadable: Future[Sequence[Quarantined]] = Future()
            unreadable.set_exception(error)
            return unreadable
        return self._committer.submit(batch, self._exporters, entry.size)
