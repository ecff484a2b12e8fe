"""Draw docs/pictures/dashboard.svg: the queries of the dashboard, run on the embedded engine over the captures of
tests/data. Grafana itself draws them otherwise: `python scripts/dashboard_picture.py`, from the root of a clone.
"""

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from dashboard import PANELS, Panel, query

from runreel.cli.importing import import_paths
from runreel.components import open_database, open_runs
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.connection import new_token
from runreel.processors.redact.keys import VARIABLE
from runreel.storage import RunQuery

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "dashboard.svg"
CAPTURES = ROOT / "tests" / "data" / "captures"
COLUMN, ROW, GAP = 50, 34, 6
MEANT = {"ok": "#66a182", "full": "#66a182", "partial": "#edae49", "none": "#d1495b", "error": "#d1495b"}
COLOURS = ("#3f72af", "#d1495b", "#66a182", "#edae49", "#8d6a9f", "#4d9de0", "#7a7a7a", "#c06c2b")
Rows = Sequence[Sequence[Any]]


def fill(home: Path) -> None:
    """Import the captures into a data folder, list their runs, and set prices that are no real ones."""
    import_paths(home, [CAPTURES], say=lambda _: None)
    runs = open_runs(home)
    runs.runs(RunQuery(limit=0))
    runs.close()
    database = open_database(home)
    prices = (("gpt-4o-mini", 0.15, 0.6), ("gpt-4o-mini-2024-07-18", 0.15, 0.6), ("claude-sonnet-4-5", 3.0, 15.0))
    columns: dict[str, list[Any]] = {
        "model": [name for name, _, _ in prices],
        "valid_from": [0] * len(prices),
        "input_per_million": [given for _, given, _ in prices],
        "output_per_million": [answered for _, _, answered in prices],
        "currency": ["USD"] * len(prices),
    }
    database._engine.insert("prices", columns, new_token())
    counts = {"acknowledged_spans": 1204, "stored_spans": 1198, "spooled_spans": 6, "rejected:span:invalid_id": 2}
    database.tell_ledger("collector-1-5f0c21aa", {"default": counts})
    database.shutdown()


def read(database: ClickHouse) -> dict[str, tuple[Rows, tuple[int, int]]]:
    """Return the rows of every panel, by its title, over the time that there are runs of."""
    ((first, last),) = database._engine.query("SELECT min(started_ns), max(started_ns) FROM runreel.run_list")
    start, end = first // 10**9, last // 10**9 + 1
    step = max(1, (end - start) // 24)
    found = {}
    for panel in PANELS:
        found[panel.title] = database._engine.query(query(panel, str(start), str(end), str(step))), (start, end)
    return found


def draw(found: Mapping[str, tuple[Rows, tuple[int, int]]]) -> str:
    """Return the dashboard as SVG."""
    height = max(panel.y + panel.height for panel in PANELS) * ROW
    body = "".join(_panel(panel, *found[panel.title]) for panel in PANELS)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {24 * COLUMN} {height}" font-family="sans-serif">\n'
        f'<rect width="100%" height="100%" fill="#f4f5f5"/>\n{body}</svg>\n'
    )


def _panel(panel: Panel, rows: Rows, between: tuple[int, int]) -> str:
    x, y = panel.x * COLUMN + GAP / 2, panel.y * ROW + GAP / 2
    width, height = panel.width * COLUMN - GAP, panel.height * ROW - GAP
    inner = {"stat": _stat, "timeseries": _series, "bars": _table, "table": _table}[panel.kind]
    return (
        f'<g transform="translate({x},{y})"><rect width="{width}" height="{height}" rx="3" fill="#fff" stroke="#ddd"/>'
        f'<text x="10" y="20" font-size="13" font-weight="600" fill="#333">{escape(panel.title)}</text>'
        f"{inner(panel, rows, width, height, between)}</g>\n"
    )


def _stat(panel: Panel, rows: Rows, width: float, height: float, _: tuple[int, int]) -> str:
    value = rows[0][0] if rows else "no data"
    shown = f"{value:.0%}" if panel.unit == "percentunit" and rows else f"{value:,}" if rows else str(value)
    return (
        f'<text x="{width / 2}" y="{height / 2 + 26}" font-size="34" text-anchor="middle" fill="#2a6f4e">{shown}</text>'
    )


def _series(panel: Panel, rows: Rows, width: float, height: float, between: tuple[int, int]) -> str:
    names = sorted({str(name) for _, name, _ in rows})
    times = sorted({at for at, _, _ in rows})
    totals = {at: sum(value for when, _, value in rows if when == at) for at in times}
    top = max(totals.values(), default=1) or 1
    left, bottom, right, high = 76.0, height - 30 - 16 * (1 + (len(names) - 1) // 3), width - 12, 34.0
    start, end = between
    bar = max(4.0, (right - left) / 26)
    parts = [f'<line x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}" stroke="#ccc"/>']
    parts.append(f'<text x="{left - 6}" y="{high + 8}" font-size="10" text-anchor="end" fill="#777">{top:,}</text>')
    for at in times:
        # A column begins where its step does, which may be before the first run.
        place = left + max(0.0, (right - left - bar) * (at.timestamp() - start) / max(1, end - start))
        base = bottom
        for number, name in enumerate(names):
            value = sum(count for when, of, count in rows if when == at and str(of) == name)
            size = (bottom - high) * value / top
            base -= size
            parts.append(
                f'<rect x="{place:.1f}" y="{base:.1f}" width="{bar:.1f}" height="{size:.1f}" '
                f'fill="{_colour(name, number)}"/>'
            )
    for number, name in enumerate(names):
        x, y = 12 + (number % 3) * (width - 20) / 3, bottom + 22 + 16 * (number // 3)
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{_colour(name, number)}"/>')
        parts.append(f'<text x="{x + 15}" y="{y}" font-size="11" fill="#555">{escape(name)}</text>')
    return "".join(parts)


def _table(panel: Panel, rows: Rows, width: float, height: float, _: tuple[int, int]) -> str:
    names = _columns(panel)
    lines = int((height - 34) // 19) - 1
    each = (width - 20) / len(names)
    parts = []
    for place, cells in enumerate([names, *rows[:lines]]):
        for number, cell in enumerate(cells):
            weight = ' font-weight="600"' if place == 0 else ""
            if names[number] in ("time", "told") and isinstance(cell, int):
                cell = f"{datetime.fromtimestamp(cell // 10**9, UTC):%m-%d %H:%M:%S}"
            text = "" if cell is None else str(cell)
            most = int(each / 6.3)
            text = text if len(text) <= most else text[: most - 1] + "…"
            parts.append(
                f'<text x="{10 + number * each:.0f}" y="{42 + 19 * place}" font-size="11"{weight} fill="#444">'
                f"{escape(text)}</text>"
            )
    return "".join(parts)


def _colour(name: str, number: int) -> str:
    return MEANT.get(name, COLOURS[number % len(COLOURS)])


def _columns(panel: Panel) -> list[str]:
    """Return the names that a query gives its columns: the last word of each, outside of parentheses."""
    listed = panel.sql[len("SELECT ") :].partition(" FROM ")[0]
    depth, word, names = 0, "", []
    for letter in listed + ",":
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            names.append(word.split()[-1])
            word = ""
        else:
            word += letter
    return names


def main(target: Path = PICTURE) -> None:
    """Draw it."""
    os.environ[VARIABLE] = "0" * 64
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        fill(home)
        database = open_database(home)
        target.write_text(draw(read(database)), encoding="utf-8")
        database.shutdown()
    print(f"{target.name} is drawn", file=sys.stderr)


if __name__ == "__main__":
    main()
