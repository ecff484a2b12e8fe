"""C40, the half about upgrades: migrations that are killed, raced and refused, and writers of another version."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clickhouse_front import Front, front
from runreel.components import open_runs
from runreel.errors import StoreError
from runreel.exporters import schema
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.connection import new_token
from runreel.exporters.engine import Engine
from runreel.exporters.files import FileBlobs
from runreel.exporters.server import Server, ServerSettings
from runreel.runs.load import StoreRuns
from runreel.spool import Spool
from runreel.storage import RunQuery
from store_kit import a_run

NEWEST = max(schema.scripts())
STATEMENTS = sum(len(schema.statements(script)) for script in schema.scripts().values())
MAKES = ("CREATE", "ALTER", "DROP", "INSERT INTO runreel.callers")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Front]:
    with front(tmp_path / "engine") as running:
        yield running


def tables(engine: Engine | Server) -> dict[str, str]:
    found = engine.query("SELECT name, create_table_query FROM system.tables WHERE database = 'runreel'")
    return {str(name): str(sql) for name, sql in found}


def opened(folder: Path) -> Engine:
    return Engine.open(folder / "store", tmp=folder / "tmp")


# --- killed ---

_KILLED = """
import os, signal, sys
from pathlib import Path
from runreel.exporters.connection import Connection
from runreel.exporters.engine import Engine
left, folder = int(sys.argv[1]), Path(sys.argv[2])
run = Connection.command
def until_killed(self, sql):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    run(self, sql)
Connection.command = until_killed
Engine.open(folder / "store", tmp=folder / "tmp").close()
"""


@pytest.mark.parametrize("after", sorted({1, 2, 3, STATEMENTS // 2, STATEMENTS, STATEMENTS + 1}))
def test_a_migration_killed_anywhere_is_finished_by_the_next_start(tmp_path: Path, after: int) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(after), str(tmp_path)], timeout=120, check=False)
    engine = opened(tmp_path)
    found = tables(engine)
    database = ClickHouse(engine)
    database.export(a_run())
    listed = StoreRuns(database, FileBlobs(tmp_path / "blobs")).runs(RunQuery())
    version = database.version()[1]
    database.shutdown()
    whole = opened(tmp_path / "other")
    wanted = tables(whole)
    whole.close()

    assert killed.returncode == -signal.SIGKILL
    assert found == wanted
    assert (version, len(listed)) == (NEWEST, 1)


# --- at once ---


def test_replicas_that_migrate_at_once_end_with_the_same_tables(server: Front) -> None:
    with ThreadPoolExecutor(3) as pool:
        connected = list(pool.map(lambda _: Server.connect(ServerSettings(server.endpoint)), range(3)))
    found = [tables(one) for one in connected]
    versions = connected[0].query("SELECT version FROM runreel.schema_version FINAL ORDER BY version")
    for one in connected:
        one.close()

    assert found[0] == found[1] == found[2]
    assert [version for (version,) in versions] == list(schema.scripts())


# --- another version ---


def up_to(version: int) -> Callable[[], dict[int, str]]:
    known = dict(schema.scripts())
    return lambda: {number: script for number, script in known.items() if number <= version}


def write_as_of(old: dict[str, dict[str, str]], engine: Engine, patched: pytest.MonkeyPatch) -> None:
    """Write what the writer of then writes: its tables, its columns and no others."""
    insert = engine.insert
    patched.setattr(
        engine,
        "insert",
        lambda table, given, token: (
            insert(table, {name: held for name, held in given.items() if name in old[table]}, token)
            if table in old
            else None
        ),
    )


@pytest.mark.parametrize("version", list(schema.scripts())[:-1])
def test_a_writer_of_an_earlier_version_goes_on_writing_into_newer_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(schema, "scripts", up_to(version))
        engine = opened(tmp_path)
        old = columns(engine)
        engine.close()
    engine = opened(tmp_path)
    new = columns(engine)
    database = ClickHouse(engine)

    with monkeypatch.context() as patched:
        write_as_of(old, engine, patched)
        database.export(a_run())

    (summary,) = StoreRuns(database, FileBlobs(tmp_path / "blobs")).runs(RunQuery())
    database.shutdown()
    assert {table: {name: new[table][name] for name in of} for table, of in old.items()} == old
    assert (summary.model_calls, summary.tool_calls) == (1, 1)


def columns(engine: Engine) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    lines = engine.query(
        "SELECT table, name, type FROM system.columns WHERE database = 'runreel' AND default_kind = '' AND table IN "
        "(SELECT name FROM system.tables WHERE database = 'runreel' AND engine LIKE '%MergeTree')"
    )
    for table, name, type_ in lines:
        found.setdefault(str(table), {})[str(name)] = str(type_)
    return found


@pytest.mark.parametrize("version", list(schema.scripts())[:-1])
def test_a_newer_writer_brings_older_tables_up_to_date_and_keeps_what_is_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(schema, "scripts", up_to(version))
        engine = opened(tmp_path)
        old = columns(engine)
        write_as_of(old, engine, patched)
        ClickHouse(engine).export(a_run())
        engine.close()

    database = ClickHouse(opened(tmp_path))

    (summary,) = StoreRuns(database, FileBlobs(tmp_path / "blobs")).runs(RunQuery())
    database.shutdown()
    assert (summary.model_calls, summary.tool_calls) == (1, 1)


def test_an_older_writer_refuses_newer_tables_and_keeps_what_waits_until_a_newer_one_comes(tmp_path: Path) -> None:
    opened(tmp_path).close()
    engine = opened(tmp_path)
    engine.insert("schema_version", {"version": [NEWEST + 1]}, new_token())
    engine.close()
    spool = Spool(tmp_path / "spool")
    spool.open()
    spool.append(a_run()).result(30)
    spool.close()
    before = {file.name: file.read_bytes() for file in (tmp_path / "spool").glob("*.spool")}

    with pytest.raises(StoreError, match=rf"version {NEWEST + 1}, and this RunReel knows up to {NEWEST}: use a newer"):
        open_runs(tmp_path)

    assert {file.name: file.read_bytes() for file in (tmp_path / "spool").glob("*.spool")} == before
    newer = {**schema.scripts(), NEWEST + 1: ""}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(schema, "scripts", lambda: newer)
        runs = open_runs(tmp_path)
        assert len(runs.runs(RunQuery())) == 1
        runs.close()


# --- a user without the right to make tables ---


def test_a_user_who_may_make_nothing_is_enough_where_the_tables_are_there(server: Front, tmp_path: Path) -> None:
    Server.connect(ServerSettings(server.endpoint)).close()
    server.deny(*MAKES)

    database = ClickHouse(Server.connect(ServerSettings(server.endpoint)), FileBlobs(tmp_path / "blobs"))
    database.start()
    database.export(a_run())

    assert len(StoreRuns(database, FileBlobs(tmp_path / "blobs")).runs(RunQuery())) == 1
    database.shutdown()


def test_where_there_are_no_tables_such_a_user_is_told_the_statement_and_what_to_run(server: Front) -> None:
    server.deny(*MAKES)

    with pytest.raises(StoreError) as caught:
        Server.connect(ServerSettings(server.endpoint))

    said = str(caught.value)
    assert "`CREATE DATABASE IF NOT EXISTS runreel ...`" in said
    assert "runreel db migrate" in said
    assert f"of version 0, and version {NEWEST} is needed" in said


def test_where_the_tables_are_older_such_a_user_is_told_the_table_and_both_versions(
    server: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(schema, "scripts", up_to(NEWEST - 1))
        Server.connect(ServerSettings(server.endpoint)).close()
    first = schema.statements(schema.scripts()[NEWEST])[0]
    server.deny(first[:40])

    with pytest.raises(StoreError, match=f"of version {NEWEST - 1}, and version {NEWEST} is needed") as caught:
        Server.connect(ServerSettings(server.endpoint))

    assert f"`{first[:36]}" in str(caught.value)
    server.deny()
    Server.connect(ServerSettings(server.endpoint)).close()
