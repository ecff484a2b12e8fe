"""What every Database keeps: the one in memory and the one on chDB."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runreel.canonical import dumps
from runreel.exporters import rows
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.memory import Memory
from runreel.storage import CachedRun, KeptGolden
from runreel.values import Facts, Kind, LogEvent, Resource, RunSummary, Scope, SpanRow, SplitBatch
from stored_rows import OTHER_TRACE, SERVICE, TRACE, log, log_events, part, payload, row, span_rows

Store = Memory | ClickHouse


def text_of(thing: SpanRow | LogEvent) -> str:
    """Everything of a row, types too: 1, 1.0 and True differ here, and NaN equals itself."""
    item = thing.span if isinstance(thing, SpanRow) else thing
    around = {"scope": rows.pack(item.scope), "resource": rows.pack(item.resource)}
    if isinstance(thing, LogEvent):
        return dumps({**rows.pack(thing, frozenset(around)), **around})
    key, own = thing.span.key, rows.pack(thing.span, frozenset({"key", *around}))
    return dumps(
        {
            **own,
            **around,
            "key": (key.tenant, key.trace_id, key.span_id, key.copy),
            "facts": rows.pack(thing.facts),
        }
    )


def test_a_batch_sent_again_is_there_once_at_once(database: Store, tenant: str) -> None:
    batch = SplitBatch(tenant, (row(tenant=tenant), row("b7ad6b7169203332", tenant=tenant)), (log(tenant=tenant),))

    for _ in range(3):
        database.export(batch)

    spans, logs = database.rows(tenant, [TRACE])
    assert sorted(map(text_of, spans)) == sorted(map(text_of, batch.rows))
    assert list(logs) == list(batch.logs)
    assert len(database.recent(tenant, since_ns=None, limit=9, offset=0)) == 1


def test_two_contents_under_one_span_id_are_both_kept(database: Store, tenant: str) -> None:
    first, other = row(tenant=tenant), row(tenant=tenant, name="chat m-2")

    database.export(SplitBatch(tenant, (first, other)))

    spans, _ = database.rows(tenant, [TRACE])
    assert {found.span.name for found in spans} == {"chat m-1", "chat m-2"}


def test_a_tenant_sees_nothing_of_another(database: Store, tenant: str) -> None:
    stored, parts = payload(("x" * 300,), tenant)
    database.export(SplitBatch(tenant, (row(tenant=tenant),), (log(tenant=tenant),), (stored,), tuple(parts)))

    stranger = f"{tenant}-other"

    assert database.rows(stranger, [TRACE]) == ([], [])
    assert database.payloads(stranger, [stored.ref.sha256]) == {}
    assert database.parts(stranger, [parts[0].sha256]) == {}
    assert database.traces(stranger, [TRACE]) == []
    assert database.recent(stranger, since_ns=None, limit=9, offset=0) == []
    assert database.starting_with(stranger, "", 9) == []


def test_payloads_and_parts_come_back_by_hash(database: Store, tenant: str) -> None:
    stored, parts = payload({"text": "x" * 300, "more": "y" * 400}, tenant)
    binary = part(bytes(range(256)) * 2, tenant, "image/png")
    database.export(SplitBatch(tenant, (), (), (stored,), (*parts, binary)))

    assert database.payloads(tenant, [stored.ref.sha256, "0" * 64]) == {stored.ref.sha256: stored}
    found = database.parts(tenant, [*stored.parts, binary.sha256, "0" * 64])
    assert {sha256: one.data for sha256, one in found.items()} == {one.sha256: one.data for one in (*parts, binary)}
    assert found[binary.sha256].media_type == "image/png"
    assert found[binary.sha256].size == 512


def test_many_names_in_one_call_are_all_found(database: Store, tenant: str) -> None:
    parts = tuple(part(f"{number:0300d}".encode(), tenant) for number in range(1200))
    database.export(SplitBatch(tenant, parts=parts))

    found = database.parts(tenant, [one.sha256 for one in parts])

    assert len(found) == 1200


def test_a_trace_knows_its_times_and_its_run(database: Store, tenant: str) -> None:
    named = Facts(kind="agent", run_hint="run-7")
    database.export(SplitBatch(tenant, (row(tenant=tenant, start_ns=500, end_ns=900),)))
    database.export(
        SplitBatch(tenant, (row("c1c1c1c1c1c1c1c1", tenant=tenant, start_ns=100, end_ns=300, facts=named),))
    )

    (trace,) = database.traces(tenant, [TRACE, OTHER_TRACE])

    assert (trace.trace_id, trace.steps, trace.started_ns, trace.ended_ns) == (TRACE, True, 100, 900)
    assert trace.run_hints == ("run-7",)
    assert database.named(tenant, ["run-7", "run-8"]) == {"run-7": [TRACE]}


def test_news_of_a_trace_are_newer_even_when_our_clock_stands_still_or_steps_back() -> None:
    memory = Memory(clock=iter([1000, 1000, 400]).__next__)
    seen = []

    for number in range(3):
        memory.export(SplitBatch("default", (row(f"{number:016x}"),)))
        seen.append(memory.traces("default", [TRACE])[0].changed_ns)

    assert seen == [1000, 1001, 1002]


def test_a_late_log_event_is_news_of_its_trace(database: Store, tenant: str) -> None:
    database.export(SplitBatch(tenant, (row(tenant=tenant),)))
    (before,) = database.traces(tenant, [TRACE])

    database.export(SplitBatch(tenant, (), (log(tenant=tenant),)))

    (after,) = database.traces(tenant, [TRACE])
    assert after.changed_ns > before.changed_ns
    assert replace(after, changed_ns=0) == replace(before, changed_ns=0)


def test_traces_without_a_step_are_not_listed(database: Store, tenant: str) -> None:
    database.export(SplitBatch(tenant, (row(tenant=tenant, facts=Facts()),), (log(OTHER_TRACE, tenant=tenant),)))

    assert database.recent(tenant, since_ns=None, limit=9, offset=0) == []
    assert database.starting_with(tenant, TRACE[:4], 9) == []


def test_recent_traces_come_newest_first_in_pages(database: Store, tenant: str) -> None:
    for number in range(5):
        database.export(
            SplitBatch(tenant, (row(trace_id=f"{number:032x}", tenant=tenant, start_ns=1000 + number, end_ns=2000),))
        )

    pages = [database.recent(tenant, since_ns=1001, limit=2, offset=offset) for offset in (0, 2, 4)]

    assert [[trace.started_ns for trace in page] for page in pages] == [[1004, 1003], [1002, 1001], []]


def test_a_prefix_finds_trace_ids_and_run_names(database: Store, tenant: str) -> None:
    named = Facts(kind="agent", run_hint="0af-like-name")
    database.export(SplitBatch(tenant, (row(tenant=tenant), row(trace_id=OTHER_TRACE, tenant=tenant, facts=named))))

    assert database.starting_with(tenant, "0af", 9) == [TRACE, OTHER_TRACE]
    assert database.starting_with(tenant, "0af7", 9) == [TRACE]
    assert database.starting_with(tenant, "", 1) == [TRACE]
    assert database.starting_with(tenant, "0af%", 9) == []


def test_times_that_cannot_be_do_not_move_a_trace(database: Store, tenant: str) -> None:
    far = row(tenant=tenant, start_ns=2**64 - 1, end_ns=2**64 - 1, marks=("time:out_of_range",))
    unended = row("c1c1c1c1c1c1c1c1", tenant=tenant, start_ns=1, end_ns=0, marks=("time:no_end",))
    database.export(SplitBatch(tenant, (far, row("c2c2c2c2c2c2c2c2", tenant=tenant, start_ns=5, end_ns=9), unended)))

    (trace,) = database.traces(tenant, [TRACE])

    assert (trace.started_ns, trace.ended_ns) == (5, 9)


def test_the_cache_answers_with_the_latest_assembly_only(database: Store, tenant: str) -> None:
    whole = RunSummary(
        tenant, "r1", (TRACE,), "billing", 5, 9, "ok", True, 3, 2, 1, "full", "up", "of", "u", "prod", "x"
    )
    early = CachedRun("r1", (TRACE,), 100, 200, "1", whole)
    late = CachedRun("r1", (TRACE, OTHER_TRACE), 150, 300, "2", replace(whole, started_ns=4, open=False, user_ref=None))
    nothing = CachedRun("r2", (OTHER_TRACE,), 1, 2, "2", None)

    database.remember(tenant, [early])
    database.remember(tenant, [late, nothing])
    database.remember(tenant, [early])
    database.remember(tenant, [])

    assert database.cached(tenant, ["r1", "r2", "r3"]) == {"r1": late, "r2": nothing}


def test_an_empty_batch_stores_nothing(database: Store, tenant: str) -> None:
    database.export(SplitBatch(tenant))

    assert database.recent(tenant, since_ns=None, limit=9, offset=0) == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_is_read_is_what_was_exported_types_and_all(database: Store, tenant: str, data: st.DataObject) -> None:
    spans = data.draw(st.lists(span_rows(tenant), max_size=4))
    logs = data.draw(st.lists(log_events(tenant), max_size=4))

    database.export(SplitBatch(tenant, tuple(spans), tuple(logs)))

    traces = [found.span.key.trace_id for found in spans] + [event.trace_id for event in logs]
    read_spans, read_logs = database.rows(tenant, traces)
    assert {text_of(found) for found in read_spans} >= {text_of(found) for found in spans}
    assert {text_of(event) for event in read_logs} >= {text_of(event) for event in logs}


def test_the_service_of_a_row_is_its_own(database: Store, tenant: str) -> None:
    other = replace(SERVICE, attributes={"service.name": "search"})
    database.export(SplitBatch(tenant, (row(tenant=tenant), row("c1c1c1c1c1c1c1c1", tenant=tenant, resource=other))))

    spans, _ = database.rows(tenant, [TRACE])

    assert {found.span.key.span_id: found.span.resource for found in spans} == {
        "b7ad6b7169203331": SERVICE,
        "c1c1c1c1c1c1c1c1": other,
    }


def called(trace_id: str, scope: str, at: int, tenant: str, where: str = "process-1", kind: Kind = "llm") -> SpanRow:
    resource = Resource({"service.instance.id": where} if where else {})
    facts = Facts(kind=kind)
    times = {"start_ns": at, "end_ns": at + 50}
    return row(trace_id=trace_id, tenant=tenant, facts=facts, scope=Scope(scope), resource=resource, **times)


def test_model_calls_of_another_scope_in_the_same_process_at_the_time_stand_beside_a_trace(
    database: Store, tenant: str
) -> None:
    hour = 3600 * 10**9
    calls = {
        "1" * 32: called("1" * 32, "framework", 2 * hour, tenant),
        "2" * 32: called("2" * 32, "client", 2 * hour + 10, tenant),
        "3" * 32: called("3" * 32, "client", 2 * hour + 60, tenant),
        "4" * 32: called("4" * 32, "client", 2 * hour + 10, tenant, "process-2"),
        "5" * 32: called("5" * 32, "framework", 2 * hour + 10, tenant),
        "6" * 32: called("6" * 32, "client", 2 * hour + 10, tenant, ""),
        "7" * 32: called("7" * 32, "framework", hour - 1, tenant),
        "8" * 32: called("8" * 32, "client", 2 * hour + 10, tenant, kind="tool"),
    }
    for one in calls.values():
        database.export(SplitBatch(tenant, (one,)))

    found = database.beside(tenant, database.traces(tenant, list(calls)))

    assert found["1" * 32] == ["2" * 32]
    assert found["2" * 32] == ["1" * 32, "5" * 32]
    assert {name[0] for name in found} == {"1", "2", "3", "5"}
    assert database.beside(f"{tenant}-other", database.traces(tenant, list(calls))) == {}
    assert database.beside(tenant, []) == {}


def test_a_process_with_one_instrumentation_has_nothing_beside_its_traces(database: Store, tenant: str) -> None:
    for name in ("1", "2"):
        database.export(SplitBatch(tenant, (called(name * 32, "client", 10, tenant),)))

    assert database.beside(tenant, database.traces(tenant, ["1" * 32, "2" * 32])) == {}


def test_a_trace_knows_who_made_its_model_calls_and_whether_it_has_other_steps(database: Store, tenant: str) -> None:
    database.export(SplitBatch(tenant, (called(TRACE, "b", 10, tenant),)))
    before = database.traces(tenant, [TRACE])[0]
    database.export(SplitBatch(tenant, (called(TRACE, "a", 10, tenant), called(TRACE, "c", 10, tenant, kind="agent"))))
    after = database.traces(tenant, [TRACE])[0]

    assert (before.callers, before.other_steps) == ((("process-1", "b"),), False)
    assert (after.callers, after.other_steps) == ((("process-1", "a"), ("process-1", "b")), True)


def test_goldens_are_registered_by_run_and_name_and_told_to_their_tenant_alone(database: Store, tenant: str) -> None:
    first = KeptGolden("run-2", "receipt", "https://tickets.example/1", "a" * 64)
    other = KeptGolden("run-1", "caf\udce9", "", "b" * 64)

    database.keep_golden(tenant, first)
    database.keep_golden(tenant, other)
    database.keep_golden(tenant, replace(first, ticket="https://tickets.example/2", sha256="c" * 64))

    one, two = database.goldens(tenant)
    assert (one.run_id, one.sha256, two.run_id) == ("run-1", "b" * 64, "run-2")
    assert (two.name, two.ticket, two.sha256) == ("receipt", "https://tickets.example/2", "c" * 64)
    assert 0 < one.registered_ns <= two.registered_ns
    assert database.goldens(f"{tenant}-other") == []
