"""`runreel runs ls | show | flag | export | import`."""

import argparse
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from runreel.cli import common
from runreel.errors import UsageError
from runreel.storage import RunQuery, RunStore
from runreel.text import many
from runreel.values import DEFAULT_TENANT

_RUN = "a run id, a trace id, a prefix of either, or `last`"
_FILTERS = ("since", "agent", "user", "outcome", "tool", "verdict", "text")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGE = re.compile("[0-9]{1,9}[smhdw]")
_MOST_RUNS = 1_000_000


def add(parser: argparse.ArgumentParser) -> None:
    """Add the group's commands."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    ls = commands.add_parser("ls", help="list runs, newest first")
    ls.add_argument("--since", metavar="AGE|TIME", help="only runs started since: 30m, 24h, 7d, or an ISO time")
    ls.add_argument("--agent", metavar="ID", help="only runs of this agent")
    ls.add_argument("--outcome", choices=["ok", "error", "aborted", "user_flagged"], help="only runs that ended so")
    ls.add_argument("--user", metavar="REF", help="only runs for this user, by the ref that `runs show --json` gives")
    ls.add_argument("--tool", metavar="NAME", help="only runs that called this tool")
    ls.add_argument("--verdict", choices=["full", "partial", "none"], help="only runs that can be replayed so far")
    ls.add_argument(
        "--text", metavar="TEXT", help="only runs that hold this text; reads each run that the others leave"
    )
    ls.add_argument("--replays", action="store_true", help="replays only, and what they came to")
    ls.add_argument("--of", metavar="RUN", help="with --replays: only those of this run")
    ls.add_argument("--limit", metavar="N", type=int, default=100, help="at most N (default 100, 0: all)")
    ls.add_argument("--json", action="store_true", help="a JSON list with stable field names")
    show = commands.add_parser("show", help="show one run: its steps, what they saw, what is missing for a replay")
    show.add_argument("run", metavar="RUN", help=_RUN)
    show.add_argument("--json", action="store_true", help="one JSON object with steps and gaps")
    show.add_argument("--payloads", action="store_true", help="with what each step saw and answered, whole")
    common.add_html(show, "the run")
    flag = commands.add_parser("flag", help="mark a run as one that somebody was not content with")
    flag.add_argument("run", metavar="RUN", help=_RUN)
    flag.add_argument("--reason", metavar="TEXT", default="", help="why; it is redacted like everything else")
    flag.add_argument("--json", action="store_true", help="the run's id as a JSON object")
    export = commands.add_parser("export", help="write one run in an open format")
    export.add_argument("run", metavar="RUN", help=_RUN)
    export.add_argument("--format", choices=["otlp", "otlp-json", "reel"], default="reel", help="default: reel")
    export.add_argument("--signal", choices=["traces", "logs"], default="traces", help="for otlp: which request")
    export.add_argument("--output", metavar="PATH|-", required=True, help="the file to write; - is standard output")
    import_ = commands.add_parser("import", help="read OTLP requests (protobuf, JSON, JSON lines, gzip) or reels")
    import_.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="files and folders")
    import_.add_argument("--json", action="store_true", help="the counts as a JSON object")
    for command in (ls, show, flag, export, import_):
        common.add_store(command)


def run(args: argparse.Namespace) -> int:
    """Run one of the group's commands."""
    match args.action:
        case "ls":
            return _ls(args)
        case "show":
            return _show(args)
        case "flag":
            return _flag(args)
        case "export":
            return _export(args)
        case _:
            return _import(args)


def _ls(args: argparse.Namespace) -> int:
    from runreel.cli import replays, show
    from runreel.runs.document import summary_document

    if not 0 <= args.limit <= _MOST_RUNS:
        raise UsageError(f"--limit {args.limit}: a number from 0 (all) to {_MOST_RUNS}")
    if args.of and not args.replays:
        raise UsageError("--of names the run whose replays are listed: say --replays too")
    store = common.open_store(args)
    try:
        runs = store.runs(_query(args, store))
    finally:
        store.close()
    if args.json:
        common.show_json([summary_document(summary) for summary in runs])
    elif args.replays:
        replays.table(common.console(), runs)
    elif not runs and (given := [f"--{name}" for name in _FILTERS if getattr(args, name) is not None]):
        common.console().print(f"no run matches {' and '.join(given)}")
    else:
        show.table(common.console(), runs)
    return 0


