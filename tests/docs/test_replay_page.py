"""The page on replay names what there is: every divergence, every exit code, every library."""

import re
from pathlib import Path
from typing import get_args

from runreel.errors import EntryPointError, RefusedError, ReplayError, UsageError
from runreel.replay.transports import TESTED
from runreel.replay.values import DivergenceType, Replayed

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")


def test_every_divergence_has_its_line() -> None:
    assert set(re.findall(r"^\| `([a-z_]+)` \|", PAGE, re.MULTILINE)) == set(get_args(DivergenceType))


def test_every_exit_code_has_its_line() -> None:
    verdicts = (Replayed("r", "frozen", verdict) for verdict in ("same", "diverged", "not_comparable"))
    codes = {one.exit_status for one in verdicts}
    codes |= {error.exit_code for error in (EntryPointError, RefusedError, ReplayError, UsageError)}

    assert set(map(int, re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE))) == codes


def test_every_library_that_is_answered_for_is_named() -> None:
    assert [name for name in TESTED if name not in PAGE] == []
