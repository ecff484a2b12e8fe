"""Kept aside instead of stored: by the policy, or since a store refuses it; listed, released, dropped, expired."""

import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import otlp_build as build
from collector_kit import CONFIG, SPOOLED, Answer, Running, ask, collector, until
from runreel.collector import quarantine
from runreel.collector.quarantine import Keeper
from runreel.collector.telemetry import UNQUARANTINED, Telemetry
from runreel.errors import PermanentError
from runreel.exporters.memory import Memory
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.spool import segments
from runreel.spool.ledger import Tally
from runreel.spool.quarantine import item
from runreel.spool.records import encode
from runreel.values import CleanBatch, RawBatch, SplitBatch
from stored_rows import row

DAY_S = 86_400


class Policy:
    """The chain without its redactor, with a policy: what is sent here holds nothing personal."""

    def __init__(self, **fields: str) -> None:
        self._schema = Schema(required={"*": fields})

    def process(self, batch: RawBatch) -> SplitBatch:
        found = self._schema.process(batch)
        return Split().process(CleanBatch(found.tenant, found.spans, found.logs, found.facts, found.rejected))


class Poisoned(Memory):
    """A store with a quarantine that refuses spans of some names for good."""

    def __init__(self, *bad: str) -> None:
        super().__init__()
        self.bad = set(bad)

    def export(self, batch: SplitBatch) -> None:
        if any(one.span.name in self.bad for one in batch.rows):
            raise PermanentError("insert into spans: engine error 53 (TYPE_MISMATCH)")
        super().export(batch)

    def names(self) -> set[str]:
        spans, _ = self.rows("default", [trace_id for _, trace_id in self._spans])
        return {one.span.name for one in spans}

    def aside(self) -> list[str]:
        return sorted(one.name for one in self.quarantine.items("default"))


VERSIONED = {"service.name": "billing", "service.version": "1"}


def spans(*names: str, res: dict[str, str] | None = None) -> Any:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": "x" * 400}
    made = [
        build.span(name, hashlib.sha256(name.encode()).hexdigest()[:16], build.ROOT, attrs=attributes) for name in names
    ]
    return build.req(*made, res=res)


def send(running: Running, request: Any) -> Answer:
    return ask(f"{running.http}/v1/traces", request.SerializeToString())


def api(running: Running, path: str, body: Any = None) -> Answer:
    sent = None if body is None else json.dumps(body).encode()
    return ask(f"{running.at.api}{path}", sent, "application/json", authorization=f"Bearer {running.at.token}")


def ids(running: Running) -> list[str]:
    return [one["id"] for one in api(running, "/api/v1/quarantine").json()["items"]]


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarantine, "INTERVAL_S", 0.05)


@pytest.mark.parametrize("text", [CONFIG, SPOOLED], ids=["stored first", "spooled"])
def test_a_span_without_its_field_is_acknowledged_and_kept_aside_and_its_neighbours_are_stored(
    tmp_path: Path, text: str
) -> None:
    store = Poisoned()
    request = spans("good", "also good", res=VERSIONED)
    request.MergeFrom(spans("bare"))
    with collector(tmp_path, store, text, chain=Policy(**{"service.version": "quarantine"})) as running:
        answer = send(running, request)
        until(lambda: store.names() == {"good", "also good"} and store.aside() == ["bare"])
        counts = running.counts

    assert (answer.status, answer.body) == (200, b"")
    assert counts["receiver_accepted_spans"] == 3
    assert counts["runreel_quarantined_items{reason=missing_field:service.version,signal=span}"] == 1


@pytest.mark.parametrize("text", [CONFIG, SPOOLED], ids=["stored first", "spooled"])
def test_a_span_that_the_store_refuses_does_not_take_its_neighbours_down(tmp_path: Path, text: str) -> None:
    store = Poisoned("bad")
    with collector(tmp_path, store, text, chain=Policy()) as running:
        answer = send(running, spans("a", "bad", "b", "c"))
        until(lambda: store.names() == {"a", "b", "c"} and store.aside() == ["bad"])
        counts = running.counts
        if running.service.spool:
            until(lambda: running.service.spool.waiting() == (0, 0))
            ledger = running.service.spool.counted()["default"]
            assert (ledger["acknowledged_spans"], ledger["stored_spans"], ledger["quarantined_spans"]) == (4, 3, 1)

    assert answer.status == 200
    assert counts["runreel_quarantined_items{reason=refused,signal=span}"] == 1
    assert not list(tmp_path.rglob("refused/*.bin"))


