"""The layout that newcomers look for, and the limits of the house."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKS = ("collector", "exporters", "processors", "replay", "semconv")


@pytest.mark.parametrize("name", LINKS)
def test_each_root_entry_is_a_link_into_the_package(name: str) -> None:
    entry = ROOT / name
    if not entry.is_symlink():
        pytest.skip("a clone without symlinks: nothing depends on them")

    assert os.readlink(entry) == f"src/runreel/{name}"


def test_no_source_file_is_longer_than_400_lines() -> None:
    sizes = {
        str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines())
        for file in (ROOT / "src").rglob("*.py")
    }

    assert {name: size for name, size in sizes.items() if size > 400} == {}


def test_the_bare_import_and_the_recorder_load_nothing_heavy() -> None:
    heavy = (
        "grpc presidio_analyzer spacy hyperscan chdb clickhouse_connect uvicorn starlette pydantic yaml numpy openai"
    )
    code = f"""
import sys
import runreel, runreel.cli, runreel.record, runreel.replay
print(sorted(set({heavy.split()!r}) & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"


def test_locked_requirements_name_no_host() -> None:
    texts = {file.name: file.read_text(encoding="utf-8") for file in (ROOT / "requirements").glob("*.txt")}

    assert texts
    assert {name for name, text in texts.items() if "://" in text or "index-url" in text} == set()
    assert all("--hash=sha256:" in text for text in texts.values())
