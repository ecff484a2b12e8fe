"""The page on agents has every row that `make agents` runs; each replayed, or says what its record lacks."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def agents():
    spec = importlib.util.spec_from_file_location("scripts_agents", ROOT / "scripts" / "agents_table.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "scripts"))  # as for a script
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    yield module
    del sys.modules[spec.name]


def rows(agents):
    table = agents.PAGE.read_text(encoding="utf-8").partition(agents.BEGIN)[2].partition(agents.END)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_every_row_of_the_page_is_a_case_and_every_case_is_a_row(agents):
    assert [row[:2] for row in rows(agents)] == [[one.agent, one.instrumentation] for one in agents.CASES]


def test_each_row_replayed_with_nothing_live_or_names_what_its_record_lacks(agents):
    for agent, instrumentation, recorded, replayed, divergences, live, reason in rows(agents):
        assert (divergences, live) == ("0", "0"), f"{agent}, {instrumentation}"
        assert replayed == "same" or (replayed, recorded != "full", len(reason) > 1) == ("refused", True, True)


def test_what_a_case_names_is_there(agents):
    for case in agents.CASES:
        assert (agents.AGENTS / case.script).is_file()
        assert (agents.AGENTS / "requirements" / f"{case.packages}.txt").is_file()


def test_the_rows_of_cases_that_did_not_run_stay(agents, tmp_path, monkeypatch):
    before = rows(agents)
    page = tmp_path / "agents.md"
    page.write_bytes(agents.PAGE.read_bytes())
    monkeypatch.setattr(agents, "PAGE", page)

    agents.write([agents.Row(agents.CASES[1], "none", "refused", reason="a | b")])

    after = rows(agents)
    assert (after[0], after[2:]) == (before[0], before[2:])
    assert after[1][2:4] == ["none", "refused"]
