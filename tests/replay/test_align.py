from hypothesis import given
from hypothesis import strategies as st

from run_kit import called, desk, run, said, step, told
from runreel.canonical import freeze
from runreel.replay.align import align, with_call_ids

ASKED = [said("user", "Compare Lisbon and Oslo.")]


def weather(*cities, name="get_weather"):
    return [step("tool", name, {"city": city}, f"sun in {city}", after=()) for city in cities]


def test_a_run_is_aligned_with_itself():
    one = desk()

    found = align(one, one)

    assert found.pairs == tuple((n, n) for n in range(6))
    assert (found.only_a, found.only_b) == ((), ())


def test_parallel_calls_are_told_by_what_they_asked_not_by_position():
    found = align(run(*weather("Lisbon", "Oslo")), run(*weather("Oslo", "Lisbon")))

    assert found.pairs == ((0, 1), (1, 0))


def test_equal_calls_are_paired_in_order():
    found = align(run(*weather("Oslo", "Oslo", "Oslo")), run(*weather("Oslo", "Oslo")))

    assert found.pairs == ((0, 0), (1, 1))
    assert found.only_a == (2,)


def test_a_changed_argument_is_one_changed_call_not_one_gone_and_one_new():
    found = align(desk(), desk(cents=100))

    assert found.pairs == tuple((n, n) for n in range(6))


def test_a_tool_of_another_name_is_another_tool():
    found = align(run(*weather("Oslo")), run(*weather("Oslo", name="forecast")))

    assert (found.pairs, found.only_a, found.only_b) == ((), (0,), (0,))


def test_a_changed_prompt_keeps_every_model_call_in_its_place_though_one_came_in_between():
    extra = step(
        "llm", "m", [said("system", "Summarise."), said("user", "everything so far")], [said("assistant", "x")]
    )

    def turns(prompt, *more):
        history = [said("system", prompt), *ASKED]
        out = []
        for n in range(4):
            out.append(step("llm", "m", list(history), [said("assistant", f"answer {n}")]))
            history += [said("assistant", f"answer {n}"), said("user", f"question {n}")]
        return run(*out[:2], *more, *out[2:])

    found = align(turns("You are brief."), turns("You are kind.", extra))

    assert found.pairs == ((0, 0), (1, 1), (2, 3), (3, 4))
    assert found.only_b == (2,)


def test_another_model_is_the_same_call():
    a = run(step("llm", "gpt-4o", ASKED, [said("assistant", "x")]))
    b = run(step("llm", "gpt-5", ASKED, [said("assistant", "x")]))

    assert align(a, b).pairs == ((0, 0),)


def test_new_call_ids_are_told_from_old_ones_by_the_answers_that_made_them():
    found = align(desk(ids=("c1", "c2")), desk(ids=("call_9x", "call_7y")))

    assert found.call_ids == {"call_9x": "c1", "call_7y": "c2"}


def test_calls_with_equal_arguments_go_by_their_ids():
    def twice(first, second):
        asks = called((first, "poll", {"job": 1}), (second, "poll", {"job": 1}))
        return [
            step("llm", "m", ASKED, [asks]),
            *(step("tool", "poll", {"job": 1}, i, call_id=i) for i in (first, second)),
        ]

    a = run(*twice("c1", "c2"))
    llm, one, two = twice("x1", "x2")
    b = run(llm, two, one)

    assert align(a, b).pairs == ((0, 0), (1, 2), (2, 1))


def test_sub_agents_keep_their_steps_apart():
    def both(first, second):
        return run(
            step("agent", first, parent=None),
            step("llm", "m", ASKED, None, parent=0),
            step("agent", second, parent=None),
            step("llm", "m", ASKED, None, parent=2),
        )

    assert align(both("planner", "writer"), both("writer", "planner")).pairs == ((0, 2), (1, 3), (2, 0), (3, 1))


def test_a_step_that_is_another_view_of_a_step_is_left_out():
    a = run(step("llm", "m", ASKED, None), step("llm", "m", ASKED, None, shadowed_by=0))

    found = align(a, run(step("llm", "m", ASKED, None)))

    assert (found.pairs, found.only_a) == (((0, 0),), ())


def test_call_ids_are_renamed_in_calls_and_results_and_nowhere_else():
    messages = freeze((said("user", "c1"), called(("c1", "f", "c1")), told("c1", "c1"), "odd", {"parts": "odd"}))

    got = with_call_ids(messages, {"c1": "d1"})

    assert got == freeze((said("user", "c1"), called(("d1", "f", "c1")), told("d1", "c1"), "odd", {"parts": "odd"}))


NAMES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=8)


@given(NAMES, NAMES)
def test_every_step_is_paired_once_or_stands_alone(left, right):
    a = run(*(step("tool", name, {"n": n}, None) for name, n in left))
    b = run(*(step("tool", name, {"n": n}, None) for name, n in right))

    found = align(a, b)

    assert sorted([one for one, _ in found.pairs] + list(found.only_a)) == list(range(len(left)))
    assert sorted([two for _, two in found.pairs] + list(found.only_b)) == list(range(len(right)))
    assert all(left[one][0] == right[two][0] for one, two in found.pairs)
    for name in "ab":  # a changed call is never one gone and one new
        assert not ({left[n][0] for n in found.only_a} & {right[n][0] for n in found.only_b} & {name})
