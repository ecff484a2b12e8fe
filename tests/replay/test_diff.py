import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from run_kit import capture, desk, run, said, step
from runreel.replay.compare import Change
from runreel.replay.diff import diff
from runreel.runs.assemble import assemble

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
WEATHER = ("otel-genai-openai/content-span", "openinference-openai/content-on")


def captured(name):
    return assemble(*capture(CAPTURES / name))


def kinds(found):
    return [(one.type, one.kind, one.name, one.a, one.b) for one in found.differences]


# --- laws -------------------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
STEPS = st.builds(
    lambda kind, name, given_, got, call_id, error: step(kind, name, given_, got, call_id=call_id, error=error),
    st.sampled_from(["agent", "llm", "tool", "retrieval", "decision", "memory"]),
    st.sampled_from(["a", "b"]),
    VALUES,
    VALUES,
    st.sampled_from(["", "c1", "c2"]),
    st.sampled_from([None, ("KeyError", "gone")]),
)
RUNS = st.lists(STEPS, max_size=7).map(lambda steps: run(*steps))


@given(RUNS)
def test_a_run_does_not_differ_from_itself(one):
    found = diff(one, one)

    assert found.same
    assert found.first is None
    assert len(found.pairs) == len(one.steps)


MIRRORED = {
    "missing_call": "unrecorded_call",
    "unrecorded_call": "missing_call",
    "added": "removed",
    "removed": "added",
}


def told(found, *, swapped=False):
    """What a comparison says, in no order; `swapped` as the one the other way round would say it.

    The path of a changed item counts in the second run's list: places in lists are left out.
    """

    def both(one, other):
        return (other, one) if swapped else (one, other)

    def mirrored(word):
        return MIRRORED.get(word, word) if swapped else word

    return sorted(
        repr(
            (
                mirrored(one.type),
                one.kind,
                one.side,
                both(one.a, one.b),
                sorted(
                    (re.sub(r"/\d+", "/#", c.path), mirrored(c.operation), repr(both(c.was, c.now)))
                    for c in one.changes
                ),
            )
        )
        for one in found.differences
        if one.type != "order_mismatch"
    )


@given(RUNS, RUNS)
def test_swapping_two_runs_swaps_the_sides_and_nothing_else(a, b):
    forth, back = diff(a, b), diff(b, a)

    assert forth.same == back.same
    assert sorted(forth.pairs) == sorted((one, two) for two, one in back.pairs)
    assert told(forth) == told(back, swapped=True)
    # Of two steps that changed places, each direction names the one that came too early in its second run.
    assert {"order_mismatch"} & {one.type for one in forth.differences} == {"order_mismatch"} & {
        one.type for one in back.differences
    }


@pytest.mark.parametrize("folder", sorted({str(path.parent.relative_to(CAPTURES)) for path in CAPTURES.rglob("*.bin")}))
def test_no_capture_differs_from_itself(folder):
    found = diff(captured(folder), captured(folder))

    assert found.same
    assert found.pairs


def test_two_instrumentations_of_one_agent_tell_the_same_run():
    found = diff(*(captured(name) for name in WEATHER))

    assert kinds(found) == []
    assert (found.a.model_calls, found.b.tool_calls) == (3, 3)


def test_a_streamed_answer_tells_the_same_run_as_a_plain_one():
    found = diff(captured("otel-genai-openai/content-span"), captured("otel-genai-openai/stream"))

    assert kinds(found) == []


# --- what is found ----------------------------------------------------------------------------------------------------


def test_a_changed_argument_is_named_and_the_rest_is_the_same():
    found = diff(desk(), desk(cents=100))

    assert kinds(found) == [("input_mismatch", "tool", "refund", 4, 4)]
    assert found.first.changes == (Change("/cents", "changed", 4900, 100),)


def test_a_changed_prompt_is_told_once_and_later_requests_carry_it_on():
    found = diff(desk(), desk(prompt="Be kind."))

    assert kinds(found) == [("input_mismatch", "llm", "m", seq, seq) for seq in (1, 3, 5)]
    assert found.first.changes == (Change("/messages/0/parts/0/content", "changed", "Be brief.", "Be kind."),)
    assert [one.follows for one in found.differences] == [None, 0, 0]


def test_a_changed_result_comes_before_the_request_that_tells_it_to_the_model():
    found = diff(desk(), desk(result='{"ok": false}'))

    assert kinds(found) == [("output_mismatch", "tool", "refund", 4, 4), ("input_mismatch", "llm", "m", 5, 5)]
    assert found.first.changes == (Change("/ok", "changed", True, False),)
    assert found.differences[1].follows == 0


def test_new_ids_of_tool_calls_and_other_formatting_are_no_difference():
    assert diff(desk(), desk(ids=("call_x", "call_y"), result='{"ok":true}')).same


def test_a_step_that_only_one_run_has_is_named_where_it_stands():
    look = step("tool", "look", {"n": 1}, "x")
    answer = step("llm", "m", [said("user", "go")], [said("assistant", "done")])

    assert kinds(diff(run(look, answer), run(answer))) == [("missing_call", "tool", "look", 0, None)]
    assert kinds(diff(run(answer), run(look, answer))) == [("unrecorded_call", "tool", "look", None, 0)]


