"""`runreel golden promote | run | ls | check | update`: recorded runs kept as test cases."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from runreel.cli import common
from runreel.errors import RunReelError, UsageError
from runreel.terminal import fold
from runreel.text import many, one_line
from runreel.values import Run

if TYPE_CHECKING:
    from runreel.goldens.values import Result
    from runreel.replay.cleaning import Clean

_NOT_COMPARABLE = 125

_EXPECT = "what must hold of each replay, such as 'outcome is ok' or 'output contains TEXT'; may be repeated"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the group's commands. What follows `--` are arguments of the agent, in `args.rest`."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    promote = commands.add_parser("promote", help="keep a recorded run as a test case")
    promote.add_argument("run", metavar="RUN", help="run id, trace id, unique prefix, `last`, or a reel file")
    promote.add_argument("--name", help="name of its folder (default: the agent's, and the run's id)")
    promote.add_argument("--ticket", metavar="URL", default="", help="where the failure is dealt with")
    promote.add_argument("--expect", metavar="LINE", action="append", default=[], help=_EXPECT)
    promote.add_argument(
        "--agent", metavar="ENTRY", default="", help="script.py, or module:callable (default: recorded)"
    )
    promote.add_argument("--tool", action="append", default=[], metavar="NAME=MODULE:FUNCTION", help="as in replay")
    promote.add_argument("--mask", action="append", default=[], metavar="KIND:NAME/POINTER", help="as in replay")
    run_ = commands.add_parser("run", help="replay goldens; 0: all pass, 2: one failed, 125: stale or not comparable")
    run_.add_argument("names", metavar="NAME", nargs="*", help="default: all")
    run_.add_argument("--diff", action="store_true", help="also compare what each replay recorded of itself, whole")
    common.add_html(run_, "the replay of one golden beside its record")
    run_.add_argument("--json", action="store_true", help="the reports as a JSON list; the agent prints to stderr")
    ls = commands.add_parser("ls", help="list goldens")
    ls.add_argument("--json", action="store_true", help="a JSON list with stable field names")
    check = commands.add_parser("check", help="read goldens whole, without running anything; 0: all are well")
    check.add_argument("names", metavar="NAME", nargs="*", help="default: all")
    update = commands.add_parser("update", help="put another run in the place of a golden's; shows the diff first")
    update.add_argument("name", metavar="NAME")
    update.add_argument("--from", dest="source", metavar="RUN", help="a recorded run (default: a replay of the golden)")
    update.add_argument("--yes", action="store_true", help="do not ask")
    for command in (promote, run_, ls, check, update):
        command.add_argument("--folder", type=Path, default=Path("goldens"), help="default: goldens")
        if command in (promote, run_, update):
            common.add_store(command)


def run(args: argparse.Namespace) -> int:
    """Run one of the group's commands."""
    if args.rest and args.action != "promote":
        raise UsageError("arguments of the agent are given once, to `golden promote`: they are kept with the golden")
    actions = {"promote": _promote, "run": _run, "ls": _ls, "check": _check, "update": _update}
    return actions[args.action](args)


def _promote(args: argparse.Namespace) -> int:
    from runreel.cli.replay import tools_in
    from runreel.goldens import folder, promote, values

    data = common.load_reel(args, args.run)
    run_id, batch = folder.batch_of(data, args.run)
    name = args.name or promote.suggest(folder.run_of(batch, run_id))
    folder.require_name(name)
    settings = values.Settings(args.agent, tuple(args.rest), tools_in(args.tool), tuple(args.mask))
    golden = promote.promote(data, args.folder / name, expectations=args.expect, settings=settings, ticket=args.ticket)
    size = sum(path.stat().st_size for path in golden.folder.rglob("*") if path.is_file())
    console = common.console()
    fold(console, Text(f"golden {name}: run {one_line(golden.run.run_id)}, {size:,} bytes in {golden.folder}"), 2)
    if golden.failure:
        fold(console, Text(f"  it fails until the agent is mended ({golden.failure}): runreel golden run {name}"), 4)
    return 0


