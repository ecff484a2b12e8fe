"""`runreel doctor --agent ENTRY`: what of an agent would be recorded and answered, without running anything of it."""

import argparse
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from runreel.cli import common
from runreel.cli.checks import Check, sandbox
from runreel.replay.looking import Looked, look
from runreel.terminal import fold
from runreel.text import many, one_line

_TITLES = {
    "recorded": "what would be recorded",
    "tools": "tools in a replay",
    "models": "models in a replay",
    "transports": "HTTP libraries in a replay",
}
_STYLE = {"ok": "green", "note": "", "todo": "red"}
_NAME_WIDTH = 16
_HANG = 25  # where what a finding says begins
_MOST_FILES = 6


def run(args: argparse.Namespace) -> int:
    """Look and report. Returns 0 where there is nothing to do, 1 where there is. Raises what `look` raises."""
    looked, walls = look(args.agent), sandbox()
    well = looked.well and walls.state != "todo"
    if args.json:
        common.show_json(_document(looked, walls, well))
    else:
        _print(common.console(), looked, walls)
    return 0 if well else 1


def _print(console: Console, looked: Looked, walls: Check) -> None:
    read = ", ".join(Path(file).name for file in looked.files[:_MOST_FILES])
    more = len(looked.files) - _MOST_FILES
    names = read if more <= 0 else f"{read} and {more} more"
    fold(console, Text(one_line(f"{looked.agent}: {many(len(looked.files), 'file')} read ({names}), nothing run")), 2)
    for part, title in _TITLES.items():
        rows = [one for one in looked.findings if one.part == part]
        if rows:
            console.print(Text(title, "bold"))
        for one in rows:
            _row(console, one.name, one.state, one.says, one.fix)
    console.print(Text("this machine", "bold"))
    _row(console, walls.name, walls.state, walls.says, walls.fix)
    console.print(Text("next", "bold"))
    for command in looked.next:
        fold(console, Text(f"  {one_line(command)}"), 6)


def _row(console: Console, name: str, state: str, says: str, fix: str) -> None:
    head = Text("  ").append(f"{state:<6}", _STYLE[state]).append(f"{one_line(name):<{_NAME_WIDTH}} ")
    fold(console, head.append(one_line(says)), _HANG)
    if fix:
        fold(console, Text(" " * _HANG).append(f"→ {one_line(fix)}", "green"), _HANG + 2)


def _document(looked: Looked, walls: Check, well: bool) -> dict[str, object]:
    return {
        "well": well,
        "agent": looked.agent,
        "files": list(looked.files),
        "findings": [*map(asdict, looked.findings), {"part": "machine", **asdict(walls)}],
        "next": list(looked.next),
    }
