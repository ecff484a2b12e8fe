"""Recorded calls are found by what they are, and wait until they are answered."""

from runreel.replay.unifying import Call
from runreel.replay.waiting import Waiting
from tape_kit import ask_model, model, text, tool


def seqs(entries):
    return [entry.seq for entry in entries]


POLLS = [tool(n, "poll", {"job": n % 2}, "", range(n), call_id=f"c{n}") for n in range(4)]


def test_a_call_is_compared_with_that_of_its_id_first_then_with_equal_ones_then_with_the_rest_in_order():
    waiting = Waiting(POLLS)

    assert seqs(waiting.candidates(Call("tool", "poll", {"job": 1}, "c2"))) == [2, 1, 3, 0]
    assert seqs(waiting.candidates(Call("tool", "poll", {"job": 0}))) == [0, 2, 1, 3]
    assert seqs(waiting.candidates(Call("tool", "other", {}))) == []


def test_what_was_answered_waits_no_longer_and_holds_up_nothing():
    waiting = Waiting(POLLS)

    waiting.settle(POLLS[0])

    assert seqs(waiting.waiting(Call("tool", "poll", {}))) == [1, 2, 3]
    assert seqs(waiting.like(Call("tool", "poll", {}))) == [0, 1, 2, 3]
    assert waiting.could_come(POLLS[1])
    assert waiting.late(POLLS[3]) == {1, 2}
    assert not waiting.has_id(Call("tool", "poll", {}, "c0"))
    assert waiting.has_id(Call("tool", "poll", {}, "c1"))


def test_what_a_changed_call_stood_for_still_waits_and_holds_up_nothing():
    waiting = Waiting(POLLS)

    waiting.stood_for(POLLS[0])

    assert seqs(waiting.waiting(Call("tool", "poll", {}))) == [0, 1, 2, 3]
    assert waiting.could_come(POLLS[1])


def test_model_calls_are_found_by_how_many_messages_they_have():
    short, long = model(0, (text("user", "q"),)), model(1, (text("user", "q"), text("assistant", "a")), after=[0])
    waiting = Waiting([short, long])

    assert seqs(waiting.candidates(ask_model((text("user", "x"), text("user", "y"))))) == [1]
    waiting.settle(long)
    assert seqs(waiting.candidates(ask_model((text("user", "x"), text("user", "y"))))) == []
    assert seqs(waiting.of_length(ask_model((text("user", "x"), text("user", "y"))))) == [1]


def test_twins_have_the_same_request_and_wait():
    waiting = Waiting(POLLS)

    assert seqs(waiting.twins(POLLS[1])) == [3]
    waiting.settle(POLLS[3])
    assert seqs(waiting.twins(POLLS[1])) == []
