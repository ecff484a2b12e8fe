"""Flags a run for who asks the read API: a log event, which takes the same way as one from the network."""

import time
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool

from runreel import otlp
from runreel.collector.admission import Admission
from runreel.collector.pipeline import Pipeline, Request
from runreel.collector.settings import MIB
from runreel.errors import UsageError
from runreel.runs.scores import flag_event
from runreel.storage import RunStore


class Flags:
    """Takes flags. What `add` returned from is redacted and durable."""

    def __init__(self, runs: RunStore, pipeline: Pipeline, clock: Callable[[], int] = time.time_ns) -> None:
        self._runs = runs
        self._pipeline = pipeline
        self._clock = clock
        self._admission = Admission(MIB)

    async def add(self, tenant: str, name: str, reason: str) -> str:
        """Flag a run and return its id.

        Raises NotFoundError, UsageError (the name stands for several runs, or no pipeline takes logs), and what storing
        raises.
        """
        if "logs" not in self._pipeline.signals:
            raise UsageError("no pipeline of this collector takes logs, and flags are log events: give it one")
        run = await run_in_threadpool(lambda: self._runs.run(tenant, self._runs.resolve(tenant, name)))
        event = flag_event(tenant, run.trace_ids[0], run.run_id, reason, self._clock())
        body = otlp.encode("logs", [event], "protobuf")
        with self._admission.lease() as lease:
            await self._pipeline.consume(Request("logs", "protobuf", body, False, MIB, tenant), lease)
        return run.run_id
