"""`runreel replay RUN`: run the agent again, everything answered from the record; 0 identical, 2 diverged."""

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from runreel.canonical import freeze
from runreel.cli import common
from runreel.errors import UsageError
from runreel.values import Value


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments. What follows `--` is the agent's own, in `args.rest`."""
    parser.usage = "runreel replay RUN [--agent ENTRY] [options] [-- ARGUMENTS OF THE AGENT]"
    parser.add_argument("run", metavar="RUN", help="run id, trace id, unique prefix, `last`, or a reel file")
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
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="kill the agent after so long")
    parser.add_argument("--json", action="store_true", help="print the report as JSON; the agent prints to stderr")
    common.add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Replay and report; return 0, 2 or 125."""
    from runreel.replay import report
    from runreel.replay.engine import NOT_GIVEN, replay

    tools, given = _tools(args.tool), _input(args.input)
    recorded = common.load(args, args.run)
    key, clean = _redaction(args, recorded.tenant)
    common.end_in_order()
    replayed = replay(
        recorded,
        args.agent,
        args=args.rest,
        tools=tools,
        input=NOT_GIVEN if args.input is None else given,
        key=key,
        on_divergence=args.on_divergence,
        timeout_s=args.timeout,
        stdout=sys.stderr.fileno() if args.json else None,
    )
    if args.json:
        common.show_json(report.document(replayed, clean))
    else:
        report.render(replayed, common.console(), clean)
    return replayed.exit_status


def _redaction(args: argparse.Namespace, tenant: str) -> tuple[bytes | None, Callable[[str], str] | None]:
    """Return the key that the run was recorded with, where this machine has it, and what redacts live text with it.

    A run read from a reel may come from anywhere: its tokens are unified unproved, unless a key is given on purpose.
    The collector that runs on the data folder redacts, where there is one: an agent's environment has no detectors.
    """
    from runreel.processors.redact import Redactor, load_key
    from runreel.processors.redact.keys import VARIABLE
    from runreel.runs import discovery
    from runreel.runs.remote import RemoteRuns

    given = VARIABLE in os.environ
    stored = (args.home / "keys" / f"{tenant}.json").is_file() and not Path(args.run).is_file()
    if not given and not stored:
        return None, None
    key = load_key(args.home, tenant)
    running = None if given else discovery.find(args.home, say=common.say)
    if running is None and importlib.util.find_spec("presidio_analyzer") is None:
        return key.secret, None

    @cache
    def redactor() -> Callable[[str], str]:
        if running is not None:
            return RemoteRuns(running.api, running.token).redacted
        return Redactor(key).text  # takes seconds, and is wanted only where something diverged

    def clean(text: str) -> str:
        try:
            return redactor()(text)
        except Exception:  # noqa: BLE001 - a detector may raise anything; what it could not redact is not shown
            return "(withheld: it could not be redacted)"

    return key.secret, clean


def _tools(given: list[str]) -> dict[str, str]:
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
