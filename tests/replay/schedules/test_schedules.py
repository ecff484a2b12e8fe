"""A thousand schedules of one recorded run come to one outcome; what really came out of order is found in each.

The replay's host answers over a real stream pair; the agent's side runs its calls as tasks or as threads, in an order
that a seed decides.
"""

import asyncio
import json
import random
from collections.abc import Callable

import pytest

from otlp_build import ROOT, answer, call, msg, tool
from recorded_runs import model_step, run_of
from runreel.replay.tape import build
from schedule_kit import Agent, hosted, in_tasks, in_threads, outcomes, results

SEEDS = range(1000)
CITIES = ("Lisbon", "Oslo", "Rome", "Bern")


# --- the recorded runs ------------------------------------------------------------------------------------------------


def used(number, name, arguments, result, at, call_id):
    return tool(f"00000000000001{number:02x}", ROOT, name, arguments, result, id=call_id, at=at)


def two_turns():
    """A run of two turns: four calls at once, then three, which finished in another order than they started in."""
    first = [call("weather", {"city": city}, f"call_{city}") for city in CITIES]
    second = [call("book", {"city": city}, f"book_{city}") for city in CITIES[:3]]
    asked = [msg("user", "trip")]
    told = [*asked, msg("assistant", *first), *(msg("tool", answer(f"{c} ok", f"call_{c}")) for c in CITIES)]
    booked = [*told, msg("assistant", *second), *(msg("tool", answer(f"{c} done", f"book_{c}")) for c in CITIES[:3])]
    weather = [used(n, "weather", {"city": c}, f"{c} ok", 20 + 3 * (4 - n), f"call_{c}") for n, c in enumerate(CITIES)]
    books = [
        used(n + 8, "book", {"city": c}, f"{c} done", 80 + 20 * (3 - n), f"book_{c}") for n, c in enumerate(CITIES[:3])
    ]
    turns = [
        model_step(1, asked, first, at=0),
        model_step(2, told, second, at=60),
        model_step(3, booked, ["fine"], at=200),
    ]
    return run_of(*turns, *weather, *books)


def three_conversations():
    """Three threads, each with a model call, a tool and a model call, that overlapped as threads do."""
    spans = []
    for number, city in enumerate(CITIES[:3]):
        asked = [msg("user", f"weather in {city}")]
        calls = [call("weather", {"city": city}, "call_1")]
        told = [*asked, msg("assistant", *calls), msg("tool", answer(f"{city} ok", "call_1"))]
        spans += [
            model_step(2 * number + 1, asked, calls, at=4 * number),
            used(number, "weather", {"city": city}, f"{city} ok", 16 + 5 * number, "call_1"),
            model_step(2 * number + 2, told, [f"fine in {city}"], at=40 + 2 * number),
        ]
    return run_of(*spans)


def twins():
    """Four calls with equal arguments and four answers."""
    calls = [call("poll", {"job": "J-17"}, f"call_{number}") for number in range(4)]
    asked = [msg("user", "poll")]
    told = [*asked, msg("assistant", *calls), *(msg("tool", answer(f"state {n}", f"call_{n}")) for n in range(4))]
    polls = [used(n, "poll", {"job": "J-17"}, f"state {n}", 20 + 2 * n, f"call_{n}") for n in range(4)]
    return run_of(model_step(1, asked, calls, at=0), model_step(2, told, ["done"], at=60), *polls)


TAPES = {"tasks": build(two_turns()), "threads": build(three_conversations()), "twins": build(twins())}


# --- the agent --------------------------------------------------------------------------------------------------------


def conversation(agent: Agent, city: str) -> Callable:
    def work(turn) -> str:
        messages = [{"role": "user", "content": f"weather in {city}"}]
        with turn():
            message = agent.model(messages)
        with turn():
            content = agent.use(message["tool_calls"][0])
        with turn():
            return content, agent.model([*messages, *results(message, [content])]).get("content")

    return work


def one_of_twins(agent: Agent, one: dict, *, with_id: bool) -> Callable:
    def work(turn) -> str:
        with turn():
            return agent.use(one, with_id=with_id)

    return work


# --- the replays ------------------------------------------------------------------------------------------------------


def test_tasks_in_any_schedule_come_to_one_outcome():
    first = [f"{city} ok" for city in CITIES]
    second = [f"{city} done" for city in CITIES[:3]]

    found = outcomes(TAPES["tasks"], lambda agent, rng: asyncio.run(in_tasks(agent, rng, "trip")), SEEDS)

    assert found == {(json.dumps([first, second, "fine"]), (), 0)}


def test_threads_in_any_schedule_come_to_one_outcome():
    def run(agent, rng):
        return in_threads([conversation(agent, city) for city in CITIES[:3]], rng, steps=3)

    assert outcomes(TAPES["threads"], run, SEEDS) == {
        (json.dumps([[f"{city} ok", f"fine in {city}"] for city in CITIES[:3]]), (), 0)
    }


def test_calls_with_equal_arguments_in_any_schedule_get_the_answers_of_their_ids():
    def run(agent, rng):
        messages = [{"role": "user", "content": "poll"}]
        message = agent.model(messages)
        works = [one_of_twins(agent, one, with_id=True) for one in message["tool_calls"]]
        contents = in_threads(works, rng, steps=1)
        return contents, agent.model([*messages, *results(message, contents)])["content"]

    found = outcomes(TAPES["twins"], run, SEEDS)

    assert found == {(json.dumps([[f"state {number}" for number in range(4)], "done"]), (), 0)}


def test_calls_with_equal_arguments_and_no_ids_are_answered_in_order_and_said_to_be_ambiguous():
    with hosted(TAPES["twins"]) as (agent, matcher):
        message = agent.model([{"role": "user", "content": "poll"}])
        contents = [agent.use(one, with_id=False) for one in message["tool_calls"]]

    assert contents == [f"state {number}" for number in range(4)]
    assert any("parallel calls with equal arguments and different answers" in note for note in matcher.notes)


@pytest.mark.parametrize("seed", range(100))
def test_a_call_before_the_answer_that_it_needs_is_found_in_any_schedule(seed):
    """The second turn's booking comes while the first turn's calls are still to be made."""
    rng = random.Random(seed)
    with hosted(TAPES["tasks"]) as (agent, matcher):
        message = agent.model([{"role": "user", "content": "trip"}])
        early = rng.choice(CITIES[:3])
        booking = {"id": f"book_{early}", "function": {"name": "book", "arguments": json.dumps({"city": early})}}
        contents = {one["id"]: "" for one in message["tool_calls"]}
        works = rng.sample([*message["tool_calls"]], k=4)
        works.insert(rng.randrange(4), booking)
        for one in works:
            contents[one["id"]] = agent.use(one)
        messages = results(message, [contents[one["id"]] for one in message["tool_calls"]])
        agent.model([{"role": "user", "content": "trip"}, *messages])
    divergences, _ = matcher.finish(stopped=False)

    assert (divergences[0].type, divergences[0].name) == ("order_mismatch", "book")
