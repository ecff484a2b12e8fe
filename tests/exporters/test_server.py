"""A ClickHouse server over HTTP, as far as a test server in front of chDB can show it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from clickhouse_front import PASSWORD, Front, front
from runreel.errors import PermanentError, RetryableError, StoreError
from runreel.exporters import cluster, schema
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.connection import Connection, consume_error, new_token
from runreel.exporters.engine import Engine
from runreel.exporters.quarantine import QuarantineTable, erase
from runreel.exporters.server import Server, ServerSettings
from runreel.spool.quarantine import item
from runreel.values import SplitBatch
from stored_rows import OTHER_TRACE, TRACE, batch_with_payload, row


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with front(tmp_path_factory.mktemp("front") / "engine") as started:
        yield started


@pytest.fixture
def database(running: Front) -> Iterator[ClickHouse]:
    opened = ClickHouse(Server.connect(ServerSettings(running.endpoint, password=PASSWORD)))
    yield opened
    opened.shutdown()
    opened.shutdown()


def spans(database: ClickHouse, tenant: str, trace_id: str = TRACE) -> int:
    return len(database.rows(tenant, [trace_id])[0])


def test_an_insert_whose_answer_was_lost_is_stored_once(running: Front, database: ClickHouse, tenant: str) -> None:
    sent = SplitBatch(tenant, (row(tenant=tenant),))
    database.export(SplitBatch(tenant, (row(tenant=tenant, trace_id=OTHER_TRACE),)))
    running.cut()
    for _ in range(3):  # the client sends again by itself, or whoever holds the batch does
        try:
            database.export(sent)
        except RetryableError:
            continue
        break

    raw = database._engine.query(
        "SELECT count() FROM runreel.spans WHERE tenant = {tenant:String} AND trace_id = {trace:String}",
        {"tenant": tenant, "trace": TRACE},
    )
    assert raw == [(1,)]


def test_a_server_in_trouble_is_worth_another_try(running: Front, database: ClickHouse, tenant: str) -> None:
    sent = batch_with_payload({"text": "x" * 500}, tenant)
    for code in (252, 241, 202, 209, 999):
        running.fault(500, code)
        with pytest.raises(RetryableError, match=f"insert into parts: engine error {code}"):
            database.export(sent)

    database.export(sent)

    assert spans(database, tenant) == 1


def test_a_server_that_refuses_a_read_says_so_without_data(running: Front, database: ClickHouse, tenant: str) -> None:
    running.fault(500, 241)

    with pytest.raises(StoreError, match=f"{running.endpoint}: engine error 241.* while reading"):
        database.rows(tenant, [TRACE])


def test_a_restarted_server_is_used_again_without_a_word(tmp_path: Path, tenant: str) -> None:
    sent = SplitBatch(tenant, (row(tenant=tenant),))
    with front(tmp_path / "engine") as first:
        port = int(first.endpoint.rpartition(":")[2])
        database = ClickHouse(Server.connect(ServerSettings(first.endpoint)))
        database.export(sent)
    with pytest.raises(RetryableError):
        database.export(SplitBatch(tenant, (row(tenant=tenant, trace_id=OTHER_TRACE),)))
    with pytest.raises(StoreError):
        database.rows(tenant, [TRACE])

    with front(tmp_path / "engine", port):
        database.export(SplitBatch(tenant, (row(tenant=tenant, trace_id=OTHER_TRACE),)))

        assert (spans(database, tenant), spans(database, tenant, OTHER_TRACE)) == (1, 1)
        database.shutdown()


def test_nobody_listening_is_said_with_the_address() -> None:
    with pytest.raises(StoreError, match=r"cannot use the ClickHouse server http://127\.0\.0\.1:1: .*Is it running"):
        Server.connect(ServerSettings("http://127.0.0.1:1"))


def test_a_user_that_the_server_does_not_know_is_said(running: Front) -> None:
    with pytest.raises(StoreError, match="does not know this user or password") as caught:
        Server.connect(ServerSettings(running.endpoint, username="nobody", password="hunter2"))

    assert "hunter2" not in str(caught.value)


def test_a_user_that_may_not_make_tables_is_told_what_to_do(running: Front) -> None:
    running.fault(403, 497)

    with pytest.raises(StoreError, match=r"this user may not make its tables .*`runreel db migrate` as one who may"):
        Server.connect(ServerSettings(running.endpoint))


def test_a_closed_connection_says_so(running: Front) -> None:
    plain = Server.connect(ServerSettings(running.endpoint))
    plain.close()
    with pytest.raises(StoreError, match="closed"):
        plain.query("SELECT 1")


@pytest.mark.parametrize("endpoint", ["ch:8123", "tcp://ch:9000", "http://", "http://me:secret@ch:8123", "http://ch/x"])
def test_what_is_no_endpoint_is_said(endpoint: str) -> None:
    with pytest.raises(StoreError, match="is no ClickHouse endpoint: write http://host:8123"):
        Server.connect(ServerSettings(endpoint))


def test_tables_of_a_newer_version_are_left_alone(tmp_path: Path) -> None:
    with front(tmp_path / "engine") as running:
        server = Server.connect(ServerSettings(running.endpoint))
        server.insert("schema_version", {"version": [999]}, new_token())
        server.close()

        with pytest.raises(StoreError, match=r"tables of version 999.*use a newer RunReel"):
            Server.connect(ServerSettings(running.endpoint))


# --- the tables of a cluster: their SQL is parsed, and cannot be run here ---


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("parse")
    opened = Engine.open(folder / "store", tmp=folder / "tmp")
    yield opened
    opened.close()


ALL = [statement for script in schema.scripts().values() for statement in schema.statements(script)]


def parses(engine: Engine, sql: str) -> bool:
    """Whether the engine's parser takes a statement; raises what it says where not."""
    return bool(engine.query(f"EXPLAIN AST {sql}"))


