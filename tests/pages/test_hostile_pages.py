"""Whatever a run says, in whatever field: nothing of it becomes markup, and nothing of it is hidden."""

import io

import pytest
from rich.console import Console

from page_kit import ATTACKS, MARK, attacked, foreign, parsed
from run_kit import run, step
from runreel.cli import show
from runreel.pages.comparison import comparison, replay_alone
from runreel.pages.overview import Row, overview
from runreel.pages.report import report
from runreel.replay import render
from runreel.replay.diff import diff
from runreel.text import printable
from runreel.values import Run

LIMIT = 2_000_000


def replayed(attack: str) -> dict:
    divergence = {
        "type": attack,
        "fails": True,
        "step": 1,
        "kind": "tool",
        "name": attack,
        "path": attack,
        "was": attack,
        "now": attack,
        "reason": attack,
        "advice": attack,
    }
    return {
        "run_id": attack,
        "verdict": "diverged",
        "mode": "frozen",
        "live_calls": 0,
        "divergences": [divergence],
        "masks": [{"mask": attack, "hid": 1}],
        "notes": [attack],
        "isolation": attack,
    }


def against(a: Run, b: Run, attack: str) -> str:
    return comparison(diff(a, b, [attack]), a, b, replayed(attack))


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_a_run_says_becomes_markup(attack: str) -> None:
    one, plain = attacked(attack), attacked("harmless")
    pages = [
        report(one),
        against(one, one, attack),
        against(one, plain, attack),
        against(plain, one, attack),
        replay_alone(replayed(attack), attack),
    ]

    for page in pages:
        found = parsed(page)
        assert foreign(found) == []
        assert found.unclosed == []
        assert found.values("href") != [] or "steps side by side" in page
        assert found.text.count(MARK) > 5


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_character_is_shown_as_what_it_is(attack: str) -> None:
    found = parsed(report(attacked(attack)))

    assert printable(attack) in found.text
    assert not {char for char in found.text if char in "\x00\x1b\x07\x9b\r\u202e\u2066\u2069\u2028"}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_terminal_is_given_no_escape_either(attack: str) -> None:
    one = attacked(attack)
    console = Console(file=io.StringIO(), width=10_000, force_terminal=False)

    show.tree(console, one, payloads=True)
    for line in render.lines(diff(one, attacked("harmless")), full=True):
        console.print(line)

    said = console.file.getvalue()
    assert said.count(MARK) > 5
    assert printable(said) == said


def test_overrides_of_direction_are_shown_and_kept_apart() -> None:
    page = report(run(step("tool", "x", None, "a\u202eb")))

    assert 'a<bdi class="control">\\u202e</bdi>b' in page


def test_a_single_line_of_10_mb_is_cut_with_a_word_and_the_command_that_shows_it() -> None:
    line, other = "x" * 10_000_000, "<" * 10_000_000
    a, b = (run(step("tool", "t", {"q": text}, text), step("llm", "m", text, text)) for text in (line, other))

    for page in (report(a), report(b), comparison(diff(a, b), a, b)):
        assert len(page.encode()) < LIMIT
        found = parsed(page)
        assert foreign(found) == []
        assert "characters are not in this page" in found.text
    assert "runreel runs show run-1 --json --payloads" in parsed(report(a)).text
    assert "runreel diff run-1 run-1 --json" in parsed(comparison(diff(a, b), a, b)).text


def test_a_line_in_which_everything_is_escaped_costs_the_page_no_more() -> None:
    steps = [step("tool", f"t{n}", {"q": f"{n}" + "\x1b\"&<'" * 40_000}, f"{n}" + "\x1b" * 200_000) for n in range(40)]

    assert len(report(run(*steps)).encode()) < LIMIT


def test_a_long_line_in_every_field_names_ids_and_keys_too_keeps_pages_small() -> None:
    a, b = (attacked(letter * 500_000) for letter in "xy")

    for page in (
        report(a),
        comparison(diff(a, b), a, b),
        overview([Row("x" * 500_000, "diverged", "<" * 500_000)], "y"),
    ):
        assert len(page.encode()) < LIMIT
        assert foreign(parsed(page)) == []


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_of_an_attack_becomes_markup_in_the_list_of_many_replays(attack: str) -> None:
    found = parsed(overview([Row(attack, "diverged", attack, "a.html"), Row(attack, attack, attack)], attack, [attack]))

    assert foreign(found) == [("a", "href", "a.html")]  # ours
    assert MARK in found.text
