"""Calls of threads and tasks that went on at once are not ordered by chance; what really followed is."""

import dataclasses

from otlp_build import call, msg, span
from recorded_runs import model_step, run_of, tool_step
from runreel.replay.strands import untangled as untangled_by
from runreel.replay.tape import build
from tape_kit import model, text, tool


def untangled(entries, calls=None):
    return untangled_by(entries, [], lambda entry: (calls or {}).get(entry.seq, ()))


def timed(entry, start, end):
    return dataclasses.replace(entry, start_ns=start, end_ns=end)


ONE, TWO = (text("user", "one"),), (text("user", "two"),)
MORE = text("assistant", "more")


def two_conversations(second_starts):
    return [
        timed(model(1, ONE), 0, 10),
        timed(model(2, TWO, after=()), 5, 15),
        timed(model(3, (*ONE, MORE), after=(1, 2)), 20, 30),
        timed(model(4, (*TWO, MORE), after=(1, 2)), second_starts, second_starts + 10),
    ]


def test_conversations_that_went_on_at_once_are_not_ordered_among_each_other():
    entries = untangled(two_conversations(25))

    assert [set(entry.after) for entry in entries] == [set(), set(), {1}, {2}]


def test_where_nothing_overlapped_time_is_the_order():
    entries = [timed(model(1, ONE), 0, 10), timed(model(2, TWO, after=(1,)), 20, 30)]

    assert untangled(entries) == tuple(entries)


def test_a_conversation_that_started_when_another_was_over_stays_after_it():
    entries = [
        *two_conversations(25),
        timed(model(5, (text("user", "put both together"),), after=(1, 2, 3, 4)), 50, 60),
    ]

    assert set(untangled(entries)[-1].after) == {1, 2, 3, 4}


def test_tools_belong_to_the_conversation_that_asked_for_them_and_others_stay_ordered():
    entries = [
        timed(model(1, ONE), 0, 10),
        timed(model(2, TWO), 5, 15),
        timed(tool(3, "search", {}, 1, after=(1, 2), call_id="call_1"), 12, 14),
        timed(tool(4, "other", {}, 1, after=(1, 2, 3)), 20, 25),
    ]
    asked = {1: [{"id": "call_1", "arguments": {}}]}

    assert [set(entry.after) for entry in untangled(entries, asked)[2:]] == [{1}, {1, 2, 3}]


def test_calls_below_spans_that_overlapped_are_not_ordered_among_each_other():
    def worker(sid, at):
        about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "worker"}
        return span("invoke_agent worker", sid, "00000000000000a0", at=at, ms=100, attrs=about)

    run = run_of(
        worker("00000000000000e1", 0),
        worker("00000000000000e2", 10),
        *(
            below(number, parent, at)
            for number, parent, at in [(1, "e1", 0), (2, "e2", 25), (3, "e1", 50), (4, "e2", 45)]
        ),
    )

    first, second = build(run).entries[0].request["q"], {e.request["q"]: e for e in build(run).entries}
    names = {entry.seq: entry.request["q"] for entry in build(run).entries}

    assert first == "1"
    assert {names[seq] for seq in second["3"].after if seq in names} == {"1"}
    assert {names[seq] for seq in second["4"].after if seq in names} == {"2"}


def below(number, parent, at):
    step = tool_step(number, "search", {"q": str(number)}, [number], at=at)
    step.parent_span_id = bytes.fromhex(f"00000000000000{parent}")
    return step


def test_an_agent_that_does_one_thing_after_the_other_keeps_its_order():
    run = run_of(
        model_step(1, [msg("user", "q")], [call("a", {}, "call_1")], at=0),
        tool_step(1, "a", {}, 1, at=20, call_id="call_1"),
        tool_step(2, "b", {}, 2, at=40),
    )

    assert [len(entry.after) for entry in build(run).entries] == [0, 1, 2]
