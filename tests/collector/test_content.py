"""Runs that lack required content go into the quarantine once they are over, whole, and come back when released."""

import json
import threading
from dataclasses import replace
from typing import Any

import pytest

import otlp_build as build
from content_kit import OTHER, a_run, llm
from runreel.collector.content import Content
from runreel.collector.run_list import Quiet
from runreel.collector.telemetry import Telemetry
from runreel.errors import NotFoundError, PermanentError, RetryableError, StoreError
from runreel.exporters.memory import Memory
from runreel.otlp import decode
from runreel.runs.load import Settings, StoreRuns
from runreel.semconv import keys
from runreel.spool.custody import Custody
from runreel.spool.quarantine import items, opened
from runreel.storage import RunQuery
from runreel.values import SplitBatch
from store_kit import Clock, split, stored


class Desk:
    """A store in memory, and who looks at its runs."""

    def __init__(self, **policy: str) -> None:
        self.clock, self.counts = Clock(build.T0 + 10**9), Telemetry()
        self.store = Memory(clock=self.clock)
        self.runs = StoreRuns(self.store, self.store, Settings(), self.clock)
        self.room, self.refuses = True, 0
        self.moving = threading.Lock()
        self.too_large: set[str] = set()  # traces that the quarantine never takes
        self.content = self._content(policy)
        self.policy = policy

    def _content(self, policy: Any) -> Content:
        return Content(
            self.runs,
            self.store,
            policy,
            keep_aside=self._put,
            settled=lambda: True,
            room=lambda: self.room,
            counts=self.counts,
            quiet=Quiet(Settings(), self.clock),
            moving=self.moving,
        )

    def _put(self, batches: Any) -> list[Exception | None]:
        if self.refuses:
            self.refuses -= 1
            return [RetryableError("full")]
        if any(item.trace_id in self.too_large for one in batches for item in one.quarantined):
            return [PermanentError("too large")]
        for one in batches:
            self.store.export(one)
        return [None]

    def look(self, after_s: float = 32) -> None:
        self.clock.pass_s(after_s)
        self.content.look()

    def restart(self) -> None:
        self.content = self._content(self.policy)

    def listed(self) -> list[str]:
        return [one.run_id for one in self.runs.runs(RunQuery(limit=0))]

    def aside(self) -> list[str]:
        return sorted(one.trace_id for one in self.store.quarantine.items("default"))

    def release(self) -> None:
        kept = self.store.quarantine.get("default", [one.id for one in self.store.quarantine.items("default")])
        for one in kept:
            self.store.export(opened(one))
        self.store.quarantine.remove(kept, "released")


@pytest.fixture
def desk() -> Desk:
    return Desk(**{"llm.input": "quarantine"})


def test_a_run_that_lacks_content_is_put_aside_whole_and_one_that_has_it_stays(desk: Desk) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    desk.store.export(stored(*a_run(OTHER)))

    desk.look()

    assert desk.listed() == [OTHER]
    assert desk.aside() == [build.TID] * 3
    assert {one.reason for one in desk.store.quarantine.items("default")} == {"missing_field:llm.input"}
    assert desk.counts.snapshot() == {"runreel_quarantined_items{reason=missing_field:llm.input,signal=span}": 3}
    with pytest.raises(NotFoundError):
        desk.runs.run("default", build.TID)


def test_it_waits_until_the_run_is_over(desk: Desk) -> None:
    root, *calls = a_run(build.TID, asked=False)
    desk.store.export(stored(*calls))
    desk.look()
    desk.look(300)
    assert desk.aside() == []  # its root has not come

    desk.store.export(stored(root))
    desk.look(5)
    assert desk.aside() == []
    desk.look(27)

    assert len(desk.aside()) == 3


def test_a_run_whose_root_never_comes_is_over_after_a_while(desk: Desk) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)[1:]))

    desk.look(602)

    assert len(desk.aside()) == 2


def test_content_that_comes_on_a_log_event_or_with_the_span_sent_again_is_no_lack(desk: Desk) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    desk.store.export(stored(*a_run(OTHER, asked=False)))
    desk.clock.pass_s(20)
    said = build.log(
        "gen_ai.client.inference.operation.details",
        "00000000000000b1",
        attrs={"gen_ai.input.messages": json.dumps([build.msg("user", "hi")])},
    )
    desk.store.export(split(decode("logs", build.logs_req(said).SerializeToString(), "protobuf", "default")))
    desk.store.export(stored(llm("00000000000000b1", OTHER)))

    desk.look()

    assert desk.aside() == []
    assert sorted(desk.listed()) == sorted([build.TID, OTHER])


def test_what_was_released_is_not_put_aside_again_not_even_after_a_restart(desk: Desk) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    desk.look()
    before = len(desk.aside())

    desk.release()
    desk.look()
    desk.restart()
    desk.look()

    assert (before, desk.aside(), desk.listed()) == (3, [], [build.TID])
    assert [step.kind for step in desk.runs.run("default", build.TID).steps] == ["agent", "llm", "llm"]


def test_what_is_dropped_and_sent_again_is_put_aside_again(desk: Desk) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    desk.look()
    desk.store.quarantine.remove(desk.store.quarantine.items("default"), "dropped")

    desk.store.export(stored(*a_run(build.TID, asked=False)))
    desk.look()

    assert len(desk.aside()) == 3


