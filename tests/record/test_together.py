import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import baggage, trace

import runreel.record as rr
from record_kit import run_of
from runreel.record.together import inherited


@rr.tool
def look(number):
    return number


def test_what_a_thread_does_is_part_of_the_run(spans):
    with rr.run():
        thread = threading.Thread(target=rr.carry(look), args=(1,))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(rr.carry(look), range(8))) == list(range(8))

    run = run_of(spans)
    assert len(run.trace_ids) == 1
    assert [step.parent for step in run.steps] == [None, *[0] * 9]


def test_a_carried_function_keeps_its_name_and_what_it_sets_stays_in_it(spans):
    with rr.run():
        carried = rr.carry(look)
        assert (carried.__name__, carried(1)) == ("look", 1)


def test_what_a_server_does_for_a_request_is_part_of_the_callers_run(spans):
    with rr.run() as run:
        meta = {"progressToken": 7, **rr.carrier()}
    assert {"traceparent", "baggage"} <= set(meta)
    before = trace.get_current_span()

    with rr.joined(meta):
        look(1)
    assert trace.get_current_span() is before

    got = run_of(spans)
    assert (got.run_id, len(got.trace_ids)) == (run.id, 1)
    assert [(step.name, step.parent) for step in got.steps if step.kind == "tool"] == [("look", 0)]


def test_an_async_server_joins_as_well(spans):
    with rr.run():
        headers = {name.title(): value for name, value in rr.carrier().items()}

    async def handle():
        with rr.joined(headers):
            await asyncio.sleep(0)
            look(1)

    asyncio.run(handle())
    assert len(run_of(spans).trace_ids) == 1


def test_a_run_in_a_server_that_was_asked_by_a_run_is_a_step_of_that(spans):
    with rr.run() as run:
        meta = rr.carrier()
    with rr.joined(meta), rr.run(user_input="look") as inner:
        inner.answer("done")

    got = run_of(spans)
    assert inner.id == run.id
    assert [(step.kind, step.parent) for step in got.steps] == [("agent", None), ("agent", 0)]


@pytest.mark.parametrize("fields", [None, {}, {"traceparent": "nonsense"}, {"traceparent": 7}, {"baggage": "a=b"}])
def test_without_a_run_to_join_nothing_is_joined(spans, fields):
    with rr.run() as run, rr.joined(fields):
        assert baggage.get_baggage("replay.run.id") == run.id


def test_outside_of_a_run_there_is_nothing_to_carry():
    assert "baggage" not in rr.carrier()
    assert inherited() is None


def test_each_place_draws_numbers_of_its_own_the_same_in_every_replay(spans):
    with rr.run() as run:
        first, second = rr.carrier(), rr.carrier()

    drawn = []
    for meta in (first, second):
        with rr.joined(meta), rr.run() as place:
            drawn.append(place.uuid())
    assert len({*drawn, run.uuid()}) == 3
    with rr.joined(first), rr.run() as again:
        assert again.uuid() == drawn[0]


def test_a_sub_agent_is_a_step_of_the_run(spans):
    with rr.run() as run, rr.agent("researcher", "find it") as sub:
        look(1)
        sub.answer("found")

    got = run_of(spans)
    assert sub.id == run.id
    assert [(step.kind, step.name, step.parent) for step in got.steps] == [
        ("agent", "agent", None),
        ("agent", "researcher", 0),
        ("tool", "look", 1),
    ]
    assert got.run_id == run.id


def test_a_sub_agent_outside_of_any_run_is_a_step_of_its_trace(spans):
    with rr.agent("researcher") as sub:
        look(1)

    assert sub.id == ""
    assert [step.kind for step in run_of(spans).steps] == ["agent", "tool"]


def test_a_program_is_given_the_run_and_its_environment(spans, monkeypatch):
    monkeypatch.setenv("MARK", "kept")
    code = "import os, runreel.record as rr\nwith rr.run() as run: print(run.id, os.environ['MARK'])"

    with rr.run() as run:
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=rr.environment(), capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.split() == [run.id, "kept"]
    assert "TRACEPARENT" not in os.environ
