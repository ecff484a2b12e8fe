"""Keeps what a replay recorded of itself, as a run: by the collector that has the store open, else in the store itself.

It passes the chain that everything passes, schema, redact, split, in one of the two. Where neither can be had it stays
in memory: nothing that is not redacted is ever written.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runreel.components import open_intake
from runreel.errors import NotFoundError, RunReelError, StoreError
from runreel.replay.values import Replayed
from runreel.runs.places import Place, remote_runs, running
from runreel.runs.remote import RemoteRuns
from runreel.values import RawBatch

_PATIENCE_S = 5.0
_INSTALL = "pip install 'runreel[collector,embedded]' to keep replays, or start `runreel serve`"


@dataclass(frozen=True, slots=True)
class Stored:
    """The replay as a run of the store; `run_id` is empty where it was not stored, and `why` says so then."""

    run_id: str = ""
    why: str = ""


def store(replayed: Replayed, place: Place, *, say: Callable[[str], object] = lambda _: None) -> Stored:
    """Store a replay as a run of its own. Never raises for want of a store: the replay is as good without."""
    return store_all([replayed], place, say=say)[0]


def store_all(
    replays: Sequence[Replayed], place: Place, *, say: Callable[[str], object] = lambda _: None
) -> Sequence[Stored]:
    """Store replays, each as `store` does, with the store opened once for all of them."""
    stored: set[str] = set()
    worth = [(one.record, one.run.run_id) for one in replays if one.record is not None and one.run is not None]
    why = "" if place.there else f"there is no store in {place.home} yet"
    try:
        if worth and not why:
            _store(worth, place, say, stored)
    except RunReelError as error:
        why = str(error)
    except ModuleNotFoundError as error:
        why = f"the package {error.name!r} is missing: {_INSTALL}"
    return [_outcome(one, stored, why) for one in replays]


def _store(worth: Sequence[tuple[RawBatch, str]], place: Place, say: Callable[[str], object], stored: set[str]) -> None:
    """Store batches, and add the run id of each to `stored` once it is. Raises RunReelError, ModuleNotFoundError."""
    asked = running(place, say=say)
    intake = open_intake(place, say=say, lost=_refuse)
    try:
        for batch, run_id in worth:
            intake.take(batch)
            stored.add(run_id)
    finally:
        intake.close()
    if asked is not None:
        for _, run_id in worth:
            _await(remote_runs(place, asked), run_id)


def _outcome(replayed: Replayed, stored: set[str], why: str) -> Stored:
    if replayed.record is None or replayed.run is None:
        return Stored(why="the agent exported no spans of its own")
    run_id = replayed.run.run_id
    return Stored(run_id) if run_id in stored else Stored(why=why)


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
