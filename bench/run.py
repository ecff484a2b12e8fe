"""Measures RunReel against stock alternatives and writes the ratios to bench/results.json.

    python bench/run.py [--only NAME ...] [--quick] [--output FILE]

NAME is a row or a group of rows. A bar that is missed is said, and is no error: the exit code is 0 wherever every row
could be measured, and 1 where one could not.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import harness
from rich.console import Console
from rich.table import Table
from rich.text import Text

HERE = Path(__file__).resolve().parent
GROUPS = (
    "redactor",
    "language",
    "hostile",
    "pipeline",
    "unredacted",
    "length",
    "durable",
    "load",
    "stored",
    "start",
    "replay",
    "recorder",
    "pages",
)
"""Modules in rows/, in the order in which they are measured and listed."""

Document = dict[str, Any]


def declared(group: str) -> Sequence[harness.Declared]:
    """Return the rows that a group promises."""
    return harness.Group.load(group).rows


def chosen(only: Sequence[str]) -> dict[str, set[str]]:
    """Return which groups to measure, and which of their rows are wanted. Raises ValueError for an unknown name."""
    names = {group: {row.name for row in declared(group)} for group in GROUPS}
    known = set(names) | set().union(*names.values())
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ValueError(f"no row or group is called {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    if not only:
        return names
    wanted = {group: rows if group in only else rows & set(only) for group, rows in names.items()}
    return {group: rows for group, rows in wanted.items() if rows}


def measure(
    group: str, wanted: set[str], *, quick: bool, say: harness.Say, script: Path = HERE / "one.py"
) -> Iterator[Document]:
    """Measure a group in a process of its own; a row that did not come out of it has no value, and says why."""
    reader, writer = os.pipe()
    command = [sys.executable, str(script), group, str(writer), *(["--quick"] if quick else [])]
    # What it prints is for people, and standard output is where the results are.
    process = subprocess.Popen(command, pass_fds=[writer], stdout=sys.stderr.fileno())
    os.close(writer)
    missing = {row.name: row for row in declared(group) if row.name in wanted}
    with os.fdopen(reader, encoding="utf-8") as lines:
        for line in lines:
            told = json.loads(line)
            if "say" in told:
                say(told["say"])
            elif told["row"]["name"] in missing:
                del missing[told["row"]["name"]]
                yield told["row"]
    status = process.wait()
    for row in missing.values():
        yield row.row(None, f"failed: its process ended with status {status}; standard error says why").document()


class Progress:
    """Says what is measured: one line that changes on a terminal, a line for each group elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("") if console.is_terminal else None
        self._started = time.monotonic()

    def __enter__(self) -> "Progress":
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def group(self, number: int, count: int, group: str) -> harness.Say:
        """Begin a group; return how it may say what it does."""
        head = f"[{number}/{count}] {group}"
        if self._status is None:
            self._console.print(Text(f"{time.monotonic() - self._started:4.0f} s  {head}"))
            return _nothing
        status = self._status
        return lambda text: status.update(Text(f"{head}: {text}"))


def _nothing(text: str) -> None:
    """Where no line changes in place, what goes on within a group is not said."""


def table(rows: Sequence[Document]) -> Table:
    """Return the results for people to read."""
    out = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("row", "value", "bar", "", "unit"):
        out.add_column(heading, justify="right" if heading in ("value", "bar") else "left", no_wrap=heading != "unit")
    for row in rows:
        out.add_row(row["name"], harness.shown(row), row["bar"], _met(row), row["unit"])
    return out


def _met(row: Document) -> str:
    if row["ok"]:
        return "ok"
    return "" if harness.was_skipped(row) else "MISSED"


def merged(before: Sequence[Document], measured: Sequence[Document]) -> list[Document]:
    """Return the rows measured now in place of those of the same name; rows that are no longer declared go."""
    order = {row.name: place for place, row in enumerate(row for group in GROUPS for row in declared(group))}
    by_name = {row["name"]: row for row in [*before, *measured]}
    return sorted((row for name, row in by_name.items() if name in order), key=lambda row: order[row["name"]])


def main(argv: Sequence[str]) -> int:
    """Measure what is asked for, print it, write it; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--only", nargs="+", default=[], metavar="NAME", help="rows, or groups of rows")
    options.add_argument("--quick", action="store_true", help="less of everything: rough figures in under a minute")
    options.add_argument("--output", type=Path, default=HERE / "results.json", help="default: bench/results.json")
    args = options.parse_args(argv)
    try:
        groups = chosen(args.only)
    except ValueError as error:
        options.error(str(error))
    console = Console(stderr=True)
    measured: list[Document] = []
    started = time.monotonic()
    with Progress(console) as progress:
        for number, (group, wanted) in enumerate(groups.items(), 1):
            say = progress.group(number, len(groups), group)
            for row in measure(group, wanted, quick=args.quick, say=say):
                measured.append(row)
                console.print(Text(f"        {_line(row)}"), soft_wrap=True)
    console.print(Text(f"took {(time.monotonic() - started) / 60:.1f} minutes"))
    harness.write(args.output, merged(harness.read(args.output) if args.only else [], measured))
    return report(Console(), measured, args.output)


def _line(row: Document) -> str:
    return f"{row['name']}: {harness.shown(row)} (bar {row['bar']}) {_met(row)}; {row['detail']}"


def report(console: Console, rows: Sequence[Document], output: Path) -> int:
    """Print the results; return the exit code."""
    console.print(table(rows))
    missed = [row["name"] for row in rows if not row["ok"] and row["value"] is not None]
    skipped = [row["name"] for row in rows if harness.was_skipped(row)]
    failed = [row["name"] for row in rows if row["value"] is None and row["name"] not in skipped]
    met, asked = sum(row["ok"] for row in rows), len(rows) - len(skipped)
    console.print(Text(f"{met} of {asked} bars met; written to {output}"))
    if skipped:
        console.print(Text(f"skipped: {', '.join(skipped)}"))
    if missed:
        console.print(Text(f"MISSED: {', '.join(missed)}"))
    if failed:
        console.print(Text(f"FAILED to run: {', '.join(failed)}"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
