"""Failures from the field, replayed: the same call with another answer (C31), calls that are made at once (C32)."""

import json

import pytest

from otlp_build import ROOT, call, msg, tool
from recorded_runs import model_step, run_of
from runreel.replay.engine import replay
from runreel.replay.report import place
from runreel.replay.tape import build
from schedule_kit import hosted, in_threads, outcomes


def shape(replayed):
    return [(one.type, one.name, one.recorded) for one in replayed.divergences]


# --- C31: the same call again, another answer -------------------------------------------------------------------------

STATES = ["queued", "running", "done"]
POLLS = run_of(
    *(
        tool(f"00000000000000c{n}", ROOT, "poll_job", {"job_id": "J-17"}, {"state": s}, id=f"call_{n}", at=n * 100)
        for n, s in enumerate(STATES)
    )
)
POLLING = """
def poll_job(job_id):
    raise AssertionError("ran")

def poll(until, most=9):
    seen = []
    while len(seen) < most and (not seen or seen[-1] != until):
        seen.append(poll_job(job_id="J-17")["state"])
    return seen
"""


def test_c31_the_same_call_gets_its_recorded_answers_in_turn(script, capfd):
    replayed = replay(POLLS, script(POLLING + "print(poll('done'))\n"))

    assert (replayed.verdict, replayed.answered) == ("same", {("tool", "poll_job"): 3})
    assert capfd.readouterr().out == f"{STATES}\n"


def test_c31_a_call_more_than_recorded_is_unrecorded_and_gets_no_old_answer(script, capfd):
    end = "poll('done')\ntry:\n    print(poll_job(job_id='J-17'))\nexcept Exception as error:\n    print(error)\n"

    replayed = replay(POLLS, script(POLLING + end))

    (found,) = replayed.divergences
    assert (replayed.verdict, found.type, found.reason) == (
        "diverged",
        "unrecorded_call",
        "recorded 3 times, asked for once more",
    )
    assert (found.replayed, place(found)) == (4, "at call 4 of the replay, after step 3, tool poll_job")
    assert all(near.answered for near in found.nearest)
    said = capfd.readouterr().out
    assert "unrecorded_call (tool poll_job): recorded 3 times, asked for once more" in said
    assert "done" not in said


def test_c31_a_call_less_than_recorded_is_missing_also_where_what_comes_out_is_equal(script, capfd):
    replayed = replay(POLLS, script(POLLING + "poll('running')\nprint('All done.')\n"))

    assert (replayed.verdict, shape(replayed)) == ("diverged", [("missing_call", "poll_job", 3)])
    assert capfd.readouterr().out == "All done.\n"


# --- C32: parallel calls come back in another order -------------------------------------------------------------------

TRIP = [msg("user", "trip")]
SEARCHES = [call("search", {"q": "flights"}, "call_1"), call("search", {"q": "hotels"}, "call_2")]
CROSSED = run_of(
    model_step(1, TRIP, SEARCHES, at=0),
    tool("00000000000000c2", ROOT, "search", {"q": "hotels"}, ["H1"], id="call_2", at=20),  # finished first
    tool("00000000000000c1", ROOT, "search", {"q": "flights"}, ["F1"], id="call_1", at=21),
)
ASK = """
import json
import httpx

def ask(text):
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}], "temperature": 0, "seed": 7}
    answer = httpx.post("https://gateway.example.com/v1/chat/completions", json=body)
    return answer.json()["choices"][0]["message"]["tool_calls"]
"""
IN_TASKS = """
import asyncio
async def search(q):
    raise AssertionError("ran")
async def main():
    print(await asyncio.gather(*(search(**json.loads(c["function"]["arguments"])) for c in ask("trip"))))
asyncio.run(main())
"""
IN_THREADS = """
from concurrent.futures import ThreadPoolExecutor
def search(q):
    raise AssertionError("ran")
with ThreadPoolExecutor() as pool:
    print(list(pool.map(lambda c: search(**json.loads(c["function"]["arguments"])), ask("trip"))))
"""


@pytest.mark.parametrize("end", [IN_TASKS, IN_THREADS], ids=["tasks", "threads"])
def test_c32_each_call_of_a_turn_gets_its_own_answer(end, script, capfd):
    replayed = replay(CROSSED, script(ASK + end))

    assert (replayed.verdict, shape(replayed)) == ("same", [])
    assert capfd.readouterr().out == "[['F1'], ['H1']]\n"


def test_c32_a_hundred_schedules_have_one_outcome():
    def run(asking, rng):
        calls = asking.model([{"role": "user", "content": "trip"}])["tool_calls"]
        works = [lambda turn, one=one: use_in(asking, one, turn) for one in calls]
        return in_threads(works, rng, steps=1)

    assert outcomes(build(CROSSED), run, range(100)) == {(json.dumps(['["F1"]', '["H1"]']), (), 0)}


def use_in(asking, one, turn):
    with turn():
        return asking.use(one)


TWINS = [call("search", {"q": "same"}, f"call_{n}") for n in (1, 2)]
TWIN_RUN = run_of(
    model_step(1, TRIP, TWINS, at=0),
    tool("00000000000000c1", ROOT, "search", {"q": "same"}, "first", id="call_1", at=21),
    tool("00000000000000c2", ROOT, "search", {"q": "same"}, "second", id="call_2", at=20),
)


def test_c32_twins_are_paired_by_the_models_ids_in_any_schedule():
    def run(asking, rng):
        calls = asking.model([{"role": "user", "content": "trip"}])["tool_calls"]
        found = {one["id"]: asking.use(one) for one in rng.sample(calls, k=2)}
        return sorted(found.items())

    expected = json.dumps([["call_1", "first"], ["call_2", "second"]])
    assert outcomes(build(TWIN_RUN), run, range(100)) == {(expected, (), 0)}


def test_c32_twins_without_ids_are_said_to_be_ambiguous():
    with hosted(build(TWIN_RUN)) as (asking, matcher):
        calls = asking.model([{"role": "user", "content": "trip"}])["tool_calls"]
        answers = {asking.use(one, with_id=False) for one in calls}

    assert answers == {"first", "second"}
    assert any("the call carries no id" in note for note in matcher.notes)


def test_c32_an_order_that_breaks_a_dependency_is_reported():
    run = run_of(
        tool("00000000000000c1", ROOT, "find", {"q": "x"}, "id 7", id="call_1", at=0),
        tool("00000000000000c2", ROOT, "book", {"id": "7"}, "booked", id="call_2", at=50),
    )
    with hosted(build(run)) as (asking, matcher):
        for name, arguments in (("book", {"id": "7"}), ("find", {"q": "x"})):
            asking.use({"id": "", "function": {"name": name, "arguments": json.dumps(arguments)}})

    assert [(one.type, one.name) for one in matcher.finish(stopped=False)[0]] == [("order_mismatch", "book")]
