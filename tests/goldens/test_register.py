"""Goldens are registered with a store: embedded, through a collector, or not at all where there is none."""

import sys
from pathlib import Path

import pytest

from e2e_kit import runreel, serving
from golden_kit import EXPECT, project, receipt_reel
from runreel.goldens import folder as goldens
from runreel.goldens import register
from runreel.runs.places import Place
from runreel.storage import KeptGolden
from stored_bytes import found

TICKET = "https://tickets.example/1042?by=dana.fields@example.com"
PROMOTE = ("golden", "promote", "run.reel", "--name", "receipt", "--ticket", TICKET, "--expect", EXPECT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project(tmp_path)
    (tmp_path / "run.reel").write_bytes(receipt_reel())
    return tmp_path


def test_without_a_store_a_golden_is_as_good_and_that_is_said(folder: Path) -> None:
    home = folder / "home"

    said = runreel(home, *PROMOTE, cwd=folder).out

    assert f"not registered with a store: there is no store in {home} yet" in said
    assert goldens.read(folder / "goldens" / "receipt").ticket == TICKET
    assert not home.exists()
    assert "whether a store knows them was not asked" in runreel(home, "golden", "ls", cwd=folder).out
    assert runreel(home, "golden", "ls", "--json", cwd=folder).json()[0]["registered"] is None
    assert "no store can be asked" in runreel(home, "golden", "ls", "--registered", cwd=folder, code=1).err
    assert "not registered" in runreel(home, "golden", "register", cwd=folder, code=1).out


def test_an_embedded_store_is_told_and_nothing_unredacted_is_written(folder: Path) -> None:
    home = folder / "home"
    runreel(home, "runs", "import", "run.reel", cwd=folder)

    assert "registered with the store" in runreel(home, *PROMOTE, cwd=folder).out

    (listed,) = runreel(home, "golden", "ls", "--json", cwd=folder).json()
    (known,) = runreel(home, "golden", "ls", "--registered", "--json", cwd=folder).json()
    assert (listed["registered"], known["run_id"], known["name"]) == (True, listed["run_id"], "receipt")
    assert "<EMAIL_" in known["ticket"]
    assert not any(found(home, {"an address": b"dana.fields"}).values())
    # What is expected may be edited; another record is another golden, of which the store was told nothing.
    head = folder / "goldens" / "receipt" / "golden.json"
    head.write_text(head.read_text().replace(EXPECT, "outcome is ok"))
    assert runreel(home, "golden", "ls", "--json", cwd=folder).json()[0]["registered"] is True
    head.write_text(head.read_text().replace(register.of_folder(head.parent).run_id, "another"))
    assert "not registered: runreel golden register" in runreel(home, "golden", "ls", cwd=folder).out


def test_goldens_are_registered_through_a_collector_while_it_runs(folder: Path) -> None:
    home = folder / "home"
    runreel(home, *PROMOTE, cwd=folder)
    with serving(home):
        assert runreel(home, "golden", "ls", "--json", cwd=folder).json()[0]["registered"] is False
        assert "registered with the store\n  receipt" in runreel(home, "golden", "register", cwd=folder).out
        assert runreel(home, "golden", "ls", "--json", cwd=folder).json()[0]["registered"] is True
    (known,) = runreel(home, "golden", "ls", "--registered", "--json", cwd=folder).json()
    assert known["name"] == "receipt"
    assert "1 golden registered" in runreel(home, "golden", "ls", "--registered", cwd=folder).out
    assert not any(found(home, {"an address": b"dana.fields"}).values())


def test_a_missing_package_is_said_and_the_golden_is_as_good(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runreel(tmp_path / "home", "runs", "import", "run.reel", cwd=folder)
    monkeypatch.setitem(sys.modules, "chdb", None)
    monkeypatch.setitem(sys.modules, "clickhouse_connect", None)

    why = register.register([KeptGolden("run-1", "receipt", "", "a" * 64)], Place(tmp_path / "home"))

    assert "runreel[collector,embedded]" in why


def test_a_collector_that_is_gone_left_no_store_to_register_with(tmp_path: Path) -> None:
    (tmp_path / "collector.json").write_text("{}")

    assert register.known(Place(tmp_path)) == register.Known([], f"there is no store in {tmp_path} yet")