def test_what_is_released_is_stored_and_no_longer_aside(tmp_path: Path) -> None:
    store = Poisoned()
    with collector(tmp_path, store, SPOOLED, chain=Policy(**{"service.version": "quarantine"})) as running:
        send(running, spans("one", "two", "three"))
        kept = until(lambda: ids(running) if len(ids(running)) == 3 else None)
        shown = api(running, f"/api/v1/quarantine/{kept[0][:12]}").json()

        answer = api(running, "/api/v1/quarantine/release", {"ids": kept[:2]}).json()

        until(lambda: len(store.names()) == 2)
        assert answer == {"released": 2, "stay": []}
        assert ids(running) == kept[2:]
        spool = running.service.spool
        assert spool is not None
        ledger = until(lambda: spool.counted()["default"] if spool.waiting()[0] == 0 else None)
        assert (ledger["acknowledged_spans"], ledger["quarantined_spans"], ledger["released_spans"]) == (3, 3, 2)
    assert shown["reason"] == "missing_field:service.version"
    assert "x" * 400 in json.dumps(shown["spans"][0]["attributes"])
    assert store.quarantine.get("default", kept[:2]) == []


def test_what_the_store_refuses_once_more_stays(tmp_path: Path) -> None:
    store = Poisoned("bad")
    with collector(tmp_path, store, CONFIG, chain=Policy()) as running:
        send(running, spans("bad"))
        (kept,) = ids(running)

        first = api(running, "/api/v1/quarantine/release", {"ids": [kept]}).json()
        assert ids(running) == [kept]
        store.bad.clear()
        second = api(running, "/api/v1/quarantine/release", {"ids": [kept]}).json()

        assert ids(running) == []
    assert (first["released"], len(first["stay"]), second) == (0, 1, {"released": 1, "stay": []})
    assert store.names() == {"bad"}


def test_what_is_released_into_the_spool_and_refused_again_is_aside_again(tmp_path: Path) -> None:
    store = Poisoned("bad")
    with collector(tmp_path, store, SPOOLED, chain=Policy()) as running:
        send(running, spans("bad"))
        (kept,) = until(lambda: ids(running))

        api(running, "/api/v1/quarantine/release", {"ids": [kept]})

        spool = running.service.spool
        assert spool is not None
        until(lambda: spool.waiting() == (0, 0) and ids(running) == [kept])
        ledger = spool.counted()["default"]
        assert (ledger["acknowledged_spans"], ledger["quarantined_spans"]) == (1, 1)
        assert ledger.get("released_spans", 0) == 0


def test_what_is_dropped_is_gone(tmp_path: Path) -> None:
    store = Poisoned("bad")
    with collector(tmp_path, store, CONFIG, chain=Policy()) as running:
        send(running, spans("bad"))

        answer = api(running, "/api/v1/quarantine/drop", {"ids": ids(running)}).json()

        assert (answer, ids(running)) == ({"dropped": 1}, [])
        assert running.counts["runreel_quarantine_removed_items{fate=dropped}"] == 1


