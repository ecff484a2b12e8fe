"""The machine's clock is set forth and back by hours while spans come in: nothing is lost, doubled or in disorder."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine

import otlp_build as build
from collector_kit import SPOOLED, Running, ask, collector, until
from runreel.collector.run_list import RunList
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.engine import Engine
from runreel.exporters.files import FileBlobs
from runreel.exporters.vault import Vault
from runreel.onward import Onward
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.runs.load import StoreRuns
from runreel.storage import RunQuery
from runreel.values import CleanBatch, RawBatch, Sealed, SplitBatch
from spool_kit import again, batch, names
from store_kit import Clock, a_run, stored

JUMPS_H = (0, 6, -6, 12, -30, 3)


class Chain:
    """The chain without its redactor: what is sent here holds nothing personal."""

    def process(self, batch: RawBatch) -> SplitBatch:
        found = Schema(required={"*": {"vcs.ref.head.revision": "flag"}}).process(batch)
        return Split().process(CleanBatch(found.tenant, found.spans, found.logs, found.facts, found.rejected))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[ClickHouse]:
    made = ClickHouse(Engine.open(tmp_path / "store", tmp=tmp_path / "tmp"), FileBlobs(tmp_path / "blobs"))
    yield made
    made.shutdown()


def trace_of(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()[:32]


def send(running: Running, number: int) -> None:
    """One run, that started `number` seconds after the first by the sender's own, good clock."""
    tid, at = trace_of(number), number * 1000
    spans = (build.agent(tid=tid, at=at), build.tool("c" * 16, build.ROOT, "look", {}, "x" * 400, tid=tid, at=at + 1))
    assert ask(f"{running.http}/v1/traces", build.req(*spans).SerializeToString()).status == 200


def test_a_clock_set_forth_and_back_by_hours_during_ingest_loses_doubles_and_disorders_nothing(
    tmp_path: Path, database: ClickHouse
) -> None:
    runs = StoreRuns(database, FileBlobs(tmp_path / "blobs"))
    now = datetime.now(UTC)
    with collector(tmp_path, database, SPOOLED, chain=Chain(), runs=runs) as running:  # type: ignore[arg-type]
        spool = running.service.spool
        assert spool is not None
        for number, hours in enumerate(JUMPS_H):
            with time_machine.travel(now + timedelta(hours=hours), tick=True):
                send(running, 2 * number)
                send(running, 2 * number + 1)
                until(lambda: spool.waiting() == (0, 0))
        listed = runs.runs(RunQuery(limit=0))
        ledger = spool.counted()["default"]

    newest_first = [trace_of(number) for number in reversed(range(2 * len(JUMPS_H)))]
    assert [run.run_id for run in listed] == newest_first
    assert [run.tool_calls for run in listed] == [1] * len(newest_first)
    assert (ledger["acknowledged_spans"], ledger["stored_spans"], ledger["spooled_spans"]) == (24, 24, 0)


def test_what_comes_after_a_restart_with_an_earlier_clock_is_news(tmp_path: Path) -> None:
    clock = Clock()
    folders = {"path": tmp_path / "store", "tmp": tmp_path / "tmp"}

    def opened() -> tuple[ClickHouse, StoreRuns]:
        blobs = FileBlobs(tmp_path / "blobs")
        database = ClickHouse(Engine.open(folders["path"], tmp=folders["tmp"]), blobs, clock=clock)
        database.start()
        return database, StoreRuns(database, blobs, clock=clock)

    database, runs = opened()
    database.export(a_run())
    clock.pass_s(3600)
    assert runs.runs(RunQuery())[0].tool_calls == 1  # summed up, and trusted from now on
    database.shutdown()
    clock.pass_s(-10 * 3600)

    database, runs = opened()
    database.export(stored(build.tool("d" * 16, build.ROOT, "late", {}, "x")))

    (summary,) = runs.runs(RunQuery())
    database.shutdown()
    assert summary.tool_calls == 2


def test_the_table_of_runs_goes_on_where_the_clock_is_set_back(tmp_path: Path, database: ClickHouse) -> None:
    wall, steady = Clock(), Clock(0)
    clock = Onward(wall, steady)
    database._clock = clock
    kept = RunList(StoreRuns(database, FileBlobs(tmp_path / "blobs"), clock=clock), clock=clock)
    wall.pass_s(-6 * 3600)
    database.export(a_run())

    for clock_ in (wall, steady):
        clock_.pass_s(60)
    kept.look()

    assert database.cached("default", [build.TID])


def test_a_spool_knows_no_clock_its_order_is_that_of_its_numbers(tmp_path: Path) -> None:
    from runreel.spool import Spool

    spool = Spool(tmp_path / "spool", segment_bytes=1)
    spool.open()
    now = datetime.now(UTC)
    for number, hours in enumerate(JUMPS_H):
        with time_machine.travel(now + timedelta(hours=hours)):
            spool.append(batch(str(number))).result(30)

    with time_machine.travel(now - timedelta(days=3)):
        opened = again(spool)

    assert names(opened) == [str(number) for number in range(len(JUMPS_H))]
    opened.close()


def test_values_in_the_vault_outlive_hours_that_did_not_pass(tmp_path: Path) -> None:
    clock = Clock()
    vault = Vault(tmp_path / "vault.db", 7, clock)
    vault.start()
    sealed = Sealed("default", "<EMAIL_1>", "k", "v", b"body")
    vault.export(SplitBatch("default", sealed=(sealed,)))

    for hours in (12, -24, 6):
        clock.pass_s(hours * 3600)
        vault.export(SplitBatch("default", sealed=(replace(sealed, token=f"<EMAIL_{hours}>"),)))

    assert vault.sealed("default", "<EMAIL_1>", who="somebody", reason="a test")
    vault.shutdown()
