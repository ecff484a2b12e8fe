"""Says how each store is, by writing to it and reading, and what waits: for the health check and `runreel doctor`."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from runreel.collector.logs import describe
from runreel.component import Exporter
from runreel.errors import RunReelError
from runreel.spool import Spool

FRESH_S = 10.0
"""An answer is given again for so long: whoever asks often does not write often."""
OK = "ok"


class Aside(Protocol):
    """Says how much is in quarantine."""

    def document(self) -> dict[str, Any]:
        """Return `full`, and the records and bytes of each tenant and reason."""
        ...


class Watch:
    """Looks at stores on demand. Thread-safe; one look at a time."""

    def __init__(
        self,
        exporters: Mapping[str, Exporter],
        spool: Spool | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        keeper: "Aside | None" = None,
    ) -> None:
        self._keeper = keeper
        self._exporters = exporters
        self._spool = spool
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, str] = {}
        self._looked_at: float | None = None

    def stores(self) -> Mapping[str, str]:
        """Return by component id `ok`, or why the store cannot be used. Blocks while stores are asked."""
        with self._lock:
            if self._looked_at is None or self._clock() - self._looked_at >= FRESH_S:
                self._last = {name: _state(exporter) for name, exporter in self._exporters.items()}
                self._looked_at = self._clock()
            return dict(self._last)

    def ready(self) -> bool:
        """Say whether requests can be taken: into the spool, else into every store."""
        if self._spool is not None:
            return not self._spool.full()
        return all(state == OK for state in self.stores().values())

    def document(self) -> dict[str, Any]:
        """Return stores, what waits in the spool, what is in quarantine, and the ledger by tenant."""
        found: dict[str, Any] = {"stores": dict(self.stores()), "spool": None, "ledger": {}}
        if self._spool is not None:
            batches, size = self._spool.waiting()
            found["spool"] = {"batches": batches, "bytes": size, "full": self._spool.full()}
            found["ledger"] = self._spool.counted()
        found["quarantine"] = self.quarantine()
        return found

    def quarantine(self) -> dict[str, Any] | None:
        """Return how much is in quarantine at the last look; None where no store has one."""
        return None if self._keeper is None else self._keeper.document()


def _state(exporter: Exporter) -> str:
    try:
        exporter.check()
    except RunReelError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  a bug of a store is no health either
        return describe(error)
    return OK
