"""What a row is, and that two things are measured in turn."""

import json
from pathlib import Path

import harness
import pytest
from harness import Bar, Declared, side_by_side

AT_LEAST = Declared("fast", Bar(">=", 25), "times the speed")
AT_MOST = Declared("slow", Bar("<=", 3), "times the time")


@pytest.mark.parametrize(
    ("declared", "value", "ok"),
    [(AT_LEAST, 25.0, True), (AT_LEAST, 24.9, False), (AT_MOST, 3.0, True), (AT_MOST, 3.01, False)],
)
def test_a_bar_is_met_at_its_limit_and_on_its_own_side(declared: Declared, value: float, ok: bool) -> None:
    assert declared.row(value).ok is ok


def test_a_row_without_a_value_is_never_ok() -> None:
    assert AT_MOST.row(None, "failed").document() == {
        "name": "slow",
        "value": None,
        "bar": "<= 3",
        "ok": False,
        "unit": "times the time",
        "detail": "failed",
    }


def test_a_document_has_the_six_fields_and_four_digits() -> None:
    document = AT_LEAST.row(31.415926, "two figures").document()

    assert document == {
        "name": "fast",
        "value": 31.42,
        "bar": ">= 25",
        "ok": True,
        "unit": "times the speed",
        "detail": "two figures",
    }
    assert json.loads(json.dumps(document)) == document


def test_works_are_done_in_turn_and_cost_is_counted_for_each_unit_of_work() -> None:
    now = [0.0]
    order: list[str] = []

    def work(name: str, seconds: float, amount: float | None):
        def do() -> float | None:
            order.append(name)
            now[0] += seconds
            return amount

        return do

    sides = side_by_side({"one": work("one", 2.0, 4.0), "other": work("other", 3.0, None)}, 3, clock=lambda: now[0])

    assert order == ["one", "other"] * 3
    assert sides["one"].costs == (0.5, 0.5, 0.5)
    assert sides["other"].median == 3.0


def test_the_median_of_the_rounds_counts_and_their_spread_is_said() -> None:
    side = harness.Side((1.0, 9.0, 2.0))

    assert side.median == 2.0
    assert side.spread == "3 rounds, spread 400%"
    assert harness.Side((1.0,)).spread == "one round"


def test_who_waits_is_told_each_round() -> None:
    said: list[str] = []

    side_by_side({"one": lambda: None, "other": lambda: None}, 2, say=said.append)

    assert said == ["one, round 1 of 2", "other, round 1 of 2", "one, round 2 of 2", "other, round 2 of 2"]


def test_a_rate_is_work_a_second() -> None:
    assert harness.rate(harness.Side((5e-7,))) == "2 MB/s"
    assert harness.rate(harness.Side((0.002,)), "spans/s", per=1) == "500 spans/s"


def test_results_are_a_list_of_rows_one_a_line(tmp_path: Path) -> None:
    rows = [AT_LEAST.row(30.0).document(), AT_MOST.row(None).document()]

    harness.write(tmp_path / "results.json", rows)

    assert harness.read(tmp_path / "results.json") == rows
    assert len((tmp_path / "results.json").read_text(encoding="utf-8").splitlines()) == 4


def test_there_are_no_results_before_the_first_run(tmp_path: Path) -> None:
    assert harness.read(tmp_path / "results.json") == []
