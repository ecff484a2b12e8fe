"""The extension `run_list`: keeps the tables of runs and of the ledger up to date, for dashboards that read tables.

A run is summed up once it has been quiet for a while, and once more when nothing of it can be expected any longer.
"""

from collections.abc import Callable

from runreel.onward import onward_ns
from runreel.runs.load import Settings, StoreRuns
from runreel.values import DEFAULT_TENANT

BEGIN_S = 86_400
"""How far back the first look goes: what came while no collector ran is summed up, too."""
# Just after news, other writers may still be at work on rows that count as seen.
_MARGIN_S = 1.0
_NS = 1_000_000_000


class RunList:
    """`look`, again and again: see `regularly.Regularly`."""

    def __init__(
        self,
        runs: StoreRuns,
        *,
        tell: Callable[[], None] = lambda: None,
        settings: Settings | None = None,
        tenant: str = DEFAULT_TENANT,
        clock: Callable[[], int] = onward_ns,
    ) -> None:
        self._runs = runs
        self._tell = tell
        when = settings or Settings()
        self._waits_ns = [int((seconds + _MARGIN_S) * _NS) for seconds in (when.quiet_s, when.idle_s)]
        self._tenant = tenant
        self._clock = clock
        self._done = [clock() - BEGIN_S * _NS] * len(self._waits_ns)

    def look(self) -> None:
        """Sum up what has become quiet since the last look, and tell the ledger. Raises StoreError, ConsumeError."""
        self._tell()
        now = self._clock()
        for number, wait_ns in enumerate(self._waits_ns):
            until = now - wait_ns
            if until > self._done[number]:
                self._runs.keep_up(self._tenant, after_ns=self._done[number], until_ns=until)
                self._done[number] = until
