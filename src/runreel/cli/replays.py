"""Replays on the terminal: the list of them, and those of one run below it."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from runreel.cli.show import moment
from runreel.runs.document import plain
from runreel.terminal import fold
from runreel.text import one_line
from runreel.values import ReplayResult, RunSummary

_STYLE = {"same": "green", "diverged": "red", "not_comparable": "yellow"}
_WORDS = {"same": "identical", "not_comparable": "not comparable"}
_NO_REPLAYS = "no such replay here: `runreel replay RUN` stores one"


def table(console: Console, replays: Sequence[RunSummary]) -> None:
    """Print replays, one after the other: of what run, when, what they came to, and where they first diverged."""
    if not replays:
        fold(console, Text(_NO_REPLAYS))
    for one in replays:
        line = Text(f"{moment(one.started_ns)}  ")
        line.append_text(_verdict(one.replay_result)).append(f"  {one_line(one.run_id)}  {one_line(one.agent_id, 40)}")
        fold(console, line, 4)
        fold(console, Text(f"  of {one_line(one.replay_of or '')}"), 4)
        if where := first(one.replay_result):
            fold(console, Text(f"  first divergence: {where}", "dim"), 4)


def below(console: Console, replays: Sequence[RunSummary]) -> None:
    """Print the replays of a run that is shown."""
    if replays:
        console.print(Text("replays", "bold"))
    for one in replays:
        line = Text(f"  {moment(one.started_ns)}  ").append_text(_verdict(one.replay_result))
        where = first(one.replay_result)
        fold(console, line.append(f"  {one_line(one.run_id)}" + (f"  {where}" if where else "")), 4)


def first(result: ReplayResult | None) -> str:
    """Say where a replay first diverged: type, recorded step, call, field; empty where it did not."""
    if result is None or not result.first:
        return ""
    said = {name: one_line(str(plain(value)), 80) for name, value in result.first.items()}
    words = [said["type"]] if "type" in said else []
    if "step" in said:
        words.append(f"at step {said['step']}")
    if "kind" in said or "name" in said:
        words.append(" ".join(said[name] for name in ("kind", "name") if name in said))
    if "path" in said:
        words.append(f"field {said['path']}")
    return ", ".join(words)


def _verdict(result: ReplayResult | None) -> Text:
    if result is None:
        return Text("not judged")
    words = _WORDS.get(result.verdict, one_line(result.verdict, 20))
    count = f" ({result.divergences})" if result.divergences else ""
    return Text(f"{one_line(result.mode, 20)}: ").append(f"{words}{count}", _STYLE.get(result.verdict, ""))
