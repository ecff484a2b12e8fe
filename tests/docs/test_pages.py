"""What the pages say is there, is there."""

import re
from pathlib import Path

import pytest

from runreel.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    targets = [link for link in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]

    assert [link for link in targets if not (page.parent / link).exists()] == []


def test_the_readme_names_its_two_commands_each_on_a_line_of_its_own() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()

    assert "make demo" in lines
    assert "make test" in lines


def test_every_runreel_command_in_a_page_exists() -> None:
    named = {
        (page.name, command)
        for page in PAGES
        for block in re.findall(r"```(?:sh|console)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for command in re.findall(r"^(?:\$ )?runreel ([a-z]+)", block, re.MULTILINE)
    }

    assert named
    assert {(page, command) for page, command in named if command not in COMMANDS} == set()


def test_every_page_is_reachable_from_the_readme() -> None:
    linked = {
        (page.parent / link).resolve() for page in PAGES for link in _LINK.findall(page.read_text(encoding="utf-8"))
    }

    assert {page for page in PAGES if page.parent.name == "docs" and page.resolve() not in linked} == set()