def test_the_first_divergence_comes_first_whatever_its_kind():
    def steps(found, *more):
        return [step("tool", "search", {"q": 1}, found), *more, step("tool", "send", {"text": found}, "sent")]

    found = diff(run(*steps("old")), run(*steps("new", step("tool", "log", {}, None))))

    assert kinds(found) == [
        ("output_mismatch", "tool", "search", 0, 0),
        ("unrecorded_call", "tool", "log", None, 1),
        ("input_mismatch", "tool", "send", 1, 2),
    ]


def test_the_answer_of_the_agent_comes_last():
    found = diff(run(step("agent", "a", None, "old", end_ns=900), step("llm", "m", "q", "old", after=())),
                 run(step("agent", "a", None, "new", end_ns=900), step("llm", "m", "q", "new", after=())))  # fmt: skip

    assert [one.kind for one in found.differences] == ["llm", "agent"]


def test_steps_taken_in_another_causal_order_are_named():
    a = run(step("tool", "check", {}, "ok"), step("tool", "pay", {}, "paid"))
    b = run(step("tool", "pay", {}, "paid"), step("tool", "check", {}, "ok"))

    found = diff(a, b)

    assert kinds(found) == [("order_mismatch", "tool", "pay", 1, 0)]
    assert "after step 0 (tool check)" in found.first.changes[0].was


def test_parallel_steps_have_no_order_to_differ_in():
    one, two = step("tool", "a", {}, "x", after=()), step("tool", "b", {}, "y", after=())

    assert diff(run(one, two), run(two, one)).same


def test_errors_are_part_of_what_came_back():
    found = diff(run(step("tool", "get", {}, None, error=("KeyError", "'x'"))), run(step("tool", "get", {}, "fine")))

    assert found.first.type == "output_mismatch"
    assert Change("/error", "changed", {"type": "KeyError", "message": "'x'"}, None) in found.first.changes


@pytest.mark.parametrize(
    ("kind", "fields", "path", "side"),
    [
        ("llm", {"model_requested": "other"}, "/model", "input"),
        ("llm", {"model": "other"}, "/model", "output"),
        ("llm", {"params": {"temperature": 1}}, "/params/temperature", "input"),
        ("llm", {"tool_definitions": [{"name": "f", "description": "new"}]}, "/tools/0/description", "input"),
        ("retrieval", {"index_version": "2"}, "/index_version", "input"),
        ("retrieval", {"top_k": 5}, "/top_k", "input"),
    ],
)
def test_fields_of_the_request_and_the_answer_are_compared(kind, fields, path, side):
    base = {
        "model": "m-1",
        "model_requested": "m",
        "params": {"temperature": 0},
        "tool_definitions": [{"name": "f", "description": "old"}],
        "index_version": "1",
        "top_k": 3,
    }
    value = [said("user", "x")] if kind == "llm" else "query"

    found = diff(
        run(step(kind, "n", value, value, fields=base)), run(step(kind, "n", value, value, fields=base | fields))
    )

    assert [(one.side, [change.path for change in one.changes]) for one in found.differences] == [(side, [path])]


def test_a_decision_that_went_another_way_is_a_decision_mismatch():
    found = diff(run(step("decision", "route", None, "refund")), run(step("decision", "route", None, "escalate")))

    assert found.first.type == "decision_mismatch"


def test_content_that_only_one_run_has_is_a_note_and_no_difference():
    found = diff(run(step("tool", "get", {"a": 1}, "x")), run(step("tool", "get", None, "x")))

    assert found.same
    assert found.notes == ("step 0 (tool get): only one run has its input (value)",)


def test_tokens_are_the_same_by_name():
    def mail(token):
        return run(step("tool", "send", {"to": token}, "sent"))

    assert diff(mail("<EMAIL_7f3a9c02>"), mail("<EMAIL_7f3a9c02>")).same
    assert not diff(mail("<EMAIL_7f3a9c02>"), mail("<EMAIL_00000000>")).same


def test_a_mask_hides_what_it_names_and_is_counted():
    def search(score, text):
        return run(step("retrieval", "kb", "q", [{"id": "1", "score": score, "content": text}]))

    masks = ["retrieval/kb/output/*/score"]

    hidden = diff(search(0.5, "x"), search(0.6, "x"), masks)
    assert (hidden.same, hidden.masked) == (True, 1)
    shown = diff(search(0.5, "x"), search(0.6, "y"), masks)
    assert [change.path for change in shown.first.changes] == ["/documents/0/content"]


def test_what_the_runs_cost_stands_side_by_side():
    found = diff(desk(), run(step("llm", "m", [said("user", "x")], None), run_id="run-2", ended_ns=5 * 10**8))

    assert (found.a.model_calls, found.a.tool_calls, found.a.input_tokens, found.a.output_tokens) == (3, 2, 30, 15)
    assert (found.b.run_id, found.b.input_tokens, found.b.duration_ns) == ("run-2", None, 5 * 10**8)


def test_long_runs_with_a_change_at_their_start_are_compared_in_reasonable_steps():
    rng = random.Random(7)

    def turns(prompt):
        history, out = [said("system", prompt)], []
        for n in range(60):
            out.append(step("llm", "m", list(history), [said("assistant", str(n))], after=range(max(0, n - 1), n)))
            history += [said("assistant", str(n)), said("user", "x" * rng.randint(1, 9) if prompt == "" else "y")]
        return run(*out)

    found = diff(turns("old"), turns("new"))

    assert len(found.differences) == 60
    assert {one.follows for one in found.differences} == {None, 0}
