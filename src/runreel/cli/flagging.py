"""How `runs flag` stores a flag: through the running collector, else as an import stores what it read."""

import time
from collections.abc import Callable

from runreel.components import open_intake, open_runs
from runreel.runs.places import Place
from runreel.runs.remote import RemoteRuns
from runreel.runs.scores import flag_event
from runreel.values import DEFAULT_TENANT, RawBatch


def flag(place: Place, text: str, reason: str, say: Callable[[str], object]) -> str:
    """Flag the run that RUN names and return its id. The reason is redacted before it is stored.

    Raises NotFoundError, UsageError, StoreError, LockedError.
    """
    runs = open_runs(place, say=say)
    try:
        if isinstance(runs, RemoteRuns):
            return runs.flag(text, reason)
        run = runs.run(DEFAULT_TENANT, runs.resolve(DEFAULT_TENANT, text))
    finally:
        runs.close()
    event = flag_event(DEFAULT_TENANT, run.trace_ids[0], run.run_id, reason, time.time_ns())
    intake = open_intake(place)
    try:
        intake.take(RawBatch(DEFAULT_TENANT, logs=(event,)))
    finally:
        intake.close()
    return run.run_id
