"""Runs that two instrumentations tore apart come out of the store as one."""

from pathlib import Path

import pytest

from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.files import FileBlobs
from runreel.runs import reel
from runreel.runs.load import StoreRuns
from runreel.storage import RunQuery
from store_kit import Clock, Watched, torn_batches


@pytest.mark.parametrize("backwards", [False, True])
def test_a_torn_run_is_one_run_in_lists_by_any_of_its_traces_and_in_its_reel(
    runs: StoreRuns, memory: Watched, clock: Clock, backwards: bool
) -> None:
    batches = torn_batches()
    for batch in reversed(batches) if backwards else batches:
        memory.export(batch)
    traces = [batch.rows[0].span.key.trace_id for batch in batches]

    for _ in range(2):
        (summary,) = runs.runs(RunQuery())
        clock.pass_s(3600)

    assert (summary.run_id, summary.model_calls, summary.tool_calls) == (traces[0], 3, 3)
    assert set(summary.trace_ids) == set(traces)
    assert {runs.resolve("default", trace) for trace in traces} == {traces[0]}
    assert {runs.resolve("default", trace[:12]) for trace in traces} == {traces[0]}
    run = runs.run("default", traces[0])
    store, run_id = reel.open_reel(runs.reel("default", traces[0]), "a test", "default"), run.run_id
    assert store.run("default", run_id) == run


def test_a_part_of_a_torn_run_that_comes_late_joins_it(runs: StoreRuns, memory: Watched, clock: Clock) -> None:
    *early, late = torn_batches()
    for batch in early:
        memory.export(batch)
    before = runs.runs(RunQuery())[0]
    clock.pass_s(3600)
    runs.runs(RunQuery())

    memory.export(late)

    (after,) = runs.runs(RunQuery())
    assert (before.run_id, before.model_calls) == (after.run_id, after.model_calls)
    assert len(after.trace_ids) == len(before.trace_ids) + 1
    assert after.revision != before.revision


def test_a_torn_run_comes_out_of_the_store_as_one(chdb: ClickHouse, home: Path) -> None:
    for batch in torn_batches():
        chdb.export(batch)
    runs = StoreRuns(chdb, FileBlobs(home / "blobs"))

    (summary,) = runs.runs(RunQuery())

    assert (summary.model_calls, summary.tool_calls, len(summary.trace_ids)) == (3, 3, 4)
    assert summary.tools == ("get_weather", "lookup_customer")
    assert runs.run("default", summary.run_id).trace_ids == summary.trace_ids