def test_one_that_was_cut_off_half_way_is_finished_and_nothing_counts_twice(desk: Desk) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    # As a crash leaves it: all of it kept aside, nothing of it deleted.
    whole = desk.runs.whole("default", build.TID)
    desk.store.export(SplitBatch("default", quarantined=tuple(items(whole, "missing_field:llm.input"))))

    desk.look()

    assert (desk.listed(), len(desk.aside())) == ([], 3)
    assert desk.counts.snapshot() == {}


def test_while_there_is_no_room_it_waits_and_nothing_is_forgotten(desk: Desk) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    desk.room = False
    desk.look(600)
    desk.look(600)
    assert (desk.listed(), desk.aside()) == ([build.TID], [])

    desk.room = True
    desk.look(1)

    assert len(desk.aside()) == 3


def test_where_it_cannot_be_kept_aside_now_nothing_is_deleted_and_it_is_tried_again(desk: Desk) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    desk.refuses = 1

    with pytest.raises(RetryableError):
        desk.look()
    assert desk.listed() == [build.TID]
    desk.look(1)

    assert (desk.listed(), len(desk.aside())) == ([], 3)


def test_a_run_that_the_quarantine_never_takes_stays_and_those_behind_it_do_not_wait(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    desk.clock.pass_s(1)
    desk.store.export(stored(*a_run(OTHER, asked=False)))
    desk.too_large = {build.TID}

    desk.look()
    desk.look(1)

    assert (desk.listed(), desk.aside()) == ([build.TID], [OTHER] * 3)
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == [
        "a run that lacks content is refused by the quarantine, and stays stored"
    ]


def test_what_is_released_while_a_run_is_moved_is_not_deleted(desk: Desk) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    put = desk.content._keep_aside

    def released_at_once(batches: Any) -> Any:
        said = put(batches)
        desk.release()
        return said

    desk.content._keep_aside = released_at_once
    desk.look()

    assert (desk.listed(), desk.aside()) == ([build.TID], [])


def test_records_are_not_released_while_a_run_is_moved(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    held = []

    def store(batches: Any) -> list[Exception | None]:
        held.append(("released", custody.moving.locked()))
        return [None for one in batches if not desk.store.export(one)]

    custody = Custody(desk.store.quarantine, store)
    desk.moving = custody.moving
    desk.restart()
    withdraw = desk.store.withdraw

    def withdrawn(batch: SplitBatch) -> None:
        held.append(("withdrawn", custody.moving.locked()))
        withdraw(batch)

    monkeypatch.setattr(desk.store, "withdraw", withdrawn)
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    desk.look()
    custody.release("default", [one.id for one in desk.store.quarantine.items("default")])

    assert held == [("withdrawn", True), ("released", True)]
    assert (desk.listed(), desk.aside()) == ([build.TID], [])


def test_a_store_that_is_away_loses_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))

    def away(batch: SplitBatch) -> None:
        raise StoreError("away")

    with monkeypatch.context() as patched:
        patched.setattr(desk.store, "withdraw", away)
        with pytest.raises(StoreError):
            desk.look()
    desk.look(1)

    assert (desk.listed(), len(desk.aside())) == ([], 3)
    assert desk.counts.total("runreel_quarantined_items") == 3


def test_a_replay_is_what_the_code_said_and_stays(desk: Desk) -> None:
    root, *calls = a_run(OTHER, asked=False)
    root.attributes.extend([build.kv(keys.RUN_ID, "r1.replay-1"), build.kv(keys.OF_RUN, "r1")])
    desk.store.export(stored(root, *calls))

    desk.look(700)

    assert desk.aside() == []
    assert [one.run_id for one in desk.runs.runs(RunQuery(replays=True))] == ["r1.replay-1"]


@pytest.mark.parametrize("deleted", [0, 1, 2, 3])
def test_one_whose_deletion_was_cut_off_is_finished_whatever_of_it_was_gone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, deleted: int
) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    withdraw = desk.store.withdraw

    def cut_off(batch: SplitBatch) -> None:
        withdraw(replace(batch, rows=batch.rows[:deleted]))
        raise StoreError("away")

    with monkeypatch.context() as patched:
        patched.setattr(desk.store, "withdraw", cut_off)
        with pytest.raises(StoreError):
            desk.look()
    desk.restart()
    desk.look(700)  # what is left may have no root any more

    rows, _ = desk.store.rows("default", [build.TID])
    assert (rows, desk.listed(), len(desk.aside())) == ([], [], 3)
    assert desk.counts.total("runreel_quarantined_items") == 3


def test_what_is_flagged_stays_and_is_counted_once_by_service() -> None:
    desk = Desk(**{"llm.input": "flag"})
    desk.store.export(stored(*a_run(build.TID, asked=False)))

    for _ in range(3):
        desk.look(400)

    assert (desk.listed(), desk.aside()) == ([build.TID], [])
    assert desk.counts.snapshot() == {"runreel_unusual_items{service=case,what=missing_field:llm.input}": 1}


def test_a_damaged_run_stays_where_it_is(desk: Desk) -> None:
    desk.store.export(stored(*a_run(build.TID, asked=False)))
    desk.store._parts.clear()

    desk.look()

    assert (desk.listed(), desk.aside()) == ([build.TID], [])
