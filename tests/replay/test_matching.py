"""Which recorded answer a call gets: the cases C31 to C35 of the field, and the laws behind them."""

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.canonical import Bindings, unify
from runreel.replay import unifying
from runreel.replay.unifying import Call
from runreel.replay.values import Divergence, Raised
from tape_kit import EMAIL, KEY, TOKEN, ask_model, matcher, model, text, tool, types, with_result

# --- C31: the same call again, another answer


POLLS = [tool(n, "poll_job", {"job_id": "J-17"}, state, after=range(n)) for n, state in enumerate("qrd")]
POLL = Call("tool", "poll_job", {"job_id": "J-17"})


def test_equal_calls_get_their_recorded_answers_in_order():
    tape = matcher(*POLLS)

    assert [tape.ask(POLL).answer.value for _ in POLLS] == ["q", "r", "d"]
    assert tape.finish(stopped=False) == ((), 0)


def test_one_call_more_is_unrecorded_and_gets_no_old_answer():
    tape = matcher(*POLLS)
    for _ in POLLS:
        tape.ask(POLL)

    found = tape.ask(POLL)

    assert isinstance(found, Divergence)
    assert (found.type, found.name, found.replayed) == ("unrecorded_call", "poll_job", 4)
    assert found.reason == "recorded 3 times, asked for once more"
    assert [one.answered for one in found.nearest] == [True, True, True]


def test_calls_not_made_are_missing():
    tape = matcher(*POLLS)
    tape.ask(POLL)
    tape.ask(POLL)

    (missing,), not_reached = tape.finish(stopped=False)

    assert (missing.type, missing.recorded, not_reached) == ("missing_call", 2, 0)


# --- C32: parallel calls come back in another order


def test_parallel_calls_are_told_apart_by_their_arguments_in_any_order():
    entries = [tool(n, "search", {"q": word}, word.upper()) for n, word in enumerate(["flights", "hotels", "cars"])]

    for order in itertools.permutations(entries):
        tape = matcher(*entries)
        answers = [tape.ask(Call("tool", "search", entry.request)).answer.value for entry in order]
        assert answers == [entry.request["q"].upper() for entry in order]
        assert tape.finish(stopped=False) == ((), 0)


def test_twins_are_told_apart_by_their_call_ids():
    tape = matcher(tool(0, "roll", {}, "1", call_id="a"), tool(1, "roll", {}, "2", call_id="b"))

    assert tape.ask(Call("tool", "roll", {}, "b")).answer.value == "2"
    assert tape.ask(Call("tool", "roll", {}, "a")).answer.value == "1"
    assert not tape.notes


def test_twins_without_ids_are_answered_in_order_and_said_to_be_ambiguous():
    tape = matcher(tool(0, "roll", {}, "1"), tool(1, "roll", {}, "2"))

    assert [tape.ask(Call("tool", "roll", {})).answer.value for _ in range(2)] == ["1", "2"]
    assert any("parallel calls with equal arguments" in note for note in tape.notes)


def test_twins_with_equal_answers_are_not_ambiguous():
    tape = matcher(tool(0, "roll", {}, "1"), tool(1, "roll", {}, "1"))

    tape.ask(Call("tool", "roll", {}))

    assert not tape.notes


def test_a_call_id_that_local_models_use_twice_only_breaks_ties():
    tape = matcher(
        tool(0, "add", {"n": 1}, "one", call_id="call_1"), tool(1, "add", {"n": 2}, "two", [0], call_id="call_1")
    )

    assert tape.ask(Call("tool", "add", {"n": 1}, "call_1")).answer.value == "one"
    assert tape.ask(Call("tool", "add", {"n": 2}, "call_1")).answer.value == "two"


def test_an_order_that_crosses_a_dependency_is_a_divergence_and_is_answered():
    tape = matcher(tool(0, "first", {}, "1"), tool(1, "second", {}, "2", after=[0]))

    assert tape.ask(Call("tool", "second", {})).answer.value == "2"
    assert tape.ask(Call("tool", "first", {})).answer.value == "1"

    ((found,), _) = tape.finish(stopped=False)
    assert (found.type, found.recorded, found.fails) == ("order_mismatch", 1, True)
    assert found.reason.startswith("came before step 0")