def _run(args: argparse.Namespace) -> int:
    from runreel.goldens import report, running
    from runreel.goldens.values import Verdict

    common.end_in_order()
    places = _places(args)
    if args.html is not None and len(places) != 1:
        raise UsageError(f"--html shows one golden: name it, one of {', '.join(place.name for place in places)}")
    redact = running.redactor(common.place(args).home) if args.diff or args.html else None
    clean, console = running.cleaner(), common.console()
    counts: Counter[Verdict] = Counter()
    documents = []
    broken = False
    for place in places:
        try:
            result = running.run(place, stdout=sys.stderr.fileno() if args.json else None, redact=redact)
        except RunReelError as error:
            verdict: Verdict = "not_comparable" if error.exit_code == _NOT_COMPARABLE else "failed"
            broken = broken or verdict == "failed"
            counts[verdict] += 1
            documents.append({"name": place.name, "verdict": verdict, "reason": str(error)})
            if not args.json:
                fold(console, Text(f"golden {place.name}: {running.trouble(error)}: {one_line(str(error), 2000)}"), 2)
            continue
        counts[result.verdict] += 1
        documents.append(report.document(result, clean))
        if args.html is not None:
            common.write_page(args.html, _page(result, clean))
        if not args.json:
            report.render(result, console, clean)
            if args.diff and result.replayed and result.replayed.run:
                _show_diff(result.golden.run, result.replayed.run)
    if args.json:
        common.show_json(documents)
    elif len(documents) > 1:
        fold(console, Text(report.summary(counts)))
    if counts["failed"]:
        return 1 if broken and counts["failed"] == 1 else 2
    return _NOT_COMPARABLE if counts["stale"] or counts["not_comparable"] else 0


def _page(result: "Result", clean: "Clean | None") -> str:
    """Return the page of a golden's replay, which went through the redactor."""
    from runreel.pages.comparison import comparison, replay_alone
    from runreel.replay import report
    from runreel.replay.diff import diff

    replayed, recorded = result.replayed, result.golden.run
    assert replayed is not None
    document = report.document(replayed, clean)
    if replayed.run is None:
        return replay_alone(document, "the agent exported no spans of its own")
    return comparison(diff(recorded, replayed.run), recorded, replayed.run, document)


def _show_diff(was: Run, now: Run) -> None:
    from runreel.replay import render
    from runreel.replay.diff import diff

    console = common.console()
    for line in render.lines(diff(was, now)):
        console.print(line)


def _places(args: argparse.Namespace) -> Sequence[Path]:
    """Return the folders of the goldens that are named, all there are without names. Raises NotFoundError."""
    from runreel.goldens import folder

    found = [folder.named(args.folder, name) for name in args.names] or folder.find(args.folder)
    if not found:
        raise UsageError(f"there is no golden in {args.folder}: runreel golden promote RUN makes one")
    return found


def _ls(args: argparse.Namespace) -> int:
    from runreel.goldens import folder

    heads = [(place, folder.read_head(place)) for place in folder.find(args.folder)]
    if args.json:
        names = ("run_id", "agent_id", "outcome", "failure", "ticket", "expect")
        common.show_json([{"name": place.name, **{name: head.get(name) for name in names}} for place, head in heads])
        return 0
    console = common.console()
    if not heads:
        fold(console, Text(f"no golden in {args.folder}: runreel golden promote RUN makes one"))
    for place, head in heads:
        fold(console, Text(f"{place.name}  {one_line(str(head.get('agent_id')), 60)}  run {head.get('run_id')}"), 2)
        for what in ("failure", "ticket"):
            if head.get(what):
                fold(console, Text(f"  {what}: {one_line(str(head[what]), 500)}"), 4)
        for line in head.get("expect") or ():
            fold(console, Text(f"  expects: {one_line(str(line), 500)}"), 4)
    return 0


def _check(args: argparse.Namespace) -> int:
    from runreel.goldens import checking

    problems = 0
    console = common.console()
    places = _places(args)
    for place in places:
        for problem in checking.problems(place):
            problems += 1
            fold(console, Text(f"{place.name}: {one_line(problem, 2000)}"), 2)
    if not problems:
        fold(console, Text(f"{many(len(places), 'golden')}: well"))
    return 1 if problems else 0


def _update(args: argparse.Namespace) -> int:
    from runreel.goldens import folder, promote, running

    old = folder.read(folder.named(args.folder, args.name))
    if args.source:
        data = common.load_reel(args, args.source)
    else:
        redact = running.redactor(common.place(args).home)
        data = promote.replayed_reel(running.run_golden(old, stdout=sys.stderr.fileno(), redact=redact), redact)
    new = promote.renewed(old, data)
    _show_diff(old.run, new.run)
    if not args.yes and not _agreed(args.name):
        print("nothing was changed")
        return 1
    folder.write(new)
    print(f"golden {args.name} holds run {new.run.run_id} now")
    return 0


def _agreed(name: str) -> bool:
    """Ask the person at the terminal; where there is none, the answer is no."""
    if not sys.stdin.isatty():
        raise UsageError(f"look at the diff above, then say so: runreel golden update {name} --yes")
    return input(f"Put this run in the place of golden {name}'s? [y/N] ").strip().lower() in ("y", "yes")
