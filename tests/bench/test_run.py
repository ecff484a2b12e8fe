"""`make bench`: which rows there are, what is measured when one asks for some, and how it ends."""

import json
from pathlib import Path

import harness
import pytest
import run
from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
ROWS = {row.name: row for group in run.GROUPS for row in run.declared(group)}


def _document(name: str, value: float | None) -> run.Document:
    return ROWS[name].row(value, "a detail").document()


def test_every_module_of_rows_is_a_group_and_no_two_rows_share_a_name() -> None:
    modules = {file.stem for file in (ROOT / "bench" / "rows").glob("*.py")} - {"__init__"}

    assert set(run.GROUPS) == modules
    assert len(ROWS) == sum(len(run.declared(group)) for group in run.GROUPS)
    assert not set(ROWS) & set(run.GROUPS) - {"pipeline"}


def test_without_a_wish_everything_is_measured() -> None:
    assert run.chosen([]) == {group: {row.name for row in run.declared(group)} for group in run.GROUPS}


def test_a_group_or_a_row_can_be_asked_for() -> None:
    assert run.chosen(["stored"]) == {"stored": {"stored_20_steps", "stored_80_steps"}}
    assert run.chosen(["stored_80_steps", "start_sandboxed"]) == {
        "stored": {"stored_80_steps"},
        "start": {"start_sandboxed"},
    }


def test_an_unknown_name_is_refused_with_the_names_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run.main(["--only", "stroed"])

    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert "stroed" in said
    assert "stored_20_steps" in said


def test_a_row_is_measured_in_a_process_of_its_own_and_written(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "results.json"

    status = run.main(["--only", "start_sandboxed", "--quick", "--output", str(output)])

    (row,) = json.loads(output.read_text(encoding="utf-8"))
    printed = capfd.readouterr().out
    assert status == 0
    assert set(row) == {"name", "value", "bar", "ok", "unit", "detail"}
    assert row["name"] == "start_sandboxed"
    assert row["value"] > 0
    assert "start_sandboxed" in printed
    assert "<= 3" in printed


def test_rows_that_were_not_measured_again_are_kept(tmp_path: Path) -> None:
    before = [_document("stored_20_steps", 7.0), _document("replay_40_steps", 2.0), {"name": "gone", "value": 1.0}]
    now = [_document("replay_40_steps", 1.5)]

    kept = run.merged(before, now)

    assert [(row["name"], row["value"]) for row in kept] == [("stored_20_steps", 7.0), ("replay_40_steps", 1.5)]


def test_what_a_group_says_reaches_whoever_waits_and_a_row_that_is_missing_has_failed(tmp_path: Path) -> None:
    script = tmp_path / "one.py"
    row = _document("stored_20_steps", 8.0)
    script.write_text(
        "import os, sys\n"
        "with os.fdopen(int(sys.argv[2]), 'w') as out:\n"
        f"    out.write({json.dumps({'say': 'half way'})!r} + chr(10))\n"
        f"    out.write({json.dumps({'row': row})!r} + chr(10))\n"
        "sys.exit(3)\n",
        encoding="utf-8",
    )
    said: list[str] = []
    wanted = {"stored_20_steps", "stored_80_steps"}

    rows = list(run.measure("stored", wanted, quick=True, say=said.append, script=script))

    assert said == ["half way"]
    assert rows[0] == row
    assert (rows[1]["name"], rows[1]["value"], rows[1]["ok"]) == ("stored_80_steps", None, False)
    assert "status 3" in rows[1]["detail"]


def test_a_missed_bar_is_said_and_is_no_error(tmp_path: Path) -> None:
    console = Console(record=True, width=120)

    status = run.report(console, [_document("stored_20_steps", 2.0), _document("start_sandboxed", 2.0)], tmp_path)

    text = console.export_text()
    assert status == 0
    assert "MISSED: stored_20_steps" in text
    assert "1 of 2 bars met" in text


def test_a_row_that_failed_to_run_is_an_error(tmp_path: Path) -> None:
    console = Console(record=True, width=120)

    status = run.report(console, [_document("stored_20_steps", None)], tmp_path)

    assert status == 1
    assert "FAILED to run: stored_20_steps" in console.export_text()


def test_a_row_that_was_skipped_is_neither_an_error_nor_a_missed_bar(tmp_path: Path) -> None:
    console = Console(record=True, width=120)
    skipped = ROWS["page_ready_40_steps"].row(None, f"{harness.SKIPPED}no chromium").document()

    status = run.report(console, [skipped, _document("start_sandboxed", 2.0)], tmp_path)

    text = console.export_text()
    assert status == 0
    assert "1 of 1 bars met" in text
    assert "skipped: page_ready_40_steps" in text
    assert "MISSED" not in text
    assert "FAILED" not in text


def test_progress_is_a_plain_line_for_each_group_where_there_is_no_terminal() -> None:
    console = Console(record=True, width=120, force_terminal=False)

    with run.Progress(console) as progress:
        progress.group(2, 8, "stored")("20 steps")

    (line,) = console.export_text().splitlines()
    assert "[2/8] stored" in line
    assert "20 steps" not in line


def test_progress_changes_in_place_on_a_terminal() -> None:
    console = Console(record=True, width=120, force_terminal=True)

    with run.Progress(console) as progress:
        progress.group(2, 8, "stored")("20 steps")

    assert "[2/8] stored: 20 steps" in console.export_text()


def test_the_committed_results_hold_every_row_in_order() -> None:
    rows = harness.read(ROOT / "bench" / "results.json")

    assert [row["name"] for row in rows] == list(ROWS)
    for row in rows:
        declared = ROWS[row["name"]]
        assert (row["bar"], row["unit"]) == (str(declared.bar), declared.unit)
        assert row["ok"] == (row["value"] is not None and declared.bar.met(row["value"]))
        assert row["detail"]
