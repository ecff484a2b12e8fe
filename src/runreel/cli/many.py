"""`runreel replay --all FILTER`: replay many runs one after the other, and say in a table what became of them."""

import argparse
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from runreel.cli import common
from runreel.cli.runs import since
from runreel.errors import RefusedError, RunReelError, UsageError
from runreel.storage import RunQuery
from runreel.terminal import fold
from runreel.text import many, one_line
from runreel.values import DEFAULT_TENANT, Run, RunSummary

if TYPE_CHECKING:
    from runreel.replay.storing import Stored
    from runreel.replay.values import Replayed, Verdict

HELP = (
    "replay every run that matches: since=7d, agent=ID, user=REF, outcome=error, tool=NAME, verdict=full, text=TEXT, "
    "limit=N, several with commas; or a folder of reel files. 0: all the same, 2: one diverged, 125: one not comparable"
)
_NAMES = ("since", "agent", "user", "outcome", "tool", "verdict", "text", "limit")
_OUTCOMES = ("ok", "error", "aborted", "user_flagged")
_REPLAYABLE = ("full", "partial", "none")
_STYLES: Mapping["Verdict", str] = {"same": "green", "diverged": "red", "not_comparable": "yellow"}
_WORDS: Mapping["Verdict", str] = {"same": "identical", "diverged": "diverged", "not_comparable": "not comparable"}
_MOST_PLACES = 10
_CHUNK = 16  # runs that are loaded, and replays that are stored, with the store opened once
_INDEX = "index.html"
_NO_FILE = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Acts:
    """What is done with each run: `replay` it, `keep` the replays of some, and, where pages are wanted, make the `page`
    of one. What a replay raises stands for its result."""

    replay: Callable[[Run], "Replayed"]
    keep: "Callable[[Sequence[Replayed]], Sequence[Stored]]"
    page: "Callable[[Run, Replayed, Stored], str]"


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one run. `where` is its first divergence, or why it could not be replayed; `stored` the run id of
    its replay, `not_stored` why there is none; `page` the file name of its page, if there is one."""

    run_id: str
    verdict: "Verdict"
    divergences: int = 0
    where: str = ""
    stored: str = ""
    not_stored: str = ""
    page: str = ""


def run(args: argparse.Namespace, acts: Acts) -> int:
    """Replay them all; return 2 where one diverged, else 125 where one was not comparable, else 0.

    Raises UsageError for a filter that is none, RefusedError where no run matches or the store cannot be read: nothing
    was compared.
    """
    folder = _folder(args.html)
    ids, still_open = _ids(args, args.all)
    notes = [f"{many(still_open, 'run')} left out: not ended yet"] if still_open else []
    if not ids:
        raise RefusedError(f"no run matches --all {args.all}: nothing was compared{_also(notes)}")
    as_they_come = not args.json and not sys.stderr.isatty()
    console, lines = common.console(), []
    for line in _lines(args, ids, acts, folder):
        lines.append(line)
        if as_they_come:  # a log shows how far it is; on a terminal the bar does
            _show(console, line)
            sys.stdout.flush()
    counts = Counter(line.verdict for line in lines)
    code = 2 if counts["diverged"] else 125 if counts["not_comparable"] else 0
    if folder is not None:
        _write_index(folder, lines, args.all, notes)
    if args.json:
        common.show_json(_document(lines, counts, still_open))
        return code
    for line in () if as_they_come else lines:
        _show(console, line)
    _sum_up(console, lines, counts, notes)
    return code


def query(text: str) -> RunQuery:
    """Read a filter. Raises UsageError where it is none, and names what there is."""
    given: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, found, value = part.partition("=")
        if not found or name not in _NAMES or not value:
            raise UsageError(f"--all {part!r}: give NAME=VALUE, a name being one of {', '.join(_NAMES)}")
        given[name] = value
    for name, known in (("outcome", _OUTCOMES), ("verdict", _REPLAYABLE)):
        if given.get(name, known[0]) not in known:
            raise UsageError(f"--all {name}={given[name]}: one of {', '.join(known)}")
    if not given.get("limit", "0").isdecimal():
        raise UsageError(f"--all limit={given['limit']}: a number, 0 for all")
    return RunQuery(
        since_ns=since(given.get("since")),
        agent=given.get("agent"),
        user=given.get("user"),
        outcome=given.get("outcome"),
        tool=given.get("tool"),
        verdict=given.get("verdict"),
        text=given.get("text"),
        limit=int(given.get("limit", "0")),
    )


# --- the runs ---------------------------------------------------------------------------------------------------------


def _ids(args: argparse.Namespace, text: str) -> tuple[Sequence[str], int]:
    """Return what to replay, as RUN names it, and how many runs match that have not ended yet."""
    folder = Path(text)
    if text and folder.is_dir():
        return sorted(str(path) for path in folder.glob("*.reel")), 0
    found = _matching(args, query(text))
    return [summary.run_id for summary in found if not summary.open], sum(summary.open for summary in found)


def _matching(args: argparse.Namespace, wanted: RunQuery) -> Sequence[RunSummary]:
    """List runs. A store that cannot be read says nothing of the agent: `git bisect` must not take it for a bad commit.

    Raises UsageError, RefusedError.
    """
    try:
        store = common.open_store(args)
        try:
            return store.runs(wanted)
        finally:
            store.close()
    except UsageError:
        raise
    except RunReelError as error:
        raise RefusedError(f"nothing was compared: {error}") from None


def _loaded(args: argparse.Namespace, ids: Sequence[str]) -> Sequence[tuple[str, Run | RunReelError]]:
    """Load runs with the store opened once, and let go of again: what their replays record is stored in it."""
    if args.all and Path(args.all).is_dir():
        return [(name, _run_or_error(partial(common.load, args, name))) for name in ids]
    try:
        store = common.open_store(args)
    except RunReelError as error:
        return [(name, error) for name in ids]
    try:
        return [(name, _run_or_error(partial(store.run, DEFAULT_TENANT, name))) for name in ids]
    finally:
        store.close()


def _run_or_error(load: Callable[[], Run]) -> Run | RunReelError:
    """One run that cannot be read says nothing about the others."""
    try:
        return load()
    except RunReelError as error:
        return error


def _lines(args: argparse.Namespace, ids: Sequence[str], acts: Acts, folder: Path | None) -> Iterator[Line]:
    """Replay them one after the other, with a bar on a terminal."""
    bar = Progress(
        *(TextColumn("replaying"), BarColumn(), MofNCompleteColumn()),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task("", total=len(ids))
        left = iter(ids)
        while chunk := list(islice(left, _CHUNK)):
            yield from _chunk(args, chunk, acts, folder, lambda: bar.advance(task))


def _chunk(
    args: argparse.Namespace, ids: Sequence[str], acts: Acts, folder: Path | None, advance: Callable[[], None]
) -> Iterator[Line]:
    results: list[tuple[str, Run | None, Replayed | RunReelError]] = []
    stored: Sequence[Stored] = ()
    try:
        for name, found in _loaded(args, ids):
            results.append(_result(name, found, acts))
            advance()
    finally:  # Ctrl-C: what was replayed so far is kept
        done = [result for _, _, result in results if not isinstance(result, RunReelError)]
        stored = acts.keep(done)
    kept = iter(stored)
    for name, recorded, result in results:
        if recorded is None or isinstance(result, RunReelError):
            yield Line(name, "not_comparable", where=str(result))
            continue
        where = next(kept)
        line = _line(result, where)
        yield line if folder is None else _with_page(folder, line, acts.page(recorded, result, where))


def _result(name: str, found: Run | RunReelError, acts: Acts) -> "tuple[str, Run | None, Replayed | RunReelError]":
    if isinstance(found, RunReelError):
        return name, None, found
    try:
        return name, found, acts.replay(found)
    except RunReelError as error:  # one run that cannot be compared says nothing about the others
        return name, found, error


def _line(replayed: "Replayed", kept: "Stored") -> Line:
    from runreel.replay.report import place

    first = replayed.divergences[0] if replayed.divergences else None
    where = f"{first.type} {place(first)}".strip() if first is not None else ""
    return Line(replayed.of, replayed.verdict, len(replayed.divergences), where, kept.run_id, kept.why)


# --- what is said of them ---------------------------------------------------------------------------------------------


def _document(lines: Sequence[Line], counts: Mapping["Verdict", int], still_open: int) -> dict[str, Any]:
    return {
        "runs": [
            {
                "run_id": one.run_id,
                "verdict": one.verdict,
                "divergences": one.divergences,
                "first": one.where,
                "stored_run_id": one.stored or None,
                "not_stored": one.not_stored or None,
                "page": one.page or None,
            }
            for one in lines
        ],
        "counts": {verdict: counts[verdict] for verdict in _WORDS},
        "open": still_open,
    }


def _show(console: Console, line: Line) -> None:
    text = Text(f"{one_line(line.run_id)}  ").append(f"{_WORDS[line.verdict]:<14}", _STYLES[line.verdict])
    fold(console, text.append(f"  {one_line(line.where, 500)}" if line.where else ""), 4)


def _sum_up(console: Console, lines: Sequence[Line], counts: Mapping["Verdict", int], notes: Sequence[str]) -> None:
    said = ", ".join(f"{counts[verdict]:,} {word}" for verdict, word in _WORDS.items() if counts.get(verdict))
    fold(console, Text(f"{many(len(lines), 'run')}: {said}", "bold"))
    places = Counter(line.where for line in lines if line.verdict == "diverged")
    if len(lines) > 1:
        for where, count in places.most_common(_MOST_PLACES):
            fold(console, Text(f"  {count:,} × {one_line(where, 500)}"), 6)
    unstored = Counter(line.not_stored for line in lines if line.not_stored)
    for why, count in unstored.items():
        fold(console, Text(f"  {many(count, 'replay')} not stored: {one_line(why, 500)}", "dim"), 4)
    for note in notes:
        fold(console, Text(f"  {note}", "dim"), 4)


def _also(notes: Sequence[str]) -> str:
    return f" ({'; '.join(notes)})" if notes else ""


# --- pages ------------------------------------------------------------------------------------------------------------


def _folder(path: Path | None) -> Path | None:
    """Make the folder that pages go to. Raises UsageError where there can be none."""
    if path is None:
        return None
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--html {path}: with --all it names a folder, for a page a run: {error.strerror}") from None
    return path


def _with_page(folder: Path, line: Line, page: str) -> Line:
    name = file_name(line.run_id)
    common.write_page(folder / name, page)
    return replace(line, page=name)


def file_name(run_id: str) -> str:
    """Return a file's name for a run: its id where that can be one, else what tells it from any other."""
    clean = _NO_FILE.sub("-", run_id)[:100].lstrip(".-")
    if clean == run_id and clean != Path(_INDEX).stem:
        return f"{clean}.html"
    return f"{clean}-{hashlib.sha256(run_id.encode(errors='replace')).hexdigest()[:12]}.html"


def _write_index(folder: Path, lines: Sequence[Line], what: str, notes: Sequence[str]) -> None:
    from runreel.pages.overview import Row, overview

    rows = [Row(line.run_id, line.verdict, line.where, line.page) for line in lines]
    common.write_page(folder / _INDEX, overview(rows, what or "all runs", notes))
