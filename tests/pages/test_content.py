from dataclasses import replace

import pytest

from page_kit import parsed
from run_kit import called, run, said, step, told
from runreel.canonical import freeze
from runreel.pages.budget import Budget
from runreel.pages.content import Contents, calls_in
from runreel.values import Ref


def contents() -> Contents:
    return Contents(Budget("show"))


def test_messages_are_shown_part_by_part() -> None:
    got = [called(("c1", "look", {"q": 1})), told("c1", "found"), said("user", "Hi"), {"role": "x", "parts": "odd"}]
    one = run(step("llm", "m", got, None))

    text = parsed(contents().step(one, one.steps[0], "input", "here")).text

    for piece in ("0 assistant", "calls look, id c1", '"q": 1', "finish reason tool_call", "result of c1", "found"):
        assert piece in text
    assert '"parts": "odd"' in text


def test_a_history_that_goes_on_stands_once_in_the_page() -> None:
    first = [said("system", "Be brief. " * 50), said("user", "Hi")]
    second = [*first, said("assistant", "Hello"), said("user", "Bye")]
    third = [*second, said("assistant", "Bye")]
    one = run(*(step("llm", "m", given, [said("assistant", str(n))]) for n, given in enumerate((first, second, third))))
    shown = contents()

    pages = [shown.step(one, made, "input", f"step {made.seq}, input") for made in one.steps]

    assert "Be brief" in pages[0]
    assert "Be brief" not in pages[1] + pages[2]
    assert "messages 0 to 1, as in step 0, input" in parsed(pages[1]).text
    assert "messages 0 to 3, as in step 1, input" in parsed(pages[2]).text
    repeated = [value for page in pages[1:] for value in parsed(page).values("data-of")]
    assert repeated == [parsed(pages[0]).values("id")[0], parsed(pages[1]).values("id")[0]]


def test_what_stands_for_messages_counts_as_many() -> None:
    first = [said("user", str(n)) for n in range(5)]
    one = run(*(step("llm", "m", given, None) for given in (first, [*first[:3], said("user", "other")])))
    shown = contents()
    shown.step(one, one.steps[0], "input", "step 0")

    found = parsed(shown.step(one, one.steps[1], "input", "step 1"))

    assert found.values("data-n") == ["3", "1"]
    assert found.values("data-first") == ["3"]


def test_the_same_value_stands_once() -> None:
    one = run(step("tool", "a", "x" * 500, None), step("tool", "b", "x" * 500, None))
    shown = contents()
    shown.step(one, one.steps[0], "input", "step 0, input")

    again = shown.step(one, one.steps[1], "input", "step 1, input")

    assert "xxx" not in again
    assert "the same as in step 0, input" in parsed(again).text


def test_tools_on_offer_stand_once() -> None:
    shown = contents()
    tools = freeze([{"name": "look"}])

    assert "look" in shown.shared(tools, "step 1, tools")
    assert "the same as in step 1, tools" in parsed(shown.shared(tools, "step 2, tools")).text


@pytest.mark.parametrize(
    ("ref", "word"),
    [
        (Ref(), "not recorded"),
        (Ref(state="withheld", reason="too long"), "withheld (too long)"),
        (Ref(state="external"), "kept elsewhere by the sender"),
    ],
)
def test_content_that_is_not_there_is_told_with_its_reason(ref: Ref, word: str) -> None:
    one = run(step("tool", "a"))

    assert parsed(contents().step(one, replace(one.steps[0], input=ref), "input", "x")).text == word


def test_what_the_sender_cut_is_shown_and_said() -> None:
    one = run(step("tool", "a", "beginn"))
    cut = replace(one.steps[0].input, state="cut", reason="attribute length limit")

    text = parsed(contents().step(one, replace(one.steps[0], input=cut), "input", "x")).text

    assert "cut by the sender: attribute length limit" in text
    assert "beginn" in text


def test_long_values_are_folded_and_short_ones_are_not() -> None:
    assert "<details>" not in contents().value("x" * 1_500)
    assert contents().value("x" * 1_501).startswith("<details><summary>")


def test_a_step_without_other_fields_shows_none() -> None:
    assert contents().fields({}) is None
    assert "fields" in (contents().fields({"a": 1}) or "")


def test_the_calls_of_an_answer_are_named() -> None:
    assert list(calls_in(freeze([called(("1", "a", {}), ("2", "b", {})), said("user", "x"), "odd"]))) == ["a", "b"]
    assert list(calls_in("text")) == []
