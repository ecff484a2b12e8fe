"""Seeded faults are found as what they are, where they are; what is no fault is none."""

from pathlib import Path

import pytest

import fault_kit
import fault_table

PAGE = Path(__file__).parents[3] / "docs" / "replay-faults.md"
LEAST = 0.95


@pytest.fixture(scope="module")
def found():
    return fault_kit.driven()


@pytest.fixture(scope="module")
def behind():
    return fault_kit.walled().told


def missed(told):
    """Return what was not said as the table has it."""
    faults = {fault.name: fault for fault in fault_kit.everything()}
    return [
        f"{name}: must be {faults[name].type} at {faults[name].where} {faults[name].path}, is {one}"
        for name, one in told.items()
        if not one.fits(faults[name])
    ]


def test_there_are_enough_faults_and_enough_of_them_are_real_replays():
    faults = fault_table.table().faults

    assert len(faults) >= 60
    assert sum(fault.real for fault in faults) >= 25
    assert len({fault.name for fault in faults}) == len(faults)


def test_nearly_every_fault_is_found_with_its_type_and_its_first_step(found, behind):
    right, step = fault_kit.score(found, behind)

    count = len(fault_table.table().faults)
    assert right >= LEAST * count, missed({**found, **behind})
    assert step >= LEAST * count, missed({**found, **behind})


def test_what_changes_nothing_is_identical(found, behind):
    harmless = {fault.name for fault in fault_table.table().harmless}

    assert missed({name: one for name, one in {**found, **behind}.items() if name in harmless}) == []


def test_behind_the_walls_the_same_is_said_as_without(found, behind):
    assert {name: one for name, one in behind.items() if name in found and one != found[name]} == {}


def test_the_page_says_what_is_found(found, behind):
    """Written by `python tests/fault_kit.py > docs/replay-faults.md`."""
    assert PAGE.read_text("utf-8") == fault_kit.page()


def test_no_model_is_asked_and_no_tool_runs_in_any_of_them():
    walled = fault_kit.walled()

    assert (walled.models, walled.bodies) == (0, [])