def _query(args: argparse.Namespace, store: RunStore) -> RunQuery:
    return RunQuery(
        since_ns=since(args.since),
        agent=args.agent,
        user=args.user,
        outcome=args.outcome,
        tool=args.tool,
        verdict=args.verdict,
        text=args.text,
        replays=args.replays,
        replay_of=store.resolve(DEFAULT_TENANT, args.of) if args.of else None,
        limit=args.limit,
    )


def _show(args: argparse.Namespace) -> int:
    from runreel.cli import replays, show
    from runreel.runs.document import replays_document, run_document

    run_, found = common.load_with_replays(args, args.run)
    if args.html is not None:
        from runreel.pages.report import report

        common.write_page(args.html, report(run_))
    if args.json:
        common.show_json(run_document(run_, payloads=args.payloads) | replays_document(found))
    else:
        console = common.console()
        show.tree(console, run_, payloads=args.payloads)
        replays.below(console, found)
    return 0


def _flag(args: argparse.Namespace) -> int:
    from runreel.cli.flagging import flag

    run_id = flag(common.place(args), args.run, args.reason, common.say)
    if args.json:
        common.show_json({"run_id": run_id})
    else:
        print(f"run {run_id} is flagged")
    return 0


def _export(args: argparse.Namespace) -> int:
    from runreel import otlp
    from runreel.runs import reel

    store = common.open_store(args)
    try:
        run_id = store.resolve(DEFAULT_TENANT, args.run)
        data = store.reel(DEFAULT_TENANT, run_id)
    finally:
        store.close()
    if args.format != "reel":
        spans, logs = reel.whole(data, run_id)
        if args.format == "otlp-json":
            lines = [otlp.encode("traces", spans, "json")] + ([otlp.encode("logs", logs, "json")] if logs else [])
            data = b"\n".join(lines) + b"\n"
        else:
            data = otlp.encode(args.signal, spans if args.signal == "traces" else logs, "protobuf")
            if logs and args.signal == "traces":
                print(f"runreel: the run has {len(logs)} log records too: --signal logs", file=sys.stderr)
    if args.output == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return 0
    try:
        Path(args.output).write_bytes(data)
    except OSError as error:
        raise UsageError(f"--output {args.output}: {error.strerror}") from None
    common.say(f"run {run_id}: {len(data):,} bytes to {args.output}")
    return 0


def _import(args: argparse.Namespace) -> int:
    from runreel.cli.importing import import_paths

    result = import_paths(common.place(args), args.paths, common.say)
    if args.json:
        common.show_json(
            {
                "requests": result.requests,
                "spans": result.spans,
                "logs": result.logs,
                "repeated": result.repeated,
                "skipped": result.skipped,
                "rejected": result.rejected,
                "failed": result.failed,
                "trace_ids": sorted(result.trace_ids),
            }
        )
    else:
        spans = f"{many(result.spans, 'span')} of {many(len(result.trace_ids), 'trace')}"
        print(f"imported {many(result.requests, 'request')}: {spans}, {many(result.logs, 'log record')}")
        for number, what, why in (
            (result.repeated, "repeated request", " (another encoding, or sent again), counted once"),
            (result.skipped, "file", " skipped: not OTLP"),
            (result.rejected, "record", " rejected: not a valid span or log record"),
        ):
            if number:
                print(f"  {many(number, what)}{why}")
    for failure in result.failed:
        print(f"runreel: {failure}", file=sys.stderr)
    return 1 if result.failed else 0


def since(text: str | None) -> int | None:
    """Return nanoseconds since 1970 for an age (`24h`) or an ISO time. Raises UsageError."""
    if text is None:
        return None
    try:
        if _AGE.fullmatch(text):
            moment = datetime.now(UTC) - timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.astimezone()
        return max(0, int(moment.timestamp() * 1_000_000) * 1000)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--since {text!r}: an age such as 30m, 24h, 7d, or an ISO time such as 2026-01-31T08:00"
        ) from None
