import pytest

from run_kit import called, run, said, step, told
from runreel.runs.load import StoreRuns
from runreel.runs.looking import holds
from runreel.storage import RunQuery
from store_kit import Watched, a_run

OTHER = "1bf7651916cd43dd8448eb211c80319d"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("OSLO", True),
        ("straße", True),
        ("STRASSE", True),
        ("lookup", True),
        ("city", True),
        ("boom", True),
        ("Timeout", True),
        ("run-1", True),
        ("", True),
        ("7", False),
        ("nobody", False),
    ],
)
def test_a_text_is_found_wherever_the_run_holds_it_whatever_the_case(text: str, found: bool) -> None:
    one = run(
        step("llm", "m", [said("user", "Oslo, Straße 7".replace("7", ""))], [called(("c1", "lookup", {"city": "x"}))]),
        step("tool", "lookup", {"n": 7}, error=("Timeout", "boom", "")),
        step("llm", "m", [told("c1", "y")]),
    )

    assert holds(one, text) is found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (RunQuery(), 2),
        (RunQuery(user="u-1"), 1),
        (RunQuery(user="u"), 0),
        (RunQuery(tool="search"), 2),
        (RunQuery(tool="SEARCH"), 0),
        (RunQuery(verdict="full"), 2),
        (RunQuery(verdict="partial"), 0),
        (RunQuery(text="the LONG answer"), 2),
        (RunQuery(text="a heavy document"), 2),
        (RunQuery(text="nobody said this"), 0),
        (RunQuery(text="", user="u-1"), 1),
        (RunQuery(outcome="error", text="answer"), 0),
    ],
)
def test_lists_are_narrowed_by_user_tool_verdict_and_text(
    runs: StoreRuns, memory: Watched, query: RunQuery, found: int
) -> None:
    memory.export(a_run(**{"user.id": "u-1"}))
    memory.export(a_run(OTHER, at=100))

    assert len(runs.runs(query)) == found


def test_a_run_that_cannot_be_read_holds_no_text(runs: StoreRuns, memory: Watched) -> None:
    memory.export(a_run())
    memory.export(a_run(OTHER, at=100))
    memory.parts = lambda *_: {}  # type: ignore[method-assign]

    assert runs.runs(RunQuery(text="answer")) == []
    assert len(runs.runs(RunQuery())) == 2
