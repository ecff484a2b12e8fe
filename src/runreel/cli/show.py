"""Runs on the terminal: the list, and one run as a tree."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from runreel.runs.document import iso, plain, summarise
from runreel.terminal import draw, fitted, fold
from runreel.text import many, one_line, printable
from runreel.values import Ref, Run, RunSummary, Step, Value

_HEAD = ("RUN", "STARTED (UTC)", "AGENT", "OUTCOME", "MODEL", "TOOLS", "RETR", "REPLAYABLE")
_STYLE = {"full": "green", "partial": "yellow", "none": "red", "ok": "green", "error": "red", "interrupted": "yellow"}
_KIND_STYLE = {"llm": "magenta", "tool": "cyan", "retrieval": "blue", "agent": "bold"}
_SHOWN = 100
_PLACES = 8  # step numbers in front of a gap that many steps have
_CUT_TOKEN = re.compile("<[A-Z][0-9A-Za-z_]*…$")
_NO_RUNS = (
    "no such run in this data folder (--home, else RUNREEL_HOME, else ./.runreel). To record some, point an agent's "
    "OTLP exporter at `runreel serve`, or `runreel runs import PATH`"
)


def table(console: Console, runs: Sequence[RunSummary]) -> None:
    """Print runs in aligned columns. The run id is whole where there is room, else a prefix that names the run too."""
    if not runs:
        fold(console, Text(_NO_RUNS))
        return
    rows = [_HEAD, *(_cells(run) for run in runs)]
    widths = _widths(rows)
    if console.is_terminal and sum(widths) + 2 * len(widths) - 2 > console.width:
        rows = [_narrow(row, _prefix_length(runs)) for row in rows]
        widths = _widths(rows)
        # What is still too much comes off the agents' names.
        widths[2] = max(8, widths[2] - max(0, sum(widths) + 2 * len(widths) - 2 - console.width))
        rows = [(*row[:2], one_line(row[2], widths[2]), *row[3:]) for row in rows]
    for number, row in enumerate(rows):
        line = Text("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        line.stylize("bold" if number == 0 else "")
        console.print(line, soft_wrap=True)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]


def _narrow(row: tuple[str, ...], prefix: int) -> tuple[str, ...]:
    """Shorten a row for a narrow terminal: a prefix of the run id, the start without year and seconds."""
    if row is _HEAD:
        return ("RUN", "START (UTC)", "AGENT", "OUTCOME", "LLM", "TOOL", "RETR", "REPLAY")
    return (row[0][:prefix], row[1][5:16] if row[1][:1].isdigit() else row[1], *row[2:])


def _prefix_length(runs: Sequence[RunSummary]) -> int:
    """Return how many characters tell the listed runs apart, with some to spare for those not listed."""
    ids = {one_line(run.run_id) for run in runs}
    return next((length for length in range(10, 64) if len({text[:length] for text in ids}) == len(ids)), 64)


def _cells(run: RunSummary) -> tuple[str, ...]:
    outcome = "open" if run.open else run.outcome
    counts = (str(run.model_calls), str(run.tool_calls), str(run.retrievals))
    return (one_line(run.run_id), moment(run.started_ns), one_line(run.agent_id, 40), outcome, *counts, run.replayable)


def moment(ns: int) -> str:
    """Return a time for people, in UTC, to the second."""
    return (iso(ns) or "unknown")[:19].replace("T", " ")


def tree(console: Console, run: Run, *, payloads: bool = False) -> None:
    """Print one run: what it is, its steps as a tree, and what is missing for a replay."""
    summary = summarise(run)
    head = Text.assemble(("run ", "bold"), (one_line(run.run_id), "bold"), f"  {one_line(run.agent_id)}  ")
    head.append("open" if run.open else run.outcome, _STYLE.get(run.outcome, ""))
    head.append("  replayable: ").append(run.replayable, _STYLE[run.replayable])
    fold(console, head, 2)
    counts = f"{many(summary.model_calls, 'model call')}, {many(summary.tool_calls, 'tool call')}"
    if summary.retrievals:
        counts += f", {many(summary.retrievals, 'retrieval')}"
    span = max(0, run.ended_ns - run.started_ns)
    fold(console, Text(f"  {counts}; started {moment(run.started_ns)} UTC, took {duration(span)}"), 4)
    for label, text in _about(run):
        fold(console, Text(f"  {label}: {text}"), 4)
    steps = _steps(console, run, payloads=payloads)
    draw(console, steps)
    _news(console, run)
    _gaps(console, run)


def _about(run: Run) -> list[tuple[str, str]]:
    about = []
    if len(run.trace_ids) > 1 or run.trace_ids != (run.run_id,):
        about.append(("traces", one_line(", ".join(run.trace_ids))))
    if run.parent_run_id:
        about.append(("parent run", one_line(f"{run.parent_run_id} ({run.parent_relation or 'linked'})")))
    if run.replay_of:
        result = run.replay_result
        came_to = f": {one_line(result.mode, 20)}, {one_line(result.verdict, 20)}" if result else ""
        about.append(("replay of", f"{one_line(run.replay_of)}{came_to}"))
    if run.user_input.sha256:
        about.append(("user input", brief(run.value(run.user_input))))
    if run.final_output.sha256:
        about.append(("final output", brief(run.value(run.final_output))))
    about += [("flagged", one_line(str(flag.get("reason") or "without a reason"), _SHOWN)) for flag in run.flagged]
    about += [("note", one_line(note, 2 * _SHOWN)) for note in run.notes]
    about += [("score", one_line(_score(score), _SHOWN)) for score in run.scores]
    return about


def _score(score: Mapping[str, Value]) -> str:
    said = [str(plain(score[key])) for key in ("value", "label") if key in score]
    where = f" (#{plain(score['step'])})" if "step" in score else ""
    return " ".join((str(score.get("name") or "without a name"), *said)) + where


def _steps(console: Console, run: Run, *, payloads: bool) -> Tree:
    top = Tree(Text("steps"), hide_root=False)
    nodes: dict[int, Tree] = {}
    # A child may stand before its parent where clocks disagree: parents first, whatever the order of steps.
    waiting = {step.seq: step for step in run.steps}
    while waiting:
        ready = [step for step in waiting.values() if step.parent is None or step.parent not in waiting]
        for step in ready or list(waiting.values()):
            parent = nodes.get(step.parent, top) if step.parent is not None else top
            node = nodes[step.seq] = parent.add(fitted(console, step_line(run, step)))
            if payloads:
                for label, ref in (("in", step.input), ("out", step.output)):
                    node.add(Text(f"{label}: {_whole(run, ref)}"))
            del waiting[step.seq]
    return top


def step_line(run: Run, step: Step) -> Text:
    """Return one step on one line: number, kind, name, and what a reader looks for first."""
    line = Text(f"#{step.seq} ").append(step.kind, _KIND_STYLE.get(step.kind, "")).append(f" {one_line(step.name, 60)}")
    if where := _elsewhere(run, step):
        line.append(f"  in another process: {where}", "yellow")
    if step.status != "ok":
        line.append(f"  {step.status}", _STYLE.get(step.status, ""))
        if step.error:
            line.append(f" {one_line(step.error.type, 40)}: {one_line(step.error.message, 80)}")
    if step.kind in {"tool", "retrieval"}:
        line.append(f"  {_brief_ref(run, step.input)} → {_brief_ref(run, step.output)}")
    elif step.kind == "llm":
        line.append(f"  {_llm(run, step)}")
    elif step.kind == "memory":
        line.append(f"  {one_line(str(step.fields.get('key') or step.fields.get('op') or ''), 60)}")
    elif step.kind == "decision":
        line.append(f"  {one_line(str(step.fields.get('type') or ''), 20)} → {_brief_ref(run, step.output)}")
    if step.shadowed_by is not None:
        line.append(f"  (the same call as #{step.shadowed_by})", "dim")
    if step.synthesised:
        line.append("  (no span of its own: taken from the messages)", "dim")
    return line


def _elsewhere(run: Run, step: Step) -> str:
    """Name the process of a step where it is another one than that of the step above."""
    process = step.fields.get("process")
    above = run.steps[step.parent].fields.get("process") if step.parent is not None else None
    if not isinstance(process, Mapping) or process == above:
        return ""
    pid = process.get("process.pid")
    named = str(process.get("service.name") or process.get("service.instance.id") or "unnamed")
    return one_line(named if pid is None else f"{named}, pid {plain(pid)}", 60)


def _llm(run: Run, step: Step) -> str:
    usage = step.fields.get("usage")
    tokens = ""
    if isinstance(usage, Mapping) and usage.get("input_tokens") is not None:
        tokens = one_line(f"{plain(usage['input_tokens'])} → {plain(usage.get('output_tokens'))} tokens")
    output = run.value(step.output)
    if not isinstance(output, tuple):
        return "  ".join(filter(None, (tokens, step.output.state if step.output.state != "whole" else "")))
    parts = [part for message in output if isinstance(message, Mapping) for part in _parts(message)]
    calls = [str(part.get("name")) for part in parts if part.get("type") == "tool_call"]
    texts = [str(part.get("content")) for part in parts if part.get("type") == "text" and part.get("content")]
    # What it decided comes first: a narrow terminal cuts the end off.
    asked = f"calls {one_line(', '.join(_counted(calls)))}" if calls else ""
    return "  ".join(filter(None, (asked, tokens, *(f'"{_cut(text)}"' for text in texts))))


def _counted(names: Sequence[str]) -> list[str]:
    """Name what is called several times in a row once."""
    rows = [(name, len(list(same))) for name, same in groupby(names)]
    return [f"{name} ×{times}" if times > 1 else name for name, times in rows]


def _parts(message: Mapping[str, Value]) -> list[Mapping[str, Value]]:
    parts = message.get("parts")
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, tuple) else []


def _news(console: Console, run: Run) -> None:
    """Print what steps hold that is not known here: it is in the run, and nothing is missing for it."""
    places: dict[str, list[str]] = {}
    for step in run.steps:
        for what in _unknown(step):
            places.setdefault(what, []).append(f"#{step.seq}")
    if places:
        console.print(Text("not known here, and kept as it came", "bold"))
    for what, steps in places.items():
        more = f" and {len(steps) - _PLACES} more" if len(steps) > _PLACES else ""
        fold(console, Text(f"  {', '.join(steps[:_PLACES])}{more} {one_line(what, _SHOWN)}"), 4)


def _unknown(step: Step) -> tuple[str, ...]:
    """Return what a step holds that is not known here: operations, attributes, parts of messages."""
    listed = step.fields.get("unknown")
    return tuple(what for what in listed if isinstance(what, str)) if isinstance(listed, tuple) else ()


def _gaps(console: Console, run: Run) -> None:
    """Print what is missing, each thing to do once, below all that it would bring."""
    if not run.gaps:
        return
    console.print(Text("missing", "bold"))
    fixes: dict[str, dict[str, list[str]]] = {}
    for gap in run.gaps:
        what = one_line(f"{gap.field} (for {gap.needed_for}): {gap.cause}")
        places = fixes.setdefault(gap.fix, {}).setdefault(what, [])
        places.append("run" if gap.step is None else f"#{gap.step}")
    for fix, missing in fixes.items():
        for what, places in missing.items():
            more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
            fold(console, Text(f"  {', '.join(places[:_PLACES])}{more} {what}"), 4)
        fold(console, Text(f"    → {one_line(fix)}", "green"), 6)


def brief(value: Value, width: int = _SHOWN) -> str:
    """Return a value on one line, cut."""
    return _cut(value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False), width)


def _cut(text: str, width: int = _SHOWN) -> str:
    """Return a text on one line, cut, but not inside a token: half of one says nothing."""
    return _CUT_TOKEN.sub("…", one_line(text, width))


def duration(ns: int) -> str:
    """Return nanoseconds for people: 12 ms, 3.4 s, 2 min 5 s."""
    if ns < 1_000_000_000:
        return f"{ns / 1e6:.0f} ms"
    if ns < 120_000_000_000:
        return f"{ns / 1e9:.1f} s"
    minutes, seconds = divmod(ns // 1_000_000_000, 60)
    return f"{minutes} min {seconds} s"


def _brief_ref(run: Run, ref: Ref) -> str:
    if not ref.sha256 or ref.sha256 not in run.payloads:
        return ref.state
    return brief(run.value(ref), 60)


def _whole(run: Run, ref: Ref) -> str:
    if not ref.sha256 or ref.sha256 not in run.payloads:
        return ref.state
    value = run.value(ref)
    return printable(value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False, indent=2))
