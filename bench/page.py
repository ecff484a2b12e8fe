"""Writes the table of docs/performance.md from bench/results.json: `python bench/page.py`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import harness

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"
BEGIN, END = "<!-- begin of the table: bench/page.py writes it -->", "<!-- end of the table -->"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the results as a Markdown table."""
    lines = ["| row | value | bar | met | unit | measured |", "|---|---|---|---|---|---|"]
    for row in rows:
        met = "yes" if row["ok"] else "" if harness.was_skipped(row) else "**no**"
        lines.append(
            f"| `{row['name']}` | {harness.shown(row)} | {row['bar']} | {met} | {row['unit']} | {row['detail']} |"
        )
    return "\n".join(lines)


def written(page: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a page with its table replaced. Raises ValueError where it has no place for one."""
    before, found, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"the page has no lines {BEGIN!r} and {END!r} to write the table between")
    return f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{after}"


def main() -> None:
    """Rewrite the page."""
    rows = harness.read(HERE / "results.json")
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
