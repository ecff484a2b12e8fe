"""The Grafana dashboard: every query runs on the engine, over real runs, and Grafana's user may ask it."""

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runreel.cli.importing import import_paths
from runreel.components import open_database, open_runs
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.connection import new_token
from runreel.storage import RunQuery

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
dashboard = importlib.import_module("dashboard")
picture = importlib.import_module("dashboard_picture")

FILE = ROOT / "deploy/grafana/dashboards/runreel.json"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouse]:
    home = tmp_path_factory.mktemp("home")
    captures = ROOT / "tests/data/captures"
    import_paths(home, [captures / "openinference-openai", captures / "langgraph"], say=lambda _: None)
    runs = open_runs(home)
    runs.runs(RunQuery(limit=0))
    runs.close()
    opened = open_database(home)
    price: dict[str, list[Any]] = {
        "model": ["gpt-4o-mini-2024-07-18"],
        "valid_from": [0],
        "input_per_million": [1.0],
        "output_per_million": [2.0],
        "currency": ["USD"],
    }
    opened._engine.insert("prices", price, new_token())
    opened.tell_ledger("one", {"default": {"acknowledged_spans": 7, "stored_spans": 7}})
    yield opened
    opened.shutdown()


def rows(database: ClickHouse, title: str) -> list[tuple[Any, ...]]:
    (panel,) = [panel for panel in dashboard.PANELS if panel.title == title]
    return [tuple(row) for row in database._engine.query(dashboard.query(panel, "0", "4000000000", "3600"))]


def test_the_file_is_what_the_script_writes() -> None:
    written = json.loads(FILE.read_text(encoding="utf-8"))

    assert written == dashboard.document(), "run: python scripts/dashboard.py > deploy/grafana/dashboards/runreel.json"


@pytest.mark.parametrize("title", [panel.title for panel in dashboard.PANELS])
def test_every_panel_has_something_to_show(database: ClickHouse, title: str) -> None:
    assert rows(database, title)


def test_what_the_panels_show_agrees(database: ClickHouse) -> None:
    ((runs,),) = rows(database, "Runs")
    ((tokens,),) = rows(database, "Tokens")
    by_outcome = sum(count for _, _, count in rows(database, "Runs by outcome"))
    by_model = sum(count for _, _, count in rows(database, "Tokens by model"))
    costs = rows(database, "Cost by model")

    assert runs == by_outcome > 5
    assert tokens == by_model > 0
    (priced,) = [row for row in costs if row[1] == "USD"]
    assert priced[2] == pytest.approx((priced[4] + 2 * priced[5]) / 1e6, abs=1e-4)
    assert rows(database, "Ledger")[0][2:4] == (7, 7)


def test_grafanas_user_may_read_every_table_that_is_asked_for_and_no_payload() -> None:
    asked = {table for panel in dashboard.PANELS for table in re.findall(r"FROM (runreel\.\w+)", panel.sql)}
    granted = set(re.findall(r"GRANT SELECT ON (runreel\.\w+)", (ROOT / "deploy/clickhouse/users.xml").read_text()))

    assert asked <= granted
    assert not granted & {"runreel.spans", "runreel.parts", "runreel.payloads", "runreel.log_events"}


def test_panels_do_not_overlap() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in dashboard.PANELS:
        for x in range(panel.x, panel.x + panel.width):
            for y in range(panel.y, panel.y + panel.height):
                assert x < 24
                assert taken.setdefault((x, y), panel.title) == panel.title


def test_the_picture_is_drawn_from_the_same_queries(database: ClickHouse) -> None:
    drawn = picture.draw(picture.read(database))

    for panel in dashboard.PANELS:
        assert f">{panel.title}</text>" in drawn
    assert f">{rows(database, 'Runs')[0][0]}</text>" in drawn