# --- changed requests


def test_a_changed_argument_names_the_field_both_values_and_the_nearest_calls():
    tape = matcher(tool(3, "refund", {"order": "A", "cents": 4900}, "ok"), tool(7, "refund", {"order": "B"}, "ok", [3]))

    found = tape.ask(Call("tool", "refund", {"order": "A", "cents": 4800}))

    assert (found.type, found.recorded, found.path) == ("input_mismatch", 3, "/cents")
    assert (found.was, found.now) == (4900, 4800)
    assert [one.seq for one in found.nearest] == [3, 7]


def test_the_same_wrong_call_again_is_the_same_divergence():
    tape = matcher(tool(0, "refund", {"cents": 1}, "ok"))
    wrong = Call("tool", "refund", {"cents": 2})

    assert tape.ask(wrong) is tape.ask(wrong)
    assert types(tape.finish(stopped=False)) == ["input_mismatch"]


def test_a_changed_call_whose_recorded_one_is_made_as_well_was_one_more():
    tape = matcher(tool(0, "refund", {"cents": 1}, "ok"))
    tape.ask(Call("tool", "refund", {"cents": 2}))

    assert tape.ask(Call("tool", "refund", {"cents": 1})).seq == 0
    assert types(tape.finish(stopped=False)) == ["unrecorded_call"]


def test_a_name_that_was_never_recorded_is_unrecorded():
    found = matcher().ask(Call("tool", "delete", {}))

    assert (found.type, found.reason) == ("unrecorded_call", "never recorded")


def test_what_comes_after_a_divergence_is_not_reached_rather_than_missing():
    tape = matcher(tool(0, "a", {"n": 1}, ""), tool(1, "b", {}, "", [0]), tool(2, "c", {}, ""))
    tape.ask(Call("tool", "a", {"n": 2}))

    found, not_reached = tape.finish(stopped=False)

    assert [(one.type, one.recorded) for one in found] == [("input_mismatch", 0), ("missing_call", 2)]
    assert not_reached == 1


def test_an_agent_that_a_divergence_ended_leaves_one_divergence():
    tape = matcher(tool(0, "a", {"n": 1}, ""), tool(1, "b", {}, ""))
    tape.ask(Call("tool", "a", {"n": 2}))

    assert (types(tape.finish(stopped=True)), tape.finish(stopped=True)[1]) == (["input_mismatch"], 1)


def test_an_agent_that_ended_by_itself_too_early_misses_calls():
    tape = matcher(tool(0, "a", {}, ""))

    assert types(tape.finish(stopped=True)) == ["missing_call"]


def test_under_continue_the_only_call_that_can_be_meant_is_answered_and_the_verdict_stays():
    tape = matcher(tool(0, "a", {"n": 1}, "one"), on_divergence="continue")

    assert tape.ask(Call("tool", "a", {"n": 2})).answer.value == "one"
    assert types(tape.finish(stopped=False)) == ["input_mismatch"]


def test_under_continue_the_nearest_of_several_is_answered_where_no_other_is_as_near():
    entries = [tool(n, "refund", {"order": order, "cents": 4900}, order) for n, order in enumerate("AB")]
    tape = matcher(*entries, on_divergence="continue")

    assert tape.ask(Call("tool", "refund", {"order": "B", "cents": 4800})).answer.value == "B"
    assert tape.ask(Call("tool", "refund", {"order": "A", "cents": 4900})).answer.value == "A"
    assert types(tape.finish(stopped=False)) == ["input_mismatch"]


def test_under_continue_a_call_that_can_be_two_is_not_answered():
    tape = matcher(tool(0, "a", {"n": 1}, "one"), tool(1, "a", {"n": 3}, "three"), on_divergence="continue")

    assert isinstance(tape.ask(Call("tool", "a", {"n": 2})), Divergence)


