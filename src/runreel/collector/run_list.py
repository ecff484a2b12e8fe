"""The extension `run_list`: keeps the tables of runs and of the ledger up to date, for dashboards that read tables.

A run is summed up once it has been quiet for a while, and once more when nothing of it can be expected any longer.
"""

import logging
import threading
from collections.abc import Callable

from runreel.collector.logs import describe
from runreel.onward import onward_ns
from runreel.runs.load import Settings, StoreRuns
from runreel.values import DEFAULT_TENANT

BEGIN_S = 86_400
"""How far back the first look goes: what came while no collector ran is summed up, too."""
# Just after news, other writers may still be at work on rows that count as seen.
_MARGIN_S = 1.0
_NS = 1_000_000_000
_log = logging.getLogger(__name__)


class RunList:
    """Owns a thread. `start`, then `stop`, which is safe without `start`, and twice."""

    def __init__(
        self,
        runs: StoreRuns,
        interval_s: float,
        *,
        tell: Callable[[], None] = lambda: None,
        settings: Settings | None = None,
        tenant: str = DEFAULT_TENANT,
        clock: Callable[[], int] = onward_ns,
    ) -> None:
        self._runs = runs
        self._interval_s = interval_s
        self._tell = tell
        when = settings or Settings()
        self._waits_ns = [int((seconds + _MARGIN_S) * _NS) for seconds in (when.quiet_s, when.idle_s)]
        self._tenant = tenant
        self._clock = clock
        self._done = [clock() - BEGIN_S * _NS] * len(self._waits_ns)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="runreel-run-list", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Blocks while it sums runs up."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> None:
        """Sum up what has become quiet since the last look, and tell the ledger. Raises StoreError, ConsumeError."""
        self._tell()
        now = self._clock()
        for number, wait_ns in enumerate(self._waits_ns):
            until = now - wait_ns
            if until > self._done[number]:
                self._runs.keep_up(self._tenant, after_ns=self._done[number], until_ns=until)
                self._done[number] = until

    def _work(self) -> None:
        failing = False
        while not self._stopping.wait(self._interval_s):
            try:
                self.look()
            except Exception as error:  # noqa: BLE001  a store that is away now is there again later
                if not failing:
                    _log.warning("the table of runs is not kept up to date", extra={"error": describe(error)})
                failing = True
            else:
                failing = False
