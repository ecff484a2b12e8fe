"""What only the store on ClickHouse keeps: the order of writing, places of parts, the view for dashboards."""

import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runreel.errors import CorruptError, PermanentError, RetryableError
from runreel.exporters.clickhouse import ClickHouse, Settings
from runreel.exporters.engine import Engine
from runreel.exporters.files import FileBlobs
from runreel.values import Event, Facts, Link, Resource, Scope, SplitBatch
from stored_rows import OTHER_TRACE, TRACE, batch_with_payload, log, part, row


class Recorder(FileBlobs):
    """A blob store that notes what it was asked to write, and fails where it is told to."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.written: list[str] = []
        self.failing = False

    def put(self, tenant: str, sha256: str, data: bytes, media_type: str) -> None:
        if self.failing:
            raise RetryableError("no space")
        self.written.append(sha256)
        super().put(tenant, sha256, data, media_type)


@pytest.fixture(scope="module")
def engine(home: Path) -> Iterator[Engine]:
    opened = Engine.open(home / "store", tmp=home / "tmp")
    yield opened
    opened.close()


@pytest.fixture
def blobs(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "blobs")


@pytest.fixture
def database(engine: Engine, blobs: Recorder) -> ClickHouse:
    return ClickHouse(engine, blobs)


def content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:  # merged away while we look
        return b""


def count(engine: Engine, table: str, tenant: str) -> int:
    queries = {
        "spans": "SELECT count() FROM runreel.spans WHERE tenant = {t:String}",
        "parts": "SELECT count() FROM runreel.parts WHERE tenant = {t:String}",
        "payloads": "SELECT count() FROM runreel.payloads WHERE tenant = {t:String}",
        "traces": "SELECT count() FROM runreel.traces WHERE tenant = {t:String}",
        "log_events": "SELECT count() FROM runreel.log_events WHERE tenant = {t:String}",
    }
    ((number,),) = engine.query(queries[table], {"t": tenant})
    return int(number)


def test_light_parts_go_to_the_table_and_heavy_ones_to_the_blob_store(
    engine: Engine, database: ClickHouse, blobs: Recorder, tenant: str
) -> None:
    light, heavy = part(b"x" * 32 * 1024, tenant), part(b"y" * (32 * 1024 + 1), tenant)

    database.export(SplitBatch(tenant, parts=(light, heavy)))

    found = database.parts(tenant, [light.sha256, heavy.sha256])
    assert found[light.sha256].data == light.data
    assert found[heavy.sha256].data is None
    assert found[heavy.sha256].size == len(heavy.data)
    assert blobs.written == [heavy.sha256]
    assert blobs.get(tenant, heavy.sha256) == heavy.data


def test_the_threshold_is_a_setting(engine: Engine, blobs: Recorder, tenant: str) -> None:
    database = ClickHouse(engine, blobs, Settings(inline_bytes=10))

    database.export(SplitBatch(tenant, parts=(part(b"x" * 11, tenant), part(b"x" * 10, tenant))))

    assert len(blobs.written) == 1


def test_without_a_blob_store_every_part_is_in_the_table(engine: Engine, tenant: str) -> None:
    database = ClickHouse(engine)
    heavy = part(b"z" * 100_000, tenant)

    database.export(SplitBatch(tenant, parts=(heavy,)))

    assert database.parts(tenant, [heavy.sha256])[heavy.sha256].data == heavy.data


def test_parts_are_compressed_where_that_helps(engine: Engine, database: ClickHouse, tenant: str) -> None:
    noise = hashlib.shake_256(b"noise").digest(400)
    database.export(SplitBatch(tenant, parts=(part(b"again and " * 100, tenant), part(noise, tenant))))

    stored = engine.query(
        "SELECT codec, length(data), size FROM runreel.parts WHERE tenant = {t:String} ORDER BY size", {"t": tenant}
    )

    assert [(codec, size) for codec, _, size in stored] == [("none", 400), ("zstd", 1000)]
    assert stored[0][1] == 400
    assert stored[1][1] < 100


def test_where_a_blob_cannot_be_written_no_row_is_written(
    engine: Engine, database: ClickHouse, blobs: Recorder, tenant: str
) -> None:
    blobs.failing = True
    batch = SplitBatch(tenant, (row(tenant=tenant),), (log(tenant=tenant),), parts=(part(b"h" * 50_000, tenant),))

    with pytest.raises(RetryableError, match="no space"):
        database.export(batch)

    assert [count(engine, table, tenant) for table in ("parts", "payloads", "log_events", "traces", "spans")] == [0] * 5

    blobs.failing = False
    database.export(batch)
    assert count(engine, "spans", tenant) == 1


def test_where_spans_cannot_be_written_nothing_names_them_and_a_retry_completes_the_batch(
    engine: Engine, database: ClickHouse, tenant: str
) -> None:
    good = batch_with_payload({"text": "x" * 300}, tenant)
    # The second span has a status that its column cannot hold: parts and payloads are written before that shows.
    bad = replace(good, rows=(*good.rows, row("c1c1c1c1c1c1c1c1", tenant=tenant, status=2**40)))

    with pytest.raises(PermanentError, match="insert into spans"):
        database.export(bad)

    assert count(engine, "spans", tenant) == 0
    assert count(engine, "payloads", tenant) == 1
    database.export(good)
    assert len(database.rows(tenant, [TRACE])[0]) == 1


def test_no_attempt_uses_the_token_of_another_and_what_is_there_twice_is_read_once(
    engine: Engine, database: ClickHouse, tenant: str
) -> None:
    good = SplitBatch(tenant, (row(tenant=tenant),), (log(tenant=tenant),))
    bad = replace(good, rows=(row(tenant=tenant, status=2**40),))

    for _ in range(3):
        with pytest.raises(PermanentError):
            database.export(bad)

    # An attempt that was cut off may have left a part of its rows: its token would swallow the rest.
    assert count(engine, "log_events", tenant) == 3
    database.export(good)
    database.export(good)
    assert count(engine, "spans", tenant) == 2
    spans, logs = database.rows(tenant, [TRACE])
    assert (len(spans), len(logs)) == (1, 1)


def test_a_part_written_lately_is_not_written_again_until_forgotten(
    engine: Engine, database: ClickHouse, tenant: str
) -> None:
    batch = SplitBatch(tenant, parts=(part(b"known" * 100, tenant),))
    for _ in range(3):
        database.export(batch)
    assert count(engine, "parts", tenant) == 1

    database.forget_known()
    database.export(batch)

    assert count(engine, "parts", tenant) == 2
    assert len(database.parts(tenant, [batch.parts[0].sha256])) == 1


def test_what_is_remembered_of_parts_is_bounded_in_number_and_time(engine: Engine, tenant: str) -> None:
    first, second = part(b"first" * 100, tenant), part(b"second" * 100, tenant)
    small = ClickHouse(engine, None, Settings(memo_parts=1))
    brief = ClickHouse(engine, None, Settings(memo_s=0.0))

    for one in (first, second, first):
        small.export(SplitBatch(tenant, parts=(one,)))
    assert count(engine, "parts", tenant) == 3
    for _ in range(2):
        brief.export(SplitBatch(tenant, parts=(first,)))
    assert count(engine, "parts", tenant) == 5


def test_a_part_of_a_failed_flush_is_written_again(
    engine: Engine, database: ClickHouse, blobs: Recorder, tenant: str
) -> None:
    one = part(b"again" * 100, tenant)

    with pytest.raises(PermanentError):
        database.export(SplitBatch(tenant, (row(tenant=tenant, status=2**40),), parts=(one,)))
    database.export(SplitBatch(tenant, parts=(one,)))

    assert database.parts(tenant, [one.sha256])[one.sha256].data == one.data


def test_reads_are_exact_with_merges_stopped(engine: Engine, database: ClickHouse, tenant: str) -> None:
    engine.command("SYSTEM STOP MERGES")
    try:
        batch = SplitBatch(tenant, (row(tenant=tenant), row("c1c1c1c1c1c1c1c1", tenant=tenant)), (log(tenant=tenant),))
        for _ in range(10):
            database.export(batch)

        assert count(engine, "spans", tenant) == 20
        spans, logs = database.rows(tenant, [TRACE])
        assert (len(spans), len(logs)) == (2, 1)
        (trace,) = database.recent(tenant, since_ns=None, limit=9, offset=0)
        assert trace.trace_id == TRACE
        ((tokens,),) = engine.query("SELECT count() FROM runreel.otel_traces WHERE Tenant = {t:String}", {"t": tenant})
        assert tokens == 2
    finally:
        engine.command("SYSTEM START MERGES")


def test_spans_of_200_days_go_to_the_partition_of_their_arrival(
    engine: Engine, database: ClickHouse, tenant: str
) -> None:
    day = 86_400_000_000_000
    rows = tuple(
        row(trace_id=f"{number:032x}", tenant=tenant, start_ns=1_760_000_000_000_000_000 - number * day)
        for number in range(1, 201)
    )

    database.export(SplitBatch(tenant, rows))

    ((partitions,),) = engine.query(
        "SELECT uniqExact(_partition_id) FROM runreel.spans WHERE tenant = {t:String}", {"t": tenant}
    )
    assert partitions == 1


def test_a_retry_in_the_next_month_is_still_one_span(engine: Engine, blobs: Recorder, tenant: str) -> None:
    month = 31 * 86_400_000_000_000
    times = iter([1_760_000_000_000_000_000, 1_760_000_000_000_000_000 + month])
    database = ClickHouse(engine, blobs, clock=times.__next__)

    for _ in range(2):
        database.export(SplitBatch(tenant, (row(tenant=tenant),)))

    ((partitions,),) = engine.query(
        "SELECT uniqExact(_partition_id) FROM runreel.spans WHERE tenant = {t:String}", {"t": tenant}
    )
    assert partitions == 2
    assert len(database.rows(tenant, [TRACE])[0]) == 1


@pytest.mark.parametrize(
    ("start_ns", "end_ns", "started", "duration"),
    [
        (2**64 - 1, 2**64 - 1, 9223372036000000000, 0),
        (1, 1, 1, 0),
        (0, 0, 0, 0),
        (100, 60, 100, 0),
        (100, 0, 100, 0),
        (1_760_000_000_000_000_000, 1_760_000_000_000_000_123, 1_760_000_000_000_000_000, 123),
    ],
    ids=["the end of time", "1970", "no time", "ends before it starts", "no end", "ordinary"],
)
def test_any_time_is_kept_as_sent_and_shown_clamped(
    engine: Engine, database: ClickHouse, tenant: str, start_ns: int, end_ns: int, started: int, duration: int
) -> None:
    database.export(SplitBatch(tenant, (row(tenant=tenant, start_ns=start_ns, end_ns=end_ns),)))

    ((found,), _) = database.rows(tenant, [TRACE])
    assert (found.span.start_ns, found.span.end_ns) == (start_ns, end_ns)
    shown = engine.query(
        "SELECT Timestamp, Duration FROM runreel.otel_traces WHERE Tenant = {t:String} AND TraceId = {id:String}",
        {"t": tenant, "id": TRACE},
    )
    assert list(map(tuple, shown)) == [(started, duration)]


def test_the_view_shows_what_the_collectors_own_exporter_would(
    engine: Engine, database: ClickHouse, tenant: str
) -> None:
    batch = batch_with_payload({"text": "x" * 300}, tenant)
    (marker,) = batch.rows[0].span.attributes.values()
    attributes = {
        "gen_ai.request.model": "m-1",
        "tokens": 12,
        "share": 0.5,
        "stream": True,
        "tags": ("a", "b"),
        "gen_ai.output.messages": marker,
        "quoted": 'a "quote" and \\ and é',
    }
    shown = row(
        tenant=tenant,
        parent_id="00f067aa0ba902b7",
        attributes=attributes,
        status=2,
        message="boom",
        kind=3,
        trace_state="k=v",
        events=(Event("exception", 7, {"exception.type": "E"}), Event("plain")),
        links=(Link(OTHER_TRACE, "00f067aa0ba902b8", "s=1", {"l": 1}),),
        resource=Resource({"service.name": "billing", "n": 1}),
        scope=Scope("sdk", "1.2"),
    )
    database.export(SplitBatch(tenant, (shown,)))

    (found,) = engine.query(
        "SELECT ParentSpanId, TraceState, SpanName, SpanKind, ServiceName, ResourceAttributes, ScopeName, "
        "ScopeVersion, SpanAttributes, StatusCode, StatusMessage, `Events.Timestamp`, `Events.Name`, "
        "`Events.Attributes`, `Links.TraceId`, `Links.SpanId`, `Links.TraceState`, `Links.Attributes` "
        "FROM runreel.otel_traces WHERE Tenant = {t:String}",
        {"t": tenant},
    )

    address = f"sha256:{batch.payloads[0].ref.sha256}"
    expected = {**attributes, "gen_ai.output.messages": address, "tags": '["a","b"]', "stream": "true"}
    assert found[8] == {key: str(value) for key, value in expected.items()}
    assert tuple(found[:8]) == (
        "00f067aa0ba902b7", "k=v", "chat m-1", "Client", "billing", {"service.name": "billing", "n": "1"}, "sdk", "1.2",
    )  # fmt: skip
    assert tuple(found[9:11]) == ("Error", "boom")
    assert (found[11], found[12]) == ([7, 0], ["exception", "plain"])
    assert found[13] == [{"exception.type": "E"}, {}]
    assert (found[14], found[15], found[16], found[17]) == ([OTHER_TRACE], ["00f067aa0ba902b8"], ["s=1"], [{"l": "1"}])


def test_a_row_that_is_not_ours_is_named_and_not_quoted(engine: Engine, database: ClickHouse, tenant: str) -> None:
    database.export(SplitBatch(tenant, (row(tenant=tenant),)))
    update = "ALTER TABLE runreel.spans UPDATE record = '[\"PAYLOAD\"]'"
    engine.command(f"{update} WHERE tenant = '{tenant}' SETTINGS mutations_sync = 2")

    with pytest.raises(CorruptError, match=f"span b7ad6b7169203331 of trace {TRACE}") as caught:
        database.rows(tenant, [TRACE])

    assert "PAYLOAD" not in str(caught.value)


def test_facts_are_columns_to_search_by(engine: Engine, database: ClickHouse, tenant: str) -> None:
    facts = Facts(
        kind="llm",
        dialect="otel",
        run_hint="r",
        agent_id="a",
        model="m",
        provider="p",
        input_tokens=3,
        output_tokens=-1,
    )
    database.export(SplitBatch(tenant, (row(tenant=tenant, facts=facts, name="lone \ud800"),)))

    found = engine.query(
        "SELECT kind, dialect, run_hint, agent_id, model, provider, input_tokens, output_tokens, name, instance "
        "FROM runreel.spans WHERE tenant = {t:String}",
        {"t": tenant},
    )

    assert list(map(tuple, found)) == [("llm", "otel", "r", "a", "m", "p", 3, None, "lone \\ud800", "billing-1")]


def test_bytes_of_deleted_rows_leave_the_disk(engine: Engine, database: ClickHouse, home: Path, tenant: str) -> None:
    canary = hashlib.sha256(tenant.encode()).digest() * 20  # does not compress, so it stands in the file as it is
    noise = hashlib.shake_256(canary).digest(600)
    database.export(SplitBatch(tenant, parts=(part(noise, tenant),)))

    def on_disk() -> bool:
        # os.walk, which takes folders that are merged away while we look for empty ones.
        files = (Path(folder, name) for folder, _, names in os.walk(home / "store") for name in names)
        return any(noise[:64] in content(file) for file in files)

    assert on_disk()
    engine.command(f"ALTER TABLE runreel.parts DELETE WHERE tenant = '{tenant}' SETTINGS mutations_sync = 2")

    deadline = time.monotonic() + 30
    while on_disk():
        assert time.monotonic() < deadline, "the bytes of a deleted part are still there"
        time.sleep(0.05)