def test_a_retry_of_the_sdk_gets_the_recorded_failure_again():
    tape = matcher(model(0, (text("user", "q"),)))
    asked = ask_model((text("user", "q"),))
    entry = tape.ask(asked)
    tape.expect_again(asked, entry)

    assert tape.ask(asked) is entry
    assert tape.answered == {("llm", "m"): 1}
    assert tape.finish(stopped=False) == ((), 0)


# --- results that no boundary gave


def test_a_failure_that_came_about_again_by_itself_was_not_missed():
    failed = tool(0, "get", '{"city": "Lis', Raised("JSONDecodeError", "bad"), call_id="c1")
    tape = matcher(failed, model(1, with_result("c1", "bad"), after=[0]))

    assert tape.ask(ask_model(with_result("c1", "bad"))).seq == 1
    assert tape.finish(stopped=False) == ((), 0)
    assert tape.reproduced == 1


def test_a_result_that_no_boundary_gave_is_a_tool_that_ran():
    tape = matcher(tool(0, "get", {}, "21", call_id="c1"), model(1, with_result("c1", "21"), after=[0]))

    tape.ask(ask_model(with_result("c1", "21")))

    ((found,), _) = tape.finish(stopped=False)
    assert (found.type, found.name, found.recorded) == ("unstubbed_tool", "get", 0)
    assert "--tool" in found.advice


@pytest.mark.parametrize(("arguments", "reproduced"), [({"city": "Lisbon"}, 0), ('{"city": "Lis', 1)])
def test_a_tool_without_a_span_that_no_boundary_answered_ran_unless_it_could_not_be_called(arguments, reproduced):
    entry = replace(tool(0, "get", arguments, "21", call_id="c1"), source="synthesised")
    tape = matcher(entry, model(1, with_result("c1", "21"), after=[0]))

    tape.ask(ask_model(with_result("c1", "21")))

    found, _ = tape.finish(stopped=False)
    assert [one.type for one in found] == ["unstubbed_tool"] * (1 - reproduced)
    assert tape.reproduced == reproduced


def test_what_an_agent_tells_the_model_of_a_refused_call_is_no_result():
    calls = [tool(n, "get", {"city": city}, "21", call_id=f"c{n}") for n, city in enumerate(["Lisbon", "Oslo"])]
    tape = matcher(*calls, model(2, with_result("c0", "21"), after=[0, 1]))
    for n in (0, 1):
        tape.ask(Call("tool", "get", {"city": "Porto"}, f"c{n}"))

    tape.ask(ask_model(with_result("c0", "no such city") + with_result("c1", "no such city")))

    found, _ = tape.finish(stopped=False)
    assert [(one.type, one.recorded) for one in found] == [("input_mismatch", n) for n in range(3)]


def test_a_result_that_a_boundary_gave_is_fine():
    tape = matcher(tool(0, "get", {}, "21", call_id="c1"), model(1, with_result("c1", "21"), after=[0]))
    tape.ask(Call("tool", "get", {}))

    tape.ask(ask_model(with_result("c1", "21")))

    assert tape.finish(stopped=False) == ((), 0)


# --- laws


@given(st.lists(st.sampled_from("abc"), max_size=12), st.randoms(use_true_random=False))
def test_any_run_replays_without_divergence_in_any_order_that_its_causes_allow(names, rng: random.Random):
    """Calls of a turn in any order, turns one after the other."""
    turns, seq = [], 0
    for size in (3, 1, 4):
        turns.append(list(range(seq, min(seq + size, len(names)))))
        seq += size
    entries = []
    for number, turn in enumerate(turns):
        before = list(itertools.chain.from_iterable(turns[:number]))
        entries += [tool(n, names[n], {"n": n}, str(n), after=before, call_id=f"c{n}") for n in turn]
    tape = matcher(*entries)

    for turn in turns:
        rng.shuffle(turn)
        for n in turn:
            assert tape.ask(Call("tool", names[n], {"n": n})).answer.value == str(n)

    assert tape.finish(stopped=False) == ((), 0)


