from pathlib import Path

import pytest

from runreel.semconv.dialect import Dialect
from runreel.semconv.dialects import DIALECTS, OWN, STANDARD
from runreel.semconv.page import render

PAGE = Path(__file__).resolve().parents[3] / "docs" / "dialects.md"
FILES = Path(__file__).resolve().parents[3] / "src" / "runreel" / "semconv" / "dialects"


def test_the_record_lists_every_dialect_in_the_order_they_are_asked_and_marks_the_unverified() -> None:
    section = render().partition("## Dialects\n")[2].partition("\n## ")[0]
    listed = [line for line in section.splitlines() if line.startswith("| `")]

    assert len(listed) == len(DIALECTS) - 1
    for line, dialect in zip(listed, DIALECTS, strict=False):
        assert line.startswith(f"| `{dialect.name}` | {dialect.title} | ")
        assert ("unverified" in line) is not dialect.verified


def test_the_page_about_dialects_leads_to_the_list() -> None:
    assert "record.md#dialects" in PAGE.read_text(encoding="utf-8")


def test_every_file_has_its_tests_and_is_asked() -> None:
    files = {path.stem for path in FILES.glob("*.py")} - {"__init__"}
    tested = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}

    assert files - tested == set()
    assert {one.name for one in (OWN, *DIALECTS)} >= {"replay", "otel", "structural"}


def test_names_are_unique() -> None:
    names = [one.name for one in (OWN, *DIALECTS)]

    assert len(names) == len(set(names))


def test_the_conventions_and_structure_come_last() -> None:
    assert DIALECTS[-2] is STANDARD
    assert DIALECTS[-1].name == "structural"


@pytest.mark.parametrize("dialect", [one for one in DIALECTS if one.switches], ids=lambda one: one.name)
def test_a_switch_says_what_to_do(dialect: Dialect) -> None:
    assert all(switch.inputs and switch.outputs for switch in dialect.switches)
