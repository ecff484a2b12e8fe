"""`runreel golden promote | run | ls | check | update | register`: recorded runs kept as test cases."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from runreel.cli import common
from runreel.errors import RunReelError, StoreError, UsageError
from runreel.terminal import fold
from runreel.text import many, one_line
from runreel.values import Run

if TYPE_CHECKING:
    from runreel.goldens.register import Known
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
    ls = commands.add_parser("ls", help="list goldens, and whether the store knows them")
    ls.add_argument(
        "--registered", action="store_true", help="those that are registered with the store, in any repository"
    )
    ls.add_argument("--json", action="store_true", help="a JSON list with stable field names")
    check = commands.add_parser("check", help="read goldens whole, without running anything; 0: all are well")
    check.add_argument("names", metavar="NAME", nargs="*", help="default: all")
    update = commands.add_parser("update", help="put another run in the place of a golden's; shows the diff first")
    update.add_argument("name", metavar="NAME")
    update.add_argument("--from", dest="source", metavar="RUN", help="a recorded run (default: a replay of the golden)")
    update.add_argument("--yes", action="store_true", help="do not ask")
    register = commands.add_parser("register", help="tell the store which runs are goldens: it keeps them")
    register.add_argument("names", metavar="NAME", nargs="*", help="default: all")
    for command in (promote, run_, ls, check, update, register):
        command.add_argument("--folder", type=Path, default=Path("goldens"), help="default: goldens")
        if command is not check:
            common.add_store(command)


def run(args: argparse.Namespace) -> int:
    """Run one of the group's commands."""
    if args.rest and args.action != "promote":
        raise UsageError("arguments of the agent are given once, to `golden promote`: they are kept with the golden")
    actions = {"promote": _promote, "run": _run, "ls": _ls, "check": _check, "update": _update, "register": _register}
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
    _tell_store(args, golden.folder)
    return 0


def _tell_store(args: argparse.Namespace, *places: Path) -> str:
    """Register goldens, and say what came of it; return why it could not be. A golden is as good without a store."""
    from runreel.goldens import register

    why = register.register([register.of_folder(place) for place in places], common.place(args), say=common.say)
    said = f"not registered with a store: {one_line(why, 1000)}" if why else "registered with the store"
    fold(common.console(), Text(f"  {said}", "dim"), 4)
    return why


def _register(args: argparse.Namespace) -> int:
    places = _places(args)
    if _tell_store(args, *places):
        return 1
    for place in places:
        fold(common.console(), Text(f"  {place.name}"), 4)
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
            verdict: Verdict = "not_comparable" if running.is_not_comparable(error) else "failed"
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
    from runreel.goldens import folder, register

    stored = register.known(common.place(args), say=common.say)
    if args.registered:
        return _ls_registered(args, stored)
    heads = [(place, folder.read_head(place)) for place in folder.find(args.folder)]
    held = {place: stored.holds(register.of_folder(place)) for place, _ in heads}
    if args.json:
        names = ("run_id", "agent_id", "outcome", "failure", "ticket", "expect")
        common.show_json(
            [
                {"name": place.name, **{name: head.get(name) for name in names}}
                | {"registered": None if stored.why else held[place]}
                for place, head in heads
            ]
        )
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
        if not stored.why:
            said = "registered with the store" if held[place] else "not registered: runreel golden register"
            fold(console, Text(f"  {said}", "dim"), 4)
    if heads and stored.why:
        fold(console, Text(f"whether a store knows them was not asked: {one_line(stored.why, 1000)}", "dim"), 4)
    return 0


def _ls_registered(args: argparse.Namespace, stored: "Known") -> int:
    """List what the store knows. Raises StoreError where it cannot be asked: that is all there is to say then."""
    from runreel.runs import kept

    if stored.why:
        raise StoreError(f"no store can be asked for goldens: {stored.why}")
    if args.json:
        common.show_json([kept.document(one) for one in stored.goldens])
        return 0
    for one in stored.goldens:
        ticket = f"  {one_line(one.ticket, 500)}" if one.ticket else ""
        fold(common.console(), Text(f"{one_line(one.name, 100)}  run {one_line(one.run_id, 200)}{ticket}"), 2)
    fold(common.console(), Text(f"{many(len(stored.goldens), 'golden')} registered", "dim"))
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
    _tell_store(args, new.folder)
    return 0


def _agreed(name: str) -> bool:
    """Ask the person at the terminal; where there is none, the answer is no."""
    if not sys.stdin.isatty():
        raise UsageError(f"look at the diff above, then say so: runreel golden update {name} --yes")
    return input(f"Put this run in the place of golden {name}'s? [y/N] ").strip().lower() in ("y", "yes")
