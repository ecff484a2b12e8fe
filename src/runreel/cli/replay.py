"""`runreel replay RUN`: run the agent again, everything answered from the record; 0 identical, 2 diverged."""

import argparse
import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from runreel.canonical import freeze
from runreel.canonical.match import Keys
from runreel.cli import common
from runreel.cli.many import HELP as HELP_ALL
from runreel.errors import UsageError
from runreel.terminal import fold
from runreel.text import one_line
from runreel.values import Run, Value

if TYPE_CHECKING:
    from runreel.replay.storing import Stored
    from runreel.replay.values import Replayed


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments. What follows `--` is the agent's own, in `args.rest`."""
    parser.usage = "runreel replay RUN|--all FILTER [--agent ENTRY] [options] [-- ARGUMENTS OF THE AGENT]"
    parser.add_argument("run", metavar="RUN", nargs="?", help="run id, trace id, unique prefix, `last`, or a reel file")
    parser.add_argument("--all", metavar="FILTER", help=HELP_ALL)
    parser.add_argument(
        "--agent",
        metavar="ENTRY",
        help="script.py, or module:callable, called with the recorded user input (default: as recorded)",
    )
    parser.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="NAME=MODULE:FUNCTION",
        help="the function of a recorded tool, where it is not found by its name; may be repeated",
    )
    parser.add_argument("--input", metavar="JSON", help="what a callable is given instead of the recorded user input")
    parser.add_argument(
        "--on-divergence",
        choices=["stop", "continue"],
        default="stop",
        help="stop: the agent gets an error where it diverges; continue: it is given the one answer it can have meant",
    )
    parser.add_argument(
        "--mask",
        action="append",
        default=[],
        metavar="KIND:NAME/POINTER",
        help="a field in which a difference is none, such as tool:search/options/trace_id; * for any name or place; "
        "may be repeated",
    )
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="kill the agent after so long")
    parser.add_argument(
        "--break-at",
        type=int,
        metavar="STEP",
        help="open pdb in the agent's code where it asks for this recorded step; there is no time limit then",
    )
    parser.add_argument(
        "--check-order",
        action="store_true",
        help="replay a second time under another hash seed, and name what differs: it depends on the order of a set",
    )
    parser.add_argument(
        "--no-store", action="store_true", help="do not keep what the agent records of itself while it is replayed"
    )
    common.add_html(parser, "the replay beside its run; with --all a folder: a page a run, and index.html")
    parser.add_argument("--json", action="store_true", help="print the report as JSON; the agent prints to stderr")
    common.add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Replay and report; return 0, 2 or 125."""
    from runreel.replay import report
    from runreel.replay.checking import check_order
    from runreel.replay.engine import NOT_GIVEN, replay

    if args.all is not None:
        return _run_all(args)
    if args.run is None:
        raise UsageError("the following arguments are required: RUN, or --all FILTER")
    if args.check_order and args.break_at is not None:
        raise UsageError("--check-order and --break-at do not go together: the agent would run twice")
    tools, given = tools_in(args.tool), _input(args.input)
    common.require_page(args.html)
    recorded = common.load(args, args.run)
    key, clean = _redaction(args, recorded)
    common.end_in_order()
    if args.break_at is not None:
        # Ctrl-C is for pdb and the agent, which share our terminal. A handler: what is ignored would be inherited.
        signal.signal(signal.SIGINT, lambda *_: None)
    replayed = (check_order if args.check_order else replay)(
        recorded,
        args.agent,
        args=args.rest,
        tools=tools,
        input=NOT_GIVEN if args.input is None else given,
        key=key,
        on_divergence=args.on_divergence,
        masks=args.mask,
        timeout_s=args.timeout,
        break_at=args.break_at,
        stdout=sys.stderr.fileno() if args.json else None,
    )
    if not args.json:
        report.render(replayed, common.console(), clean)
    kept = _kept(args, replayed)
    if args.html is not None:
        common.write_page(args.html, _page(args, recorded, replayed, kept, clean))
    if args.json:
        where = {"stored_run_id": kept.run_id or None, "not_stored": kept.why or None}
        common.show_json(report.document(replayed, clean) | where)
    else:
        line = _where(args.run if Path(args.run).is_file() else replayed.of, kept)
        fold(common.console(), Text(f"  {line}", "dim"), 4)
    return replayed.exit_status


def _page(
    args: argparse.Namespace, recorded: Run, replayed: "Replayed", kept: "Stored", clean: Callable[[str], str] | None
) -> str:
    """Show a replay beside its run, as it was stored: what stayed in memory may not be redacted."""
    from runreel.pages.comparison import comparison, replay_alone
    from runreel.replay import report
    from runreel.replay.diff import diff

    document = report.document(replayed, clean)
    if not kept.run_id:
        return replay_alone(document, f"the replay was not stored ({kept.why})")
    again = common.load(args, kept.run_id)
    return comparison(diff(recorded, again), recorded, again, document)


def _run_all(args: argparse.Namespace) -> int:
    """Replay every run that matches. What the agent prints then is of no use, and is stored nowhere."""
    from runreel.cli import many
    from runreel.replay.engine import NOT_GIVEN, replay

    if args.run is not None or args.break_at is not None or args.check_order:
        raise UsageError("--all replays what matches: RUN, --break-at and --check-order do not go with it")
    tools, given = tools_in(args.tool), _input(args.input)
    common.end_in_order()
    reels = Path(args.all).is_dir()

    def one(recorded: Run) -> "Replayed":
        return replay(
            recorded,
            args.agent,
            args=args.rest,
            tools=tools,
            input=NOT_GIVEN if args.input is None else given,
            key=None if reels else _redaction(args, recorded)[0],
            on_divergence=args.on_divergence,
            masks=args.mask,
            timeout_s=args.timeout,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def page(recorded: Run, replayed: "Replayed", kept: "Stored") -> str:
        return _page(args, recorded, replayed, kept, None if reels else _redaction(args, recorded)[1])

    return many.run(args, many.Acts(one, lambda replays: _kept_all(args, replays), page))


def _made_by(run: Run) -> frozenset[str]:
    """Return the ids of the keys that made the run's tokens. A key that is gone proves nothing, and refutes nothing."""
    marks = (mark for step in run.steps for mark in _texts(step.fields.get("marks")))
    return frozenset(mark.removeprefix("key:") for mark in marks if mark.startswith("key:"))


