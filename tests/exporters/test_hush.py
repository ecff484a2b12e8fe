"""What the engine prints by itself does not reach a terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runreel.exporters.engine import Engine
from runreel.exporters.hush import hushed

SAY = """
import os, sys
from runreel.exporters.hush import hushed
{before}
try:
    with hushed():
        os.write(2, b"engine\\n") if {open} else None
        {inside}
except KeyError:
    pass
os.write(2, b"after\\n") if {open} else print("after")
"""


def said(inside: str, before: str = "", *, is_open: bool = True) -> "subprocess.CompletedProcess[str]":
    code = SAY.format(inside=inside, before=before, open=is_open)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)


def test_what_is_printed_while_it_fails_is_not_seen() -> None:
    assert said("raise KeyError").stderr == "after\n"


def test_what_is_printed_while_it_goes_well_is_passed_on() -> None:
    assert said("print('thread', file=sys.stderr)").stderr == "engine\nthread\nafter\n"


def test_a_closed_standard_error_is_no_obstacle() -> None:
    assert said("pass", "os.close(2)", is_open=False).stdout == "after\n"


def test_no_descriptor_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with hushed():
        pass
    with pytest.raises(KeyError), hushed():
        raise KeyError

    assert len(os.listdir("/proc/self/fd")) == before


def test_a_damaged_definition_of_a_table_is_said_in_our_words_alone(tmp_path: Path) -> None:
    Engine.open(tmp_path / "store", tmp=tmp_path / "tmp").close()
    (definition,) = (tmp_path / "store").rglob("runs.sql")
    definition.write_text("garbage that is quoted")

    command = [sys.executable, "-m", "runreel", "runs", "ls", "--home", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 1
    assert done.stderr.startswith(f"runreel: cannot open the store {tmp_path / 'store'}")
    assert "garbage" not in done.stderr
    assert done.stderr.count("\n") == 1