def test_a_batch_that_no_table_took_is_a_file_and_can_be_released_and_dropped(tmp_path: Path) -> None:
    store = Poisoned("bad")
    with collector(tmp_path, store, SPOOLED, chain=Policy()) as running:
        folder = tmp_path / "spool" / "refused"
        # As a collector with a full quarantine leaves them.
        for number, name in enumerate(("left", "over")):
            batch = SplitBatch("default", (row(name=name),))
            (folder / f"{number:012d}-0.bin").write_bytes(segments.frame(Tally.of(batch), encode(batch)))

        listed = api(running, "/api/v1/quarantine").json()["items"]
        assert {(one["kind"], one["name"]) for one in listed} == {("batch", "1 spans, 0 log records")}
        first, second = sorted(one["id"] for one in listed)
        assert api(running, f"/api/v1/quarantine/{first}").json()["spans"][0]["name"] == "left"
        api(running, "/api/v1/quarantine/release", {"ids": [first]})
        api(running, "/api/v1/quarantine/drop", {"ids": [second]})

        until(lambda: "left" in store.names())
        assert (ids(running), list(folder.glob("*.bin"))) == ([], [])
        assert "over" not in store.names()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/v1/quarantine?limit=x", None, 400),
        ("/api/v1/quarantine/0123", None, 404),
        ("/api/v1/quarantine/release", {"ids": []}, 400),
        ("/api/v1/quarantine/release", {"ids": ["0123"]}, 404),
        ("/api/v1/quarantine/drop", {"ids": [1]}, 400),
        ("/api/v1/quarantine/drop", ["x"], 400),
    ],
)
def test_a_wrong_question_is_answered_as_one(tmp_path: Path, path: str, body: Any, status: int) -> None:
    with collector(tmp_path, Poisoned(), CONFIG, chain=Policy()) as running:
        answer = api(running, path, body)

    assert answer.status == status
    assert answer.json()["error"]


def test_a_full_quarantine_rejects_what_belongs_there_and_says_so_and_takes_the_rest(tmp_path: Path) -> None:
    text = CONFIG.replace("clickhouse: }", "clickhouse: {quarantine_limit_mib: 1}}")
    store = Poisoned()
    store.quarantine.put([replace(item(SplitBatch("default", (row(name="big"),)), "missing_field:x"), size=2 << 20)])
    with collector(tmp_path, store, text, chain=Policy(**{"service.version": "quarantine"})) as running:
        request = spans("good", res=VERSIONED)
        request.MergeFrom(spans("bare"))

        # The first look comes with the start.
        answer = until(lambda: a if b"quarantine_full" in (a := send(running, request)).body else None)
        stores = api(running, "/api/v1/stores").json()

    assert b"quarantine" in answer.body
    assert stores["quarantine"]["full"] is True
    assert store.names() == {"good"}


# --- the keeper alone ---


class Times:
    def __init__(self) -> None:
        self.wall, self.steady = time.time_ns(), 0.0

    def pass_s(self, seconds: float) -> None:
        self.wall += int(seconds * 1e9)
        self.steady += seconds


def keeper(store: Memory, times: Times, counts: Telemetry | None = None, days: float = 30) -> Keeper:
    return Keeper(
        store.quarantine,
        counts or Telemetry(),
        keep_days=days,
        limit_bytes=1 << 30,
        clock=lambda: times.wall,
        steady=lambda: times.steady,
    )


def held(times: Times, name: str) -> tuple[Memory, Any]:
    store = Memory(clock=lambda: times.wall)
    store.quarantine.put([item(SplitBatch("default", (row(name=name),)), "why")])
    return store, store.quarantine


def test_what_is_old_expires_and_is_counted() -> None:
    times, counts = Times(), Telemetry()
    store, kept = held(times, "old")
    one = keeper(store, times, counts)
    times.pass_s(29 * DAY_S)
    kept.put([item(SplitBatch("default", (row("2" * 16, name="new"),)), "why")])
    one.look()
    assert len(kept.items("default")) == 2

    times.pass_s(1.1 * DAY_S)
    one.look()

    assert [left.name for left in kept.items("default")] == ["new"]
    assert counts.total(UNQUARANTINED) == 1
    assert [held_.items for held_ in one.kept.values()] == [1]


def test_a_clock_that_is_set_forward_expires_nothing_before_its_time() -> None:
    times = Times()
    store, kept = held(times, "young")
    one = keeper(store, times)

    times.wall += 400 * DAY_S * 10**9
    one.look()

    assert len(kept.items("default")) == 1


def test_a_clock_that_is_set_back_expires_nothing_and_later_it_does() -> None:
    times = Times()
    store, kept = held(times, "one")
    one = keeper(store, times)

    times.wall -= 6 * 3600 * 10**9
    one.look()
    assert len(kept.items("default")) == 1
    times.pass_s(31 * DAY_S)
    one.look()

    assert kept.items("default") == []
