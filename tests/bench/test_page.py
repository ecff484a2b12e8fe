"""The page on performance has a table of the results, and says of every row what it compares."""

from pathlib import Path

import page
import pytest
import run

ROOT = Path(__file__).resolve().parents[2]
ROW = run.declared("start")[0]


def test_a_table_is_put_between_its_marks_and_replaces_the_one_before() -> None:
    text = f"# Title\n\n{page.BEGIN}\nold\n{page.END}\n\nAfter.\n"

    new = page.written(text, [ROW.row(2.123, "41 rounds").document()])

    assert new.startswith("# Title\n")
    assert new.endswith(f"{page.END}\n\nAfter.\n")
    assert "old" not in new
    assert f"| `start_sandboxed` | 2.12 | <= 3 | yes | {ROW.unit} | 41 rounds |" in new
    assert page.written(new, [ROW.row(2.123, "41 rounds").document()]) == new


def test_a_missed_bar_and_a_failed_row_are_plain_to_see() -> None:
    rows = [ROW.row(7.0, "slow"), ROW.row(None, "broke"), ROW.row(None, "skipped: none there")]

    text = page.table([row.document() for row in rows])

    assert "| 7 | <= 3 | **no** |" in text
    assert "| failed | <= 3 | **no** |" in text
    assert "| skipped | <= 3 |  |" in text


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no lines"):
        page.written("# Title\n", [])


def test_the_page_names_every_row_with_its_bar() -> None:
    text = page.PAGE.read_text(encoding="utf-8")

    missing = [
        row.name
        for group in run.GROUPS
        for row in run.declared(group)
        if not any(f"| `{row.name}` |" in line and f"| {row.bar} |" in line for line in text.splitlines())
    ]
    assert missing == []
