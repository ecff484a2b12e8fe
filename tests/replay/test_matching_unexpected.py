"""Model calls more than recorded, and calls left out."""

import pytest

from runreel.replay.unifying import Call
from tape_kit import ask_model, matcher, model, text, tool, types, with_result


def test_a_request_that_was_answered_and_comes_again_is_one_more():
    first, second = (text("user", "q"),), (text("user", "q"), text("assistant", "a"), text("user", "r"))
    tape = matcher(model(0, first), model(1, second, after=[0]))
    tape.ask(ask_model(first))

    found = tape.ask(ask_model(first))

    assert (found.type, found.after, found.reason) == ("unrecorded_call", 0, "answered before, asked for once more")


def test_a_request_unlike_any_recorded_one_is_one_more_and_stands_in_no_ones_place():
    asked = (text("system", "You are a refund desk."), text("user", "Order A-1042 arrived broken."))
    tape = matcher(model(0, asked))

    found = tape.ask(ask_model((text("user", "Is this safe?"),)))

    assert (found.type, found.reason) == ("unrecorded_call", "no recorded request is like it")
    assert tape.ask(ask_model(asked)).seq == 0
    assert types(tape.finish(stopped=False)) == ["unrecorded_call"]


@pytest.mark.parametrize("kept", [slice(1, None), slice(None, 2)])
def test_a_request_with_half_of_the_recorded_messages_is_a_changed_one(kept):
    asked = tuple(text("user", f"message number {n}") for n in range(4))
    tape = matcher(model(0, asked))

    assert tape.ask(ask_model(asked[kept])).recorded == 0


def test_a_tool_that_ran_for_real_stands_where_it_was_first_missed():
    tape = matcher(
        tool(0, "pay", {}, {"receipt": 1}, call_id="c1"),
        tool(1, "state", {}, "", [0]),
        model(2, with_result("c1", {"receipt": 1}), after=[0, 1]),
    )
    tape.ask(Call("tool", "state", {}))
    tape.ask(ask_model(with_result("c1", {"receipt": 1})))

    found, _ = tape.finish(stopped=False)
    assert [(one.type, one.recorded) for one in found] == [("unstubbed_tool", 0)]


def test_a_call_left_out_whose_result_is_made_up_is_missing():
    tape = matcher(tool(0, "pay", {}, {"receipt": 1}, call_id="c1"), model(1, with_result("c1", "skipped"), after=[0]))
    tape.ask(ask_model(with_result("c1", "skipped")))

    (found,), _ = tape.finish(stopped=False)
    assert (found.type, found.recorded) == ("missing_call", 0)
    assert "something else in place of its result" in found.reason


def test_a_call_id_used_again_is_no_result_of_the_next_call():
    turn = with_result("call_1", "one")
    tape = matcher(
        tool(0, "add", {"n": 1}, "one", call_id="call_1"),
        model(1, turn, after=[0]),
        tool(2, "add", {"n": 2}, "two", after=[0, 1], call_id="call_1"),
        model(3, (*turn, *with_result("call_1", "two")), after=[0, 1, 2]),
    )

    tape.ask(Call("tool", "add", {"n": 1}, "call_1"))
    tape.ask(ask_model(turn))
    tape.ask(Call("tool", "add", {"n": 2}, "call_1"))
    tape.ask(ask_model((*turn, *with_result("call_1", "two"))))

    assert tape.finish(stopped=False) == ((), 0)
