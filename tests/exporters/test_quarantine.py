"""What every Quarantine keeps: the one in memory, and the table on chDB and behind a server."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from collector_kit import until
from runreel.component import Kept
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.memory import Memory
from runreel.exporters.quarantine import QuarantineTable
from runreel.spool.quarantine import item, opened
from runreel.values import Quarantined, SplitBatch
from stored_bytes import found
from stored_rows import batch_with_payload, log, row

Store = Memory | ClickHouse


def held(tenant: str, span_id: str = "b7ad6b7169203331", reason: str = "missing_field:service.name") -> Quarantined:
    return item(SplitBatch(tenant, (row(span_id, tenant=tenant),)), reason)


def test_what_is_put_there_is_listed_without_its_record_and_had_with_it(database: Store, tenant: str) -> None:
    batch = batch_with_payload({"text": "x" * 300}, tenant)
    kept = item(batch, "refused:no column takes it")

    database.export(SplitBatch(tenant, quarantined=(kept,)))

    (listed,) = database.quarantine.items(tenant)
    (whole,) = database.quarantine.get(tenant, [kept.id, "0" * 32])
    assert (listed.record, replace(listed, record=kept.record, arrived_ns=0)) == (b"", kept)
    assert replace(whole, arrived_ns=0) == kept
    assert opened(whole) == batch
    assert 0 <= time.time_ns() - listed.arrived_ns < 60 * 10**9


def test_it_is_no_row_of_a_run(database: Store, tenant: str) -> None:
    database.export(SplitBatch(tenant, quarantined=(held(tenant),)))

    assert database.recent(tenant, since_ns=None, limit=9, offset=0) == []


def test_the_same_record_is_kept_once_however_often_it_comes(database: Store, tenant: str) -> None:
    for _ in range(3):
        database.export(SplitBatch(tenant, quarantined=(held(tenant),)))

    assert len(database.quarantine.items(tenant)) == 1


def test_the_newest_come_first_and_a_list_can_be_cut(database: Store, tenant: str) -> None:
    for number in range(1, 6):
        database.quarantine.put([held(tenant, f"{number:016x}")])

    assert [one.span_id for one in database.quarantine.items(tenant)] == [f"{n:016x}" for n in (5, 4, 3, 2, 1)]
    assert [one.span_id for one in database.quarantine.items(tenant, limit=2)] == [f"{n:016x}" for n in (5, 4)]


def test_what_is_taken_out_is_gone_and_the_rest_stays(database: Store, tenant: str) -> None:
    database.quarantine.put([held(tenant, f"{number:016x}") for number in (1, 2, 3)])
    first, second, third = sorted(database.quarantine.items(tenant), key=lambda one: one.span_id)

    database.quarantine.remove([first], "dropped")
    database.quarantine.remove([third], "released")

    assert [one.id for one in database.quarantine.items(tenant)] == [second.id]
    assert database.quarantine.get(tenant, [first.id, third.id]) == []


def test_what_came_again_while_it_was_taken_out_stays(database: Store, tenant: str) -> None:
    database.quarantine.put([held(tenant)])
    (seen,) = database.quarantine.items(tenant)
    database.quarantine.put([held(tenant)])

    database.quarantine.remove([seen], "released")

    assert [one.id for one in database.quarantine.items(tenant)] == [seen.id]


def test_what_comes_again_after_it_was_taken_out_is_there_whatever_the_clock_says(
    database: Store, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.quarantine.put([held(tenant)])
    database.quarantine.remove(database.quarantine.items(tenant), "dropped")
    monkeypatch.setattr(database.quarantine, "_clock", lambda: time.time_ns() - 6 * 3600 * 10**9)

    database.quarantine.put([held(tenant)])

    assert len(database.quarantine.items(tenant)) == 1


def test_a_tenant_sees_nothing_of_another(database: Store, tenant: str) -> None:
    database.quarantine.put([held(tenant)])
    (kept,) = database.quarantine.items(tenant)

    assert database.quarantine.items(f"{tenant}-other") == []
    assert database.quarantine.get(f"{tenant}-other", [kept.id]) == []


def test_a_tenants_name_is_text_and_no_part_of_a_query(database: Store, tenant: str) -> None:
    strange = f"{tenant}') OR ('1' = '1 \\ ü"
    database.quarantine.put([held(tenant)])
    database.quarantine.put([held(strange)])

    database.quarantine.remove(database.quarantine.items(strange), "dropped")

    assert (len(database.quarantine.items(strange)), len(database.quarantine.items(tenant))) == (0, 1)


def test_how_much_is_kept_is_said_by_tenant_and_reason(database: Store, tenant: str) -> None:
    one, two, other = held(tenant, "1" * 16), held(tenant, "2" * 16), held(tenant, "3" * 16, "refused:why")
    database.quarantine.put([one, two, other])

    found = {key: kept for key, kept in database.quarantine.kept().items() if key[0] == tenant}

    assert found == {
        (tenant, "missing_field:service.name"): Kept(2, one.size + two.size),
        (tenant, "refused:why"): Kept(1, other.size),
    }


def test_what_is_older_than_a_time_is_found_the_oldest_first(database: Store, tenant: str) -> None:
    for number in (1, 2, 3):
        database.quarantine.put([held(tenant, f"{number:016x}")])
    first, second, _ = sorted(database.quarantine.items(tenant), key=lambda one: one.arrived_ns)

    found = [one for one in database.quarantine.expired(second.arrived_ns + 1, limit=1000) if one.tenant == tenant]

    assert [one.id for one in found] == [first.id, second.id]


def test_a_log_record_is_kept_as_one(database: Store, tenant: str) -> None:
    event = log(tenant=tenant, body="said")

    database.quarantine.put([item(SplitBatch(tenant, logs=(event,)), "refused:why")])

    (kept,) = database.quarantine.get(tenant, [one.id for one in database.quarantine.items(tenant)])
    assert (kept.kind, kept.name, opened(kept).logs) == ("log", event.event_name, (event,))


def test_the_bytes_of_what_was_taken_out_are_gone_and_what_became_of_it_stays(chdb: ClickHouse, tenant: str) -> None:
    chdb.quarantine.put([held(tenant)])
    assert isinstance(chdb.quarantine, QuarantineTable)

    chdb.quarantine.remove(chdb.quarantine.items(tenant), "dropped")

    lines = chdb.quarantine._engine.query(
        "SELECT state, length(record), name FROM runreel.quarantine WHERE tenant = {t:String}", {"t": tenant}
    )
    assert list(lines) == [("dropped", 0, "")]


def test_what_became_of_a_record_is_told_by_its_id(database: Store, tenant: str) -> None:
    database.quarantine.put([held(tenant, f"{number:016x}") for number in (1, 2, 3, 4)])
    one, two, three, four = sorted(database.quarantine.items(tenant), key=lambda each: each.span_id)
    database.quarantine.remove([one], "released")
    database.quarantine.remove([two], "dropped")
    database.quarantine.remove([three], "released")
    database.quarantine.put([held(tenant, three.span_id)])

    told = database.quarantine.fates(tenant, [one.id, two.id, three.id, four.id, "0" * 32])

    assert told == {one.id: "released", two.id: "dropped", three.id: "held", four.id: "held"}
    assert database.quarantine.fates(f"{tenant}-other", [one.id]) == {}


def test_what_is_withdrawn_is_no_row_any_more_whatever_came_twice_and_its_neighbours_stay(
    database: Store, tenant: str
) -> None:
    first, second = row("1" * 16, tenant=tenant), row("2" * 16, tenant=tenant)
    told, other = log(tenant=tenant, body="said"), log(tenant=tenant, body="other")
    for _ in range(2):
        database.export(SplitBatch(tenant, (first, second), (told, other)))
    trace_id = first.span.key.trace_id
    ((before),) = database.traces(tenant, [trace_id])

    for _ in range(2):
        database.withdraw(SplitBatch(tenant, (first,), (told,)))

    assert database.rows(tenant, [trace_id]) == ([second], [other])
    ((after),) = database.traces(tenant, [trace_id])
    assert after.changed_ns > before.changed_ns
    assert replace(after, changed_ns=before.changed_ns) == before


def test_what_is_withdrawn_and_stored_again_is_there_once(database: Store, tenant: str) -> None:
    batch = batch_with_payload({"text": "x" * 300}, tenant)
    database.export(batch)
    database.withdraw(batch)

    database.export(batch)

    (only,) = batch.rows
    assert database.rows(tenant, [only.span.key.trace_id]) == ([only], [])
    (named,) = batch.payloads
    assert database.payloads(tenant, [named.ref.sha256]) == {named.ref.sha256: named}


def test_another_tenants_equal_span_stays_when_one_is_withdrawn(database: Store, tenant: str) -> None:
    other = f"{tenant}') OR ('1' = '1"
    mine, others = (SplitBatch(name, (row("1" * 16, tenant=name),)) for name in (tenant, other))
    database.export(mine)
    database.export(others)

    database.withdraw(mine)

    assert database.rows(other, [others.rows[0].span.key.trace_id])[0] == [*others.rows]
    assert database.rows(tenant, [mine.rows[0].span.key.trace_id]) == ([], [])


def test_the_bytes_of_what_was_withdrawn_are_gone(chdb: ClickHouse, home: Path, tenant: str) -> None:
    rare = f"rare-{tenant}"
    batch = SplitBatch(tenant, (row("1" * 16, tenant=tenant, name=rare),))
    chdb.export(batch)
    assert found(home / "store", {"name": rare.encode()})

    chdb.withdraw(batch)

    until(lambda: not list(found(home / "store", {"name": rare.encode()})))
