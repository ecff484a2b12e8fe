from hypothesis import given
from hypothesis import strategies as st

from page_kit import parsed
from runreel.pages.budget import Budget
from runreel.pages.markup import said


def test_a_value_within_the_limits_is_whole() -> None:
    budget = Budget("show")

    assert parsed(budget.block("one\ntwo")).text == "\none\ntwo"
    assert budget.cut == 0


def test_a_long_value_is_cut_and_it_is_said_where_the_rest_is() -> None:
    budget = Budget("runreel show")

    text = parsed(budget.block("x" * 50_000)).text

    assert text.endswith("Cut here: 30,000 of 50,000 characters are not in this page. Whole: runreel show")
    assert text.count("x") == 20_000
    assert budget.cut == 1


def test_a_full_page_still_shows_how_a_value_begins() -> None:
    budget = Budget("show", left=0)

    assert budget.shown("x" * 1000) == ("x" * 160, 840)


@given(st.lists(st.text(max_size=400).map(lambda text: text * 200), max_size=30))
def test_no_texts_are_worth_more_than_the_budget_and_the_least_of_each(texts: list[str]) -> None:
    budget = Budget("show", left=30_000)

    size = sum(len(said(budget.shown(text)[0], "pre").encode()) for text in texts)

    # A control in an element of its own is the longest that a character can get.
    least = 160 * 40
    assert size <= 30_000 * 6 + len(texts) * (least + 30)
