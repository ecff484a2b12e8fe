"""Runs as they are once everything acknowledged so far is stored: who was told "stored" reads it."""

from collections.abc import Sequence

from runreel.spool import Spool
from runreel.storage import RunQuery, RunStore
from runreel.values import Run, RunSummary

PATIENCE_S = 3.0
"""How long a reader waits for the spool. Where the stores are away it reads what there is."""


class Settled:
    """A RunStore over another, behind a spool."""

    def __init__(self, runs: RunStore, spool: Spool, patience_s: float = PATIENCE_S) -> None:
        self._runs = runs
        self._spool = spool
        self._patience_s = patience_s

    def runs(self, query: RunQuery) -> Sequence[RunSummary]:
        """List runs, newest first."""
        return self._settled().runs(query)

    def resolve(self, tenant: str, text: str) -> str:
        """Return the run id that a text stands for."""
        return self._settled().resolve(tenant, text)

    def run(self, tenant: str, run_id: str) -> Run:
        """Load and assemble a run."""
        return self._settled().run(tenant, run_id)

    def reel(self, tenant: str, run_id: str) -> bytes:
        """Return the run as a reel."""
        return self._settled().reel(tenant, run_id)

    def part(self, tenant: str, sha256: str) -> bytes:
        """Return one part or payload by hash."""
        return self._settled().part(tenant, sha256)

    def close(self) -> None:
        """Close what is read from."""
        self._runs.close()

    def _settled(self) -> RunStore:
        self._spool.settle(self._patience_s)
        return self._runs
