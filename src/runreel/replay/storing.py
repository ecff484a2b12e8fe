"""Keeps what a replay recorded of itself, as a run: by the collector that has the store open, else in the store itself.

It passes the chain that everything passes, schema, redact, split, in one of the two. Where neither can be had it stays
in memory: nothing that is not redacted is ever written.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from runreel.components import open_intake
from runreel.errors import NotFoundError, RunReelError, StoreError
from runreel.replay.values import Replayed
from runreel.runs.places import Place, remote_runs, running
from runreel.runs.remote import RemoteRuns

_PATIENCE_S = 5.0
_INSTALL = "pip install 'runreel[collector,embedded]' to keep replays, or start `runreel serve`"


@dataclass(frozen=True, slots=True)
class Stored:
    """The replay as a run of the store; `run_id` is empty where it was not stored, and `why` says so then."""

    run_id: str = ""
    why: str = ""


def store(replayed: Replayed, place: Place, *, say: Callable[[str], object] = lambda _: None) -> Stored:
    """Store a replay as a run of its own. Never raises for want of a store: the replay is as good without."""
    if replayed.record is None or replayed.run is None:
        return Stored(why="the agent exported no spans of its own")
    if not place.there:
        return Stored(why=f"there is no store in {place.home} yet")
    try:
        asked = running(place, say=say)
        intake = open_intake(place, say=say, lost=_refuse)
        try:
            intake.take(replayed.record)
        finally:
            intake.close()
        if asked is not None:
            _await(remote_runs(place, asked), replayed.run.run_id)
    except RunReelError as error:
        return Stored(why=str(error))
    except ModuleNotFoundError as error:
        return Stored(why=f"the package {error.name!r} is missing: {_INSTALL}")
    return Stored(replayed.run.run_id)


def _refuse(text: str) -> None:
    raise StoreError(text)


def _await(runs: RemoteRuns, run_id: str) -> None:
    """Wait a little until the run can be asked for: a collector acknowledges what is durable, and stores it then."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            runs.resolve("", run_id)
            return
        except NotFoundError:
            time.sleep(0.05)  # not yet