def test_the_parser_would_notice(engine: Engine) -> None:
    with pytest.raises(StoreError):
        parses(engine, "CREATE TABLE x (a String) ENGIN = Log")


@pytest.mark.parametrize("number", range(len(ALL)))
def test_every_statement_has_a_form_for_a_cluster_that_parses(engine: Engine, number: int) -> None:
    found = cluster.ddl("runs-1")(ALL[number])

    for sql in found:
        assert parses(engine, sql)
        if not sql.startswith("INSERT"):
            assert "ON CLUSTER `runs-1`" in sql


class Written(Connection):
    """A connection that is told statements and runs none."""

    def __init__(self, cluster: str) -> None:
        super().__init__("nowhere")
        self.cluster = cluster
        self.statements: list[str] = []

    def command(self, sql: str) -> None:
        self.statements.append(sql)

    def insert(self, table: str, columns: object, token: str) -> None:
        """Take what says what became of them."""


@pytest.mark.parametrize("name", ["", "runs-1"], ids=["one server", "a cluster"])
def test_what_is_deleted_is_deleted_by_a_statement_that_parses_on_every_shard(engine: Engine, name: str) -> None:
    asked = Written(name)
    # What is taken out of the quarantine, and what is withdrawn into it; in pieces, with any text for a tenant.
    held = [item(SplitBatch("o'clock`", (row(f"{n:016x}", tenant="o'clock`"),)), "why") for n in range(1, 300)]
    QuarantineTable(asked).remove(held, "dropped")
    rows = [(one.tenant, one.trace_id, one.span_id, "c") for one in held]
    for table in ("spans", "log_events"):
        erase(asked, table, rows)

    assert len(asked.statements) == 6
    for sql in asked.statements:
        assert parses(engine, sql)
        table = re.match(r"ALTER TABLE runreel\.(\w+?)(_local ON CLUSTER `runs-1`)? DELETE WHERE ", sql)
        assert table is not None
        assert table[1] in ("quarantine", "spans", "log_events")
        assert bool(table[2]) == bool(name)  # a table over all shards takes no mutation
        assert sql.endswith(" SETTINGS mutations_sync = 2")
        assert len(sql) < 256 * 1024  # more than that a server does not read


def test_every_table_is_replicated_on_its_shard_and_spread_by_what_belongs_together() -> None:
    tables = [sql for sql in ALL if sql.startswith("CREATE TABLE")]
    form = cluster.ddl("runs")

    for sql in tables:
        local, over_all = form(sql)
        name = re.search(r"runreel\.(\w+)", sql)[1]  # type: ignore[index]
        assert f"runreel.{name}_local" in local
        assert re.search(
            rf"Replicated\w*MergeTree\('/clickhouse/tables/{{shard}}/runreel/{name}', '{{replica}}'", local
        )
        assert " replicated_deduplication_window = " in local
        assert re.search(rf"Distributed\(`runs`, runreel, {name}_local, cityHash64\(\w+\)\)", over_all)
        key = re.search(r"cityHash64\((\w+)\)", over_all)[1]  # type: ignore[index]
        order = re.search(r"ORDER BY \(?([^)]*)\)?", sql)[1]  # type: ignore[index]
        assert key in order.split(", ")  # duplicates of a row meet on one shard


def test_the_arguments_of_an_engine_are_kept() -> None:
    (local, _) = cluster.ddl("c")("CREATE TABLE IF NOT EXISTS runreel.x\n(a Int8)\nENGINE = ReplacingMergeTree(a)\n")

    assert "ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/runreel/x', '{replica}', a)" in local


@pytest.mark.parametrize("name", ["", "a b", "x`; DROP", "1st"])
def test_what_is_no_cluster_is_said(name: str) -> None:
    with pytest.raises(StoreError, match="is no name of a cluster"):
        cluster.ddl(name)


def test_a_statement_without_a_form_is_refused() -> None:
    with pytest.raises(StoreError, match="no form for a cluster of a statement that begins"):
        cluster.ddl("c")("DROP TABLE runreel.spans")


@pytest.mark.parametrize("error", [AttributeError("x"), ValueError("x"), KeyError("x"), TypeError("x")])
def test_an_error_of_the_client_over_the_network_is_worth_another_try(error: Exception) -> None:
    assert isinstance(consume_error(error, "spans", over_network=True), RetryableError)
    assert isinstance(consume_error(error, "spans"), PermanentError)
    assert isinstance(consume_error(OverflowError("x"), "spans", over_network=True), PermanentError)


def test_an_insert_of_which_the_server_took_less_is_no_success(
    database: ClickHouse, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Less:
        written_rows = 0

    monkeypatch.setattr(database._engine._writer, "insert", lambda *_, **__: Less())

    with pytest.raises(RetryableError, match="the server took fewer rows than were sent"):
        database.export(SplitBatch(tenant, (row(tenant=tenant),)))
