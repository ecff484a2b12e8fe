"""`runreel quarantine`: what is kept aside instead of stored, and why; have it stored after all, or drop it."""

import argparse
from collections.abc import Sequence
from contextlib import closing

from rich.console import Console
from rich.text import Text

from runreel.cli import common
from runreel.cli.show import moment
from runreel.errors import UsageError
from runreel.runs.quarantined import document
from runreel.terminal import fold
from runreel.text import many, one_line
from runreel.upkeep import open_custody
from runreel.values import DEFAULT_TENANT, Quarantined

_ID_SHOWN = 12


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))
    help_ = "list what is in quarantine, newest first, with the reason"
    ls = actions.add_parser("ls", help=help_, description=help_)
    ls.add_argument("--limit", type=int, default=100, metavar="N", help="how many; 0 means all (default: 100)")
    help_ = "print one record, whole, redacted as it is kept"
    show = actions.add_parser("show", help=help_, description=help_)
    show.add_argument("id", metavar="ID", help="its id, or the begin of it")
    for name, help_ in (
        ("release", "have records stored after all, whatever the policy says; what a store refuses again stays"),
        ("drop", "delete records for good"),
    ):
        action = actions.add_parser(name, help=help_, description=help_)
        action.add_argument("ids", nargs="*", metavar="ID", help="their ids, or the begin of each")
        action.add_argument("--all", action="store_true", help="all that is there")
        action.add_argument("--reason", metavar="TEXT", help="with --all: those whose reason begins with it")
        action.add_argument("--trace", metavar="ID", help="with --all: those of this trace, by the begin of its id")
    for action in actions.choices.values():
        action.add_argument("--json", action="store_true", help="print one JSON object")
        common.add_store(action)


def run(args: argparse.Namespace) -> int:
    """Do it. Returns 0; 1 where something could not be released."""
    with closing(open_custody(common.place(args), say=common.say)) as custody:
        if args.action == "ls":
            found = custody.items(DEFAULT_TENANT, args.limit)
            if args.json:
                common.show_json({"items": [document(one) for one in found]})
            else:
                _list(common.console(), found)
            return 0
        if args.action == "show":
            common.show_json(custody.shown(DEFAULT_TENANT, args.id))
            return 0
        ids = _chosen(args, custody.items(DEFAULT_TENANT) if args.all else ())
        if args.action == "drop":
            dropped = custody.drop(DEFAULT_TENANT, ids) if ids else 0
            return _said(args, {"dropped": dropped}, f"{many(dropped, 'record')} dropped", ())
        released, stay = custody.release(DEFAULT_TENANT, ids) if ids else (0, ())
        told = {"released": released, "stay": list(stay)}
        return _said(args, told, f"{many(released, 'record')} released", stay)


def _chosen(args: argparse.Namespace, there: Sequence[Quarantined]) -> Sequence[str]:
    if bool(args.ids) == args.all:
        raise UsageError("name what is meant, by id, or write --all")
    for name in ("reason", "trace"):
        if getattr(args, name) is not None and not args.all:
            raise UsageError(f"--{name} chooses among all: write --all with it")
    reason, trace = args.reason or "", args.trace or ""
    return args.ids or [one.id for one in there if one.reason.startswith(reason) and one.trace_id.startswith(trace)]


def _said(args: argparse.Namespace, told: dict[str, object], line: str, stay: Sequence[str]) -> int:
    if args.json:
        common.show_json(told)
    else:
        console = common.console()
        fold(console, Text(line))
        for why in stay:
            fold(console, Text(f"  stays: {one_line(why)}", "red"), 4)
    return 1 if stay else 0


def _list(console: Console, found: Sequence[Quarantined]) -> None:
    if not found:
        fold(console, Text("nothing is in quarantine"))
    for one in found:
        id_ = one.id if one.kind == "batch" else one.id[:_ID_SHOWN]
        line = f"{moment(one.arrived_ns)}  {id_}  {one.kind:<5}  {one_line(one.name, 40)}  {one_line(one.service, 40)}"
        fold(console, Text(line), 4)
        where = f"  trace {one.trace_id}" if one.trace_id else ""
        fold(console, Text(f"  {one_line(one.reason)}{where}", "dim"), 4)
