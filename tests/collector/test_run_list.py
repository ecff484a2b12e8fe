"""The table of runs, kept up to date for dashboards that read tables."""

from pathlib import Path

import pytest

from runreel.collector.run_list import Quiet, RunList
from runreel.components import open_database
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.files import FileBlobs
from runreel.runs.load import Settings, StoreRuns
from runreel.values import ModelUsage
from store_kit import a_run

SECOND = 1_000_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000 * SECOND

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(tmp_path: Path, clock: Clock):
    opened = open_database(tmp_path)
    opened._clock = clock
    yield opened
    opened.shutdown()


def lines(database: ClickHouse) -> list[tuple[object, ...]]:
    return [tuple(row) for row in database._engine.query("SELECT run_id, open, usage FROM runreel.run_list ORDER BY 1")]


def kept(database: ClickHouse, tmp_path: Path, clock: Clock, when: Settings | None = None) -> RunList:
    runs = StoreRuns(database, FileBlobs(tmp_path / "blobs"), when or Settings(quiet_s=30, idle_s=600), clock)
    return RunList(runs, clock=clock)


def test_a_run_is_in_the_table_once_it_is_quiet_with_the_tokens_of_each_model(database, tmp_path, clock) -> None:
    batch = a_run()
    kept_list = kept(database, tmp_path, clock)
    database.export(batch)
    kept_list.look()
    assert lines(database) == []

    clock.now += 32 * SECOND
    kept_list.look()

    ((_, _, usage),) = lines(database)
    (model,) = [ModelUsage(*(one.values() if isinstance(one, dict) else one)) for one in usage]
    assert (model.calls, model.input_tokens > 0) == (1, True)


def test_it_is_written_once_and_again_only_after_news(database, tmp_path, clock) -> None:
    kept_list = kept(database, tmp_path, clock)
    database.export(a_run())
    for _ in range(4):
        clock.now += 32 * SECOND
        kept_list.look()

    ((written,),) = database._engine.query("SELECT count() FROM runreel.runs")
    assert written == 1


def test_what_came_before_the_collector_started_is_in_it_too(database, tmp_path, clock) -> None:
    database.export(a_run())
    clock.now += 3600 * SECOND

    kept(database, tmp_path, clock).look()

    assert len(lines(database)) == 1


def test_it_is_summed_up_when_the_settings_say_that_it_is_over(database, tmp_path, clock) -> None:
    kept_list = kept(database, tmp_path, clock, Settings(quiet_s=7000, idle_s=7000))
    database.export(a_run())
    clock.now += 6900 * SECOND
    kept_list.look()
    before = lines(database)

    clock.now += 102 * SECOND
    kept_list.look()

    assert (before, [line[1] for line in lines(database)]) == ([], [False])


def test_what_came_before_a_start_is_looked_at_however_long_it_takes_until_a_run_is_over() -> None:
    came, day = 1_800_000_000 * SECOND, 86_400 * SECOND
    clock = Clock()
    clock.now = came + 2 * day
    quiet = Quiet(Settings(quiet_s=30, idle_s=3 * 86_400), clock)
    clock.now = came + 3 * day + 2 * SECOND

    assert any(after < came <= until for after, until in quiet.spans_of_time())


def test_costs_are_told_where_a_price_was_valid_that_day(database, tmp_path, clock) -> None:
    kept_list = kept(database, tmp_path, clock)
    database.export(a_run())
    clock.now += 32 * SECOND
    kept_list.look()
    costs = "SELECT model, cost, currency FROM runreel.run_costs"
    ((model, cost, currency),) = database._engine.query(costs)
    assert (cost, currency) == (None, "")

    database._engine.command(
        "INSERT INTO runreel.prices VALUES "
        f"('{model}', '1970-01-01', 1000000, 0, 'EUR'), ('{model}', '2100-01-01', 1, 1, 'USD')"
    )

    ((_, cost, currency),) = database._engine.query(costs)
    ((tokens,),) = database._engine.query("SELECT usage.input_tokens[1] FROM runreel.run_list")
    assert (cost, currency) == (tokens, "EUR")


def test_the_ledger_is_told_over_what_was_told_last(database) -> None:
    for stored in (3, 5):
        database.tell_ledger("one-1a2b", {"default": {"stored_spans": stored}, "": {"damaged_records": 0}})
    database.tell_ledger("two-3c4d", {"default": {"stored_spans": 2}})

    told = database._engine.query(
        "SELECT collector, tenant, what, number FROM runreel.ledger FINAL WHERE tenant != '' ORDER BY collector"
    )
    assert [tuple(row) for row in told] == [
        ("one-1a2b", "default", "stored_spans", 5),
        ("two-3c4d", "default", "stored_spans", 2),
    ]


def test_each_look_tells_the_ledger(clock) -> None:
    told = []

    class Nothing:
        settings = Settings()

        def keep_up(self, tenant: str, **_: int) -> tuple[()]:
            return ()

    kept_list = RunList(Nothing(), tell=lambda: told.append(1), clock=clock)  # type: ignore[arg-type]
    kept_list.look()
    kept_list.look()

    assert len(told) == 2
