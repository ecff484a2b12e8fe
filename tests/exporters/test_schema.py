import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from runreel.errors import StoreError
from runreel.exporters import schema
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.connection import new_token
from runreel.exporters.engine import Engine
from store_kit import torn_batches


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")
    yield opened
    opened.close()


def test_the_columns_we_insert_are_those_of_the_tables(engine: Engine) -> None:
    found = engine.query(
        "SELECT table, name, type FROM system.columns WHERE database = 'runreel' AND default_kind = ''"
        "AND table NOT IN (SELECT name FROM system.tables WHERE database = 'runreel' AND engine = 'View')"
    )
    tables: dict[str, dict[str, str]] = {}
    for table, name, type_ in found:
        plain = re.sub(r"^SimpleAggregateFunction\(\w+, (.*)\)$", r"\1", type_)
        tables.setdefault(table, {})[name] = plain

    assert tables == {table: dict(columns) for table, columns in schema.TYPES.items()}


def test_every_table_that_holds_content_removes_bytes_promptly_and_flushes(engine: Engine) -> None:
    tables = engine.query(
        "SELECT name, engine_full FROM system.tables WHERE database = 'runreel' AND engine LIKE '%MergeTree' "
        "AND name != 'schema_version'"
    )
    needed = {
        "old_parts_lifetime = 1",
        "cleanup_delay_period = 1",
        "cleanup_delay_period_random_add = 0",
        "max_cleanup_delay_period = 2",
        "fsync_after_insert = 1",
        "fsync_part_directory = 1",
        "non_replicated_deduplication_window = 1000",
    }

    assert len(tables) == 12
    for name, full in tables:
        assert needed <= set(re.findall(r"\w+ = \w+", full)), name


def test_running_it_again_changes_nothing(engine: Engine) -> None:
    before = engine.query("SELECT name, create_table_query FROM system.tables WHERE database = 'runreel' ORDER BY name")

    schema.migrate(engine)

    after = engine.query("SELECT name, create_table_query FROM system.tables WHERE database = 'runreel' ORDER BY name")
    assert list(after) == list(before)


def test_a_migration_cut_off_in_the_middle_is_finished_by_the_next_start(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")
    engine.command("DROP TABLE runreel.runs")
    engine.command("DROP VIEW runreel.trace_news")
    engine.command("TRUNCATE TABLE runreel.schema_version")
    engine.close()

    engine = Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")
    names = {name for (name,) in engine.query("SELECT name FROM system.tables WHERE database = 'runreel'")}
    engine.close()

    assert {"runs", "trace_news", "spans"} <= names


def test_a_store_of_a_newer_version_is_refused_and_let_go(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")
    engine.insert("schema_version", {"version": [9999]}, new_token())
    engine.close()

    for _ in range(2):
        with pytest.raises(StoreError, match=r"tables of version 9999.*knows up to \d+.*newer RunReel"):
            Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")


def test_versions_count_from_one_without_a_hole() -> None:
    assert list(schema.scripts()) == list(range(1, len(schema.scripts()) + 1))


def test_a_script_is_split_at_the_semicolons_that_end_a_line() -> None:
    script = "-- a comment; with one\nCREATE a\n(\n  -- inside;\n  b String DEFAULT ';'\n);\n\nCREATE c;\n"

    assert schema.statements(script) == ["CREATE a\n(\n  b String DEFAULT ';'\n)", "CREATE c"]


def test_a_store_whose_version_cannot_be_written_is_not_opened(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")
    engine.command("DROP TABLE runreel.schema_version")
    engine.command(
        "CREATE TABLE runreel.schema_version (version UInt32, CONSTRAINT none CHECK version = 0) "
        "ENGINE = ReplacingMergeTree ORDER BY version"
    )
    engine.close()

    with pytest.raises(StoreError, match=r"cannot open the store .*insert into schema_version: engine error 469"):
        Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")


def test_a_store_of_version_one_learns_which_traces_stand_beside_each_other(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")
    store = ClickHouse(engine)
    for batch in torn_batches():
        store.export(batch)
    names = [trace.trace_id for trace in store.recent("default", since_ns=None, limit=9, offset=0)]
    known = store.traces("default", names)
    beside = store.beside("default", known)
    for statement in (
        "DROP VIEW runreel.trace_news",
        "DROP TABLE runreel.callers",
        "ALTER TABLE runreel.traces DROP COLUMN other_steps, DROP COLUMN callers",
        "ALTER TABLE runreel.runs DROP COLUMN tools",
        "TRUNCATE TABLE runreel.schema_version",
    ):
        engine.command(statement)
    engine.insert("schema_version", {"version": [1]}, new_token())
    store.shutdown()

    store = ClickHouse(Engine.open(tmp_path / "store", tmp=tmp_path / "tmp"))

    assert len(beside) == 4
    assert store.traces("default", names) == known
    assert store.beside("default", known) == beside
    store.shutdown()
