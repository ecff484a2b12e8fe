"""Requests as they come from the network, through the whole chain (redactor and all) into a store, and out as runs."""

from functools import cache
from typing import Any

from otlp_build import req
from runreel.exporters.memory import Memory
from runreel.otlp import decode
from runreel.processors.redact.keys import TenantKey
from runreel.processors.redact.redactor import Redactor
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.runs.load import StoreRuns
from runreel.storage import RunQuery
from runreel.values import Run
from store_kit import Clock


@cache
def _redactor() -> Redactor:
    return Redactor(TenantKey("k1", b"0" * 32))


def store(*requests: Any) -> tuple[StoreRuns, Memory]:
    """Take in requests in this order, each of them protobuf."""
    memory = Memory(Clock())
    for request in requests:
        raw = decode("traces", request.SerializeToString(), "protobuf", "default")
        memory.export(Split().process(_redactor().process(Schema().process(raw))))
    return StoreRuns(memory, memory, clock=Clock()), memory


def runs_from(*requests: Any) -> dict[str, Run]:
    """Every run that the requests make, by its id."""
    runs, _ = store(*requests)
    return {one.run_id: runs.run("default", one.run_id) for one in runs.runs(RunQuery(limit=0))}


def run_from(*spans: Any) -> Run:
    """The one run that the spans of one request make."""
    (run,) = runs_from(req(*spans)).values()
    return run
