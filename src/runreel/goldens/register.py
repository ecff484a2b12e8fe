"""Tell a store which runs are kept as goldens, and ask it: through the collector that has it open, else in it.

A golden is as good without: where there is no store, or none that can be opened here, that is said and nothing is lost.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runreel.components import PROCESSORS, Site, open_runs
from runreel.errors import RunReelError
from runreel.goldens import folder
from runreel.runs import kept
from runreel.runs.load import StoreRuns
from runreel.runs.places import Place
from runreel.runs.remote import RemoteRuns
from runreel.storage import KeptGolden
from runreel.values import DEFAULT_TENANT

_INSTALL = "pip install 'runreel[collector,embedded]', or start `runreel serve`"
Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Known:
    """The goldens that a store has; `why` says why it could not be asked, empty where it was."""

    goldens: Sequence[KeptGolden] = ()
    why: str = ""

    def holds(self, golden: KeptGolden) -> bool:
        """Say whether a golden is registered as it is. Not by its name, which is stored redacted."""
        return any((one.run_id, one.sha256) == (golden.run_id, golden.sha256) for one in self.goldens)


def of_folder(place: Path) -> KeptGolden:
    """Return what a store is told of the golden in a folder. Raises NotFoundError, CorruptError, StoreError."""
    head = folder.read_head(place)
    return KeptGolden(str(head.get("run_id", "")), place.name, str(head.get("ticket", "")), folder.fingerprint(head))


def register(goldens: Sequence[KeptGolden], place: Place, *, say: Say = lambda _: None) -> str:
    """Register goldens in a store; return why they are not, empty where they are. Never raises for want of a store."""

    def keep(runs: StoreRuns | RemoteRuns) -> None:
        redact = (lambda text: text) if isinstance(runs, RemoteRuns) else _redactor(place)  # a collector redacts itself
        for golden in goldens:
            runs.keep_golden(DEFAULT_TENANT, kept.redacted(golden, redact))

    return _with(place, keep, say)


def known(place: Place, *, say: Say = lambda _: None) -> Known:
    """Ask a store for its goldens."""
    found: list[KeptGolden] = []
    why = _with(place, lambda runs: found.extend(runs.goldens(DEFAULT_TENANT)), say)
    return Known(found, why)


def _with(place: Place, use: Callable[[StoreRuns | RemoteRuns], object], say: Say) -> str:
    """Open a store, use it, close it; return why that could not be."""
    nothing = f"there is no store in {place.home} yet"
    if not place.there:
        return nothing
    try:
        runs = open_runs(place, say=say)
        try:
            if not isinstance(runs, StoreRuns | RemoteRuns):
                return "this store keeps no goldens"
            if isinstance(runs, StoreRuns) and not place.server and not place.store_path.exists():
                return nothing  # a collector that is gone left its file behind
            use(runs)
        finally:
            runs.close()
    except RunReelError as error:
        return str(error)
    except ModuleNotFoundError as error:
        return f"the package {error.name!r} is missing: {_INSTALL}"
    return ""


def _redactor(place: Place) -> Callable[[str], str]:
    made = PROCESSORS["redact"](place.processors.get("redact", {}), Site(place.home))
    text: Callable[[str], str] = made.text
    return text
