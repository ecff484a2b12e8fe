import subprocess
import sys
from pathlib import Path

from runreel.semconv.page import render
from runreel.semconv.registry import FIELDS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "record.md"


def test_the_page_is_what_the_registry_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m runreel.semconv.page > docs/record.md"


def test_every_field_has_its_line() -> None:
    page = render()

    assert [field.key for field in FIELDS if f"| `{field.name}`: {field.doc} |" not in page] == []


def test_the_page_is_written_by_the_command_that_it_names() -> None:
    written = subprocess.run([sys.executable, "-m", "runreel.semconv.page"], capture_output=True, text=True, check=True)

    assert written.stdout == render()