def _texts(value: Value) -> Iterator[str]:
    yield from (one for one in value if isinstance(one, str)) if isinstance(value, tuple) else ()


def _kept(args: argparse.Namespace, replayed: "Replayed") -> "Stored":
    """Store what the agent recorded of itself, unless that is not wanted."""
    return _kept_all(args, [replayed])[0]


def _kept_all(args: argparse.Namespace, replays: "Sequence[Replayed]") -> "Sequence[Stored]":
    from runreel.replay.storing import Stored, store_all

    if args.no_store:
        return [Stored(why="--no-store")] * len(replays)
    return store_all(replays, common.place(args), say=common.say)


def _where(of: str, kept: "Stored") -> str:
    if not kept.run_id:
        return f"not stored: {one_line(kept.why, 1000)}"
    command = f"runreel diff {shlex.quote(of)} {shlex.quote(kept.run_id)}"
    return f"stored as run {one_line(kept.run_id, 1000)}; {one_line(command, 2000)}"


def _redaction(args: argparse.Namespace, recorded: Run) -> tuple[Keys, Callable[[str], str] | None]:
    """Return the keys that the run was recorded with, where this machine has it, and what redacts live text with it.

    A run read from a reel may come from anywhere: its tokens are unified unproved, unless a key is given on purpose.
    The collector that runs on the data folder redacts, where there is one: an agent's environment has no detectors.
    """
    from runreel.processors.redact import Redactor, load_key
    from runreel.processors.redact.keys import VARIABLE
    from runreel.runs.places import remote_runs, running

    where, tenant = common.place(args), recorded.tenant
    given = VARIABLE in os.environ
    is_reel = args.run is not None and Path(args.run).is_file()
    stored = (where.home / "keys" / f"{tenant}.json").is_file() and not is_reel
    asked = running(where, say=common.say) if where.collector is not None or (stored and not given) else None
    if not given and not stored and (asked is None or is_reel):
        return None, None
    key = load_key(where.home, tenant) if given or stored else None
    secret = None if key is None or not _made_by(recorded) <= key.ids else key.proving(recorded.trace_ids)
    if asked is None and importlib.util.find_spec("presidio_analyzer") is None:
        return secret, None

    @cache
    def redactor() -> Callable[[str], str]:
        if asked is not None:
            return remote_runs(where, asked).redacted
        assert key is not None
        return Redactor(key).text  # takes seconds, and is wanted only where something diverged

    def clean(text: str) -> str:
        try:
            return redactor()(text)
        except Exception:  # noqa: BLE001 - a detector may raise anything; what it could not redact is not shown
            return "(withheld: it could not be redacted)"

    return secret, clean


def tools_in(given: list[str]) -> dict[str, str]:
    """Read what `--tool NAME=MODULE:FUNCTION` says, by name. Raises UsageError."""
    tools = {}
    for text in given:
        name, found, place = text.partition("=")
        if not found or not name:
            raise UsageError(f"--tool {text}: give it as NAME=module:function")
        tools[name] = place
    return tools


def _input(text: str | None) -> Value:
    if text is None:
        return None
    try:
        return freeze(json.loads(text))
    except ValueError as error:
        raise UsageError(f"--input is no JSON ({error}); a text is given in quotes of its own: '\"text\"'") from error
