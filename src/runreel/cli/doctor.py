"""`runreel doctor`: says what is well, what is not, and for each service what to set for runs that replay in full."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from runreel.cli import checks, common
from runreel.cli.checks import Check, Seen
from runreel.errors import RunReelError, UsageError
from runreel.terminal import fold
from runreel.text import many, one_line

_STYLE = {"ok": "green", "note": "", "todo": "red"}
_NAME_WIDTH = 17
_MOST_NEWS = 20
_LEAST = 24  # columns for what a check says


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    common.add_store(parser)
    parser.add_argument(
        "--last", type=int, default=20, metavar="N", help="how many runs to look at, newest first (default: 20)"
    )
    parser.add_argument(
        "--agent",
        metavar="ENTRY",
        help="look at an agent instead, script.py or module:callable, without running it: what of it would be "
        "recorded, what a replay would answer, what to type next",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Check everything. Returns 0 where all is well, 1 where there is something to do."""
    if args.agent is not None:
        from runreel.cli import doctor_agent  # with the replay, which no other check wants

        return doctor_agent.run(args)
    if not 0 <= args.last <= 10_000:
        raise UsageError(f"--last {args.last}: a number from 0 to 10000")
    where = common.place(args)
    # A collector that is named has a data folder of its own, wherever that is.
    folder = () if where.collector is not None else checks.home(where.home)
    found = [*checks.machine(), *folder, *checks.collector(where)]
    seen, store = _look(args)
    found += [store, *seen.broken]
    if args.json:
        common.show_json(_document(found, seen))
    else:
        _print(common.console(), found, seen)
    return 1 if seen.lacks or any(check.state == "todo" for check in found) else 0


def _look(args: argparse.Namespace) -> tuple[Seen, Check]:
    nothing = Seen(0, 0, {}, (), ())
    try:
        runs = common.open_store(args)
    except RunReelError as error:
        return nothing, Check("store", "todo", "cannot be opened", str(error))
    except ModuleNotFoundError as error:
        says = f"cannot be opened: the package {error.name!r} is missing"
        return nothing, Check("store", "todo", says, "pip install 'runreel[collector,embedded]', or start a collector")
    try:
        seen = checks.look(runs, args.last)
    except RunReelError as error:
        return nothing, Check("store", "todo", "cannot be read", str(error))
    finally:
        runs.close()
    if not seen.runs:
        return seen, Check("store", "note", "no runs yet")
    says = f"opens; of the last {many(seen.runs, 'run')}, {seen.full} can be replayed in full"
    return seen, Check("store", "ok", says)


def _print(console: Console, found: Sequence[Check], seen: Seen) -> None:
    for check in found:
        _line(console, check)
    if seen.dialects:
        console.print(Text("dialects", "bold"))
        for name, (steps, verified) in seen.dialects.items():
            state = "verified" if verified else "unverified: no real export backs it yet, look twice at what it shows"
            fold(console, Text(f"  {name:<{_NAME_WIDTH}}{many(steps, 'step')}, {state}"), _NAME_WIDTH + 2)
    _news(console, seen)
    service = None
    for lack in seen.lacks:
        if lack.service != service:
            service = lack.service
            console.print(Text(f"missing for full: {one_line(service, 60)}", "bold"))
        fields = " and ".join(lack.fields)
        where = f"{many(lack.times, 'time')} in {many(len(lack.runs), 'run')}, such as {lack.runs[0]}"
        fold(console, Text(f"  {one_line(f'{fields}: {lack.cause}')} ({where})"), 4)
        fold(console, Text(f"    → {one_line(lack.fix)}", "green"), 6)


def _news(console: Console, seen: Seen) -> None:
    if seen.news:
        console.print(Text("not known here, and kept as it came: a later version may read it", "bold"))
    for one in seen.news[:_MOST_NEWS]:
        where = f"{many(one.times, 'step')} in {many(len(one.runs), 'run')}, such as {one.runs[0]}"
        fold(console, Text(f"  {one_line(one.what, 60)} ({where})"), 4)
    if len(seen.news) > _MOST_NEWS:
        fold(console, Text(f"  and {len(seen.news) - _MOST_NEWS} more: --json lists them all"), 4)


def _line(console: Console, check: Check) -> None:
    """Print a check in columns; on a terminal what it says stays in the last one."""
    head = Text("  ").append(f"{check.state:<6}", _STYLE[check.state]).append(f"{check.name:<{_NAME_WIDTH}}")
    lines = [Text(one_line(check.says))]
    if check.fix:
        lines.append(Text(f"→ {one_line(check.fix)}", "green"))
    if console.is_terminal:
        lines = [part for line in lines for part in line.wrap(console, max(console.width - len(head), _LEAST))]
    for number, line in enumerate(lines):
        line.rstrip()
        lead = Text(" " * len(head)) if number else head.copy()
        console.print(lead.append_text(line), soft_wrap=True)


def _document(found: Sequence[Check], seen: Seen) -> dict[str, Any]:
    return {
        "well": not seen.lacks and all(check.state != "todo" for check in found),
        "checks": [asdict(check) for check in found],
        "runs": seen.runs,
        "full": seen.full,
        "dialects": [
            {"name": name, "steps": steps, "verified": verified} for name, (steps, verified) in seen.dialects.items()
        ],
        "unknown": [asdict(one) for one in seen.news],
        "missing": [asdict(lack) for lack in seen.lacks],
    }
