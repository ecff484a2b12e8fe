"""How `runs flag` stores a flag: through the running collector, else as an import stores what it read."""

import time
from collections.abc import Callable
from pathlib import Path

from runreel.cli.importing import store
from runreel.components import open_runs
from runreel.runs.remote import RemoteRuns
from runreel.runs.scores import flag_event
from runreel.values import DEFAULT_TENANT, RawBatch


def flag(home: Path, text: str, reason: str, say: Callable[[str], object]) -> str:
    """Flag the run that RUN names and return its id. The reason is redacted before it is stored.

    Raises NotFoundError, UsageError, StoreError, LockedError.
    """
    runs = open_runs(home, say=say)
    try:
        if isinstance(runs, RemoteRuns):
            return runs.flag(text, reason)
        run = runs.run(DEFAULT_TENANT, runs.resolve(DEFAULT_TENANT, text))
    finally:
        runs.close()
    event = flag_event(DEFAULT_TENANT, run.trace_ids[0], run.run_id, reason, time.time_ns())
    store(home, [RawBatch(DEFAULT_TENANT, logs=(event,))])
    return run.run_id
