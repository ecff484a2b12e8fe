"""Replays on the terminal."""

import io

import pytest
from rich.console import Console

from runreel.cli import replays
from runreel.values import ReplayResult, RunSummary

DIVERGED = ReplayResult(
    "frozen", "diverged", 3, {"type": "input_mismatch", "step": 4, "kind": "tool", "name": "search", "path": "/q"}
)


def line(result: ReplayResult | None, name: str = "run-1.replay-7f3a", width: int = 200) -> RunSummary:
    return RunSummary(
        "default", name, (), "desk", 1_780_000_000 * 10**9, 0, "ok", False, 1, 1, 0, "full", None, "run-1",
        replay_result=result,
    )  # fmt: skip


def printed(show, *summaries: RunSummary, width: int = 200) -> str:
    out = io.StringIO()
    show(Console(file=out, width=width, highlight=False), summaries)
    return out.getvalue()


def test_each_replay_says_when_what_it_came_to_of_what_run_and_where_it_first_diverged() -> None:
    assert printed(replays.table, line(DIVERGED)) == (
        "2026-05-28 20:26:40  frozen: diverged (3)  run-1.replay-7f3a  desk\n"
        "  of run-1\n"
        "  first divergence: input_mismatch, at step 4, tool search, field /q\n"
    )


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (ReplayResult("frozen", "same"), "frozen: identical  "),
        (ReplayResult("frozen", "not_comparable"), "frozen: not comparable  "),
        (ReplayResult("frozen", "later\x1b[31m"), "frozen: later"),
        (None, "not judged  "),
    ],
)
def test_a_verdict_is_said_in_words(result: ReplayResult | None, words: str) -> None:
    text = printed(replays.table, line(result))

    assert words in text
    assert "first divergence" not in text
    assert "\x1b" not in text


def test_where_there_are_none_it_is_said_how_to_make_one() -> None:
    assert printed(replays.table) == "no such replay here: `runreel replay RUN` stores one\n"
    assert printed(replays.below) == ""


def test_the_replays_of_a_run_stand_below_it() -> None:
    text = printed(replays.below, line(DIVERGED), line(ReplayResult("frozen", "same"), "run-1.replay-8"))

    assert text.splitlines() == [
        "replays",
        (
            "  2026-05-28 20:26:40  frozen: diverged (3)  run-1.replay-7f3a"
            "  input_mismatch, at step 4, tool search, field /q"
        ),
        "  2026-05-28 20:26:40  frozen: identical  run-1.replay-8",
    ]


def test_what_came_from_outside_is_shown_as_text() -> None:
    hostile = ReplayResult("frozen", "diverged", 1, {"type": "x\x1b[2J\n", "name": "a\nb", "path": "/" + "p" * 500})

    text = printed(replays.table, line(hostile), width=10_000)

    assert "\x1b" not in text
    assert len(text.splitlines()) == 3
    assert max(map(len, text.splitlines())) < 300
