import re

from hypothesis import given
from hypothesis import strategies as st

from page_kit import parsed
from runreel.pages.budget import Budget
from runreel.pages.changes import changes, shared
from runreel.replay.compare import Change


def shown(*found: Change) -> str:
    return changes(found, Budget("runreel diff a b --json"))


def test_texts_are_compared_by_word_on_either_side() -> None:
    page = shown(Change("/x", "changed", "Be brief now", "Be kind now"))

    assert re.findall("<del>(.*?)</del>", page) == ["brief"]
    assert re.findall("<ins>(.*?)</ins>", page) == ["kind"]
    left, right = page.split('<pre class="new">')
    assert "kind" not in left
    assert "brief" not in right


def test_long_texts_are_cut_down_to_where_they_differ() -> None:
    page = shown(Change("", "changed", "a" * 9_000 + "x" + "b" * 9_000, "a" * 9_000 + "y" + "b" * 9_000))

    assert len(page) < 4_000
    assert page.count("the same 8,600 characters") == 4
    assert "cut" not in parsed(page).values("class")


def test_texts_that_differ_in_more_than_is_shown_say_so() -> None:
    text = parsed(shown(Change("", "changed", "x" * 20_000, "y" * 30_000))).text

    assert "8,000 of 20,000 characters are not in this page" in text
    assert "18,000 of 30,000 characters are not in this page" in text


def test_what_only_one_run_has_stands_on_its_side() -> None:
    assert "not in the first run" in shown(Change("/a", "added", None, 1))
    assert "not in the second run" in shown(Change("/a", "removed", 1))
    page = shown(Change("/a", "changed", None, {"k": [1]}))
    assert "null" in page
    assert "not in the" not in page


def test_more_changes_than_fit_are_counted() -> None:
    text = parsed(shown(*(Change(f"/{n}", "changed", 1, 2) for n in range(205)))).text

    assert "Cut here: 5 changes more. All: runreel diff a b --json" in text


@given(st.text(), st.text(), st.text())
def test_the_common_start_is_found(start: str, one: str, other: str) -> None:
    count = shared(start + one, start + other)

    assert count >= len(start)
    assert (start + one)[:count] == (start + other)[:count]
    assert (start + one)[count : count + 1] != (start + other)[count : count + 1] or start + one == start + other
