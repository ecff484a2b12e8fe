"""`runreel replay RUN`: run the agent again, everything answered from the record; 0 identical, 2 diverged."""

import argparse
import json
import sys

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
    from runreel.replay.cleaning import cleaner_of
    from runreel.replay.engine import NOT_GIVEN, replay

    tools, given = _tools(args.tool), _input(args.input)
    recorded = common.load(args, args.run)
    key, cleaner = cleaner_of(args.home, recorded.tenant)
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
        cleaner=cleaner,
    )
    if args.json:
        common.show_json(report.document(replayed, cleaner))
    else:
        report.render(replayed, common.console(), cleaner)
    return replayed.exit_status


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
