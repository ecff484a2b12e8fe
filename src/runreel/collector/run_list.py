"""The extension `run_list`: keeps the tables of runs and of the ledger up to date, for dashboards that read tables.

A run is summed up once it has been quiet for a while, and once more when nothing of it can be expected any longer.
"""

from collections.abc import Callable, Iterator

from runreel.onward import onward_ns
from runreel.runs.load import Settings, StoreRuns
from runreel.values import DEFAULT_TENANT

BEGIN_S = 86_400
"""How far back the first look goes: what became quiet while no collector ran is summed up, too."""
# Just after news, other writers may still be at work on rows that count as seen.
_MARGIN_S = 1.0
_NS = 1_000_000_000


class Quiet:
    """Says which news are to be looked at now: those after which nothing came for a while, once as a run whose root has
    ended is over then, and once more as one whose root never came is.

    Args:
        settings: When a run counts as over.
        clock: Our time in nanoseconds since 1970.
    """

    def __init__(self, settings: Settings | None = None, clock: Callable[[], int] = onward_ns) -> None:
        when = settings or Settings()
        self._waits_ns = [int((seconds + _MARGIN_S) * _NS) for seconds in (when.quiet_s, when.idle_s)]
        self._clock = clock
        self._done = [clock() - BEGIN_S * _NS - wait_ns for wait_ns in self._waits_ns]

    def spans_of_time(self) -> Iterator[tuple[int, int]]:
        """Yield (after, until] in our nanoseconds. One counts as looked at once the next is asked for."""
        now = self._clock()
        for number, wait_ns in enumerate(self._waits_ns):
            if now - wait_ns > self._done[number]:
                yield self._done[number], now - wait_ns
                self._done[number] = now - wait_ns


class RunList:
    """`look`, again and again: see `regularly.Regularly`."""

    def __init__(
        self,
        runs: StoreRuns,
        *,
        tell: Callable[[], None] = lambda: None,
        tenant: str = DEFAULT_TENANT,
        clock: Callable[[], int] = onward_ns,
    ) -> None:
        self._runs = runs
        self._tell = tell
        self._tenant = tenant
        self._quiet = Quiet(runs.settings, clock)

    def look(self) -> None:
        """Sum up what has become quiet since the last look, and tell the ledger. Raises StoreError, ConsumeError."""
        self._tell()
        for after_ns, until_ns in self._quiet.spans_of_time():
            for _ in self._runs.keep_up(self._tenant, after_ns=after_ns, until_ns=until_ns):
                pass  # to be summed up is all