@given(st.integers(0, 5))
def test_whatever_call_is_altered_the_replay_diverges_there(altered):
    entries = [tool(n, "a", {"n": n}, "", after=range(n)) for n in range(6)]
    tape = matcher(*entries)

    for entry in entries:
        n = entry.request["n"]
        tape.ask(Call("tool", "a", {"n": n if n != altered else 99}))

    (found,), not_reached = tape.finish(stopped=False)
    assert (found.type, found.recorded, not_reached) == ("input_mismatch", altered, 0)


@given(st.integers(0, 4))
def test_whatever_call_is_left_out_is_missing_and_nothing_else(left_out):
    entries = [tool(n, "a", {"n": n}, "", after=range(n)) for n in range(6)]
    tape = matcher(*entries)

    for entry in entries:
        if entry.seq != left_out:
            tape.ask(Call("tool", "a", entry.request))

    (found,), not_reached = tape.finish(stopped=False)
    assert (found.type, found.recorded, not_reached) == ("missing_call", left_out, 0)


def test_a_call_left_out_comes_before_the_changed_request_that_follows_from_it():
    tape = matcher(tool(0, "a", {}, "x"), model(1, with_result("c1", "x"), after=[0]))

    tape.ask(ask_model(with_result("c1", "?")))

    found, _ = tape.finish(stopped=True)
    assert [(one.type, one.recorded) for one in found] == [("missing_call", 0), ("input_mismatch", 1)]


# --- what was answered by what


def test_each_answered_step_says_which_boundary_asked():
    tape = matcher(tool(0, "a", {}, ""), tool(1, "b", {}, ""))

    tape.ask(Call("tool", "a", {}, via="recorder"))
    tape.ask(Call("tool", "b", {}))

    assert tape.coverage == {0: "recorder", 1: "boundary"}


def test_a_failure_that_came_about_again_was_answered_by_the_agent_itself():
    failed = tool(0, "get", '{"city": "Lis', Raised("JSONDecodeError", "bad"), call_id="c1")
    tape = matcher(failed, model(1, with_result("c1", "bad"), after=[0]))

    tape.ask(ask_model(with_result("c1", "bad")))

    assert tape.coverage == {0: "agent", 1: "boundary"}


def test_what_a_call_costs_does_not_grow_with_the_run():
    """Comparisons are counted, not time: one for each call, whether calls are all alike or all different."""
    for request in (lambda n: {"job": "same"}, lambda n: {"page": n}):
        entries = [tool(n, "read", request(n), str(n), after=range(n)) for n in range(200)]
        tape, count = matcher(*entries), 0
        compare = unifying.compare

        def counting(*args, compare=compare):
            nonlocal count
            count += 1
            return compare(*args)

        unifying.compare = counting
        try:
            answers = [tape.ask(Call("tool", "read", entry.request)).answer.value for entry in entries]
        finally:
            unifying.compare = compare
        assert answers == [str(n) for n in range(200)]
        assert count == 200


ARGUMENTS = st.dictionaries(
    st.sampled_from("abc"), st.integers(0, 3) | st.sampled_from(["x", "y", TOKEN, EMAIL, '{"n": 1}']), max_size=3
)


@given(st.lists(ARGUMENTS, max_size=6), st.lists(ARGUMENTS, max_size=8))
def test_no_call_is_ever_given_the_answer_to_another_request(recorded, asked):
    """Whatever is asked in whatever order: an answer is that of a request which says the same."""
    tape = matcher(*(tool(n, "t", request, n) for n, request in enumerate(recorded)), key=KEY)

    for request in asked:
        found = tape.ask(Call("tool", "t", request))
        if not isinstance(found, Divergence):
            assert isinstance(unify(found.request, request, key=KEY, served=frozenset({TOKEN})), Bindings)
    assert sum(tape.answered.values()) == len({*tape.coverage}) <= len(recorded)
