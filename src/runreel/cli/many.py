"""`runreel replay --all FILTER`: replay many runs one after the other, and say in a table what became of them."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from runreel.cli import common
from runreel.cli.runs import since
from runreel.errors import RefusedError, RunReelError, UsageError
from runreel.storage import RunQuery
from runreel.terminal import fold
from runreel.text import many, one_line
from runreel.values import Run

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one run. `where` is its first divergence, or why it could not be replayed."""

    run_id: str
    verdict: "Verdict"
    divergences: int = 0
    where: str = ""


def run(args: argparse.Namespace, replay: Callable[[Run], "Replayed"]) -> int:
    """Replay them all; return 2 where one diverged, else 125 where one was not comparable, else 0.

    Raises UsageError for a filter that is none, RefusedError where no run matches: nothing was compared.
    """
    ids = _ids(args, args.all)
    if not ids:
        raise RefusedError(f"no run matches --all {args.all}: nothing was compared")
    # Each run is loaded by itself: the store is free in between, for what its replay recorded.
    lines = [_line(run_id, lambda name: common.load(args, name), replay) for run_id in _with_progress(ids)]
    counts = Counter(line.verdict for line in lines)
    if args.json:
        common.show_json(
            {
                "runs": [
                    {"run_id": one.run_id, "verdict": one.verdict, "divergences": one.divergences, "first": one.where}
                    for one in lines
                ],
                "counts": {verdict: counts[verdict] for verdict in _WORDS},
            }
        )
    else:
        _table(common.console(), lines, counts)
    return 2 if counts["diverged"] else 125 if counts["not_comparable"] else 0


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


def _ids(args: argparse.Namespace, text: str) -> Sequence[str]:
    """Return what to replay, as RUN names it."""
    folder = Path(text)
    if text and folder.is_dir():
        return sorted(str(path) for path in folder.glob("*.reel"))
    wanted = query(text)
    store = common.open_store(args)
    try:
        return [summary.run_id for summary in store.runs(wanted) if not summary.open]
    finally:
        store.close()


def _with_progress(ids: Sequence[str]) -> Iterator[str]:
    """Hand out one after the other, with a bar on a terminal; nothing elsewhere."""
    console = Console(stderr=True)
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        yield from progress.track(ids)


def _line(run_id: str, load: Callable[[str], Run], replay: Callable[[Run], "Replayed"]) -> Line:
    from runreel.replay.report import place

    try:
        replayed = replay(load(run_id))
    except RunReelError as error:  # one run that cannot be compared says nothing about the others
        return Line(run_id, "not_comparable", where=str(error))
    first = replayed.divergences[0] if replayed.divergences else None
    where = f"{first.type} {place(first)}".strip() if first is not None else ""
    return Line(replayed.of, replayed.verdict, len(replayed.divergences), where)


def _table(console: Console, lines: Sequence[Line], counts: Mapping["Verdict", int]) -> None:
    for line in lines:
        text = Text(f"{one_line(line.run_id)}  ").append(f"{_WORDS[line.verdict]:<14}", _STYLES[line.verdict])
        fold(console, text.append(f"  {one_line(line.where, 500)}" if line.where else ""), 4)
    said = ", ".join(f"{counts[verdict]:,} {word}" for verdict, word in _WORDS.items() if counts.get(verdict))
    fold(console, Text(f"{many(len(lines), 'run')}: {said}", "bold"))
    places = Counter(line.where for line in lines if line.verdict == "diverged")
    if len(lines) > 1:
        for where, count in places.most_common(_MOST_PLACES):
            fold(console, Text(f"  {count:,} × {one_line(where, 500)}"), 6)
