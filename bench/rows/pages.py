"""Pages and comparisons: what a step costs in a long run against a short one, and against stock difflib; and how soon
a browser has the page ready."""

import difflib
import json
import statistics
from collections.abc import Iterator
from typing import Any

from browser import chromium, ready_ms
from harness import SKIPPED, Bar, Declared, Row, Say, Work, side_by_side

from runreel.canonical import freeze, make_ref
from runreel.pages.comparison import comparison
from runreel.replay.diff import diff
from runreel.runs.document import run_document
from runreel.values import Ref, Run, Step, Value

ROWS = (
    Declared("diff_1000_steps", Bar("<=", 1.5), "times the time a step of runs of 100 steps"),
    Declared("diff_against_difflib", Bar("<=", 1), "times the time of difflib over the JSON of both runs, 40 steps"),
    Declared("page_ready_40_steps", Bar("<=", 3), "times the time of an empty page, to DOM ready in Chromium"),
)
_EMPTY = "<!doctype html><html lang=en><meta charset=utf-8><title>empty</title><p>Nothing.</p></html>"
_WINDOW = 4  # turns that the model is told


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Compare two runs that differ in one result of a tool, and write the page."""
    long, rounds = (300, 1) if quick else (1000, 3)
    runs = {steps: (_run(steps, "old"), _run(steps, "new")) for steps in (40, 100, long)}
    works = {str(steps): _paged(*runs[steps]) for steps in (100, long)}
    sides = side_by_side(works, rounds, say=say)
    few, many = sides["100"], sides[str(long)]
    yield ROWS[0].row(
        many.median / few.median,
        f"{many.median * 1e3:.2f} ms in {long} against {few.median * 1e3:.2f} ms in 100, processor time, with the "
        f"page; {many.spread}; the model is told the last {_WINDOW} turns",
    )
    sides = side_by_side({"ours": _paged(*runs[40]), "difflib": _stock(*runs[40])}, rounds, say=say)
    ours, stock = sides["ours"], sides["difflib"]
    yield ROWS[1].row(
        ours.median / stock.median,
        f"{ours.median * 1e3:.2f} ms a step with the page against {stock.median * 1e3:.2f} ms for difflib.HtmlDiff "
        f"over the lines of both documents, processor time, {ours.spread}",
    )
    say("a page in Chromium")
    yield _ready(*runs[40], rounds=5 if quick else 25)


def _ready(a: Run, b: Run, rounds: int) -> Row:
    browser = chromium()
    if browser is None:
        return ROWS[2].row(None, f"{SKIPPED}no chromium")
    page = comparison(diff(a, b), a, b)
    # The first round is the browser's own start.
    times = {name: found[1:] for name, found in ready_ms(browser, {"empty": _EMPTY, "page": page}, rounds + 1).items()}
    ours, empty = (statistics.median(times[name]) for name in ("page", "empty"))
    return ROWS[2].row(
        ours / empty,
        f"{ours:.1f} against {empty:.1f} ms from the start of the navigation, median of {rounds} rounds; a page of "
        f"{len(page) // 1024} KB",
    )


def _paged(a: Run, b: Run) -> Work:
    def work() -> float:
        comparison(diff(a, b), a, b)
        return float(len(a.steps))

    return work


def _stock(a: Run, b: Run) -> Work:
    left, right = (json.dumps(run_document(run, payloads=True), indent=1).splitlines() for run in (a, b))

    def work() -> float:
        difflib.HtmlDiff().make_file(left, right, context=True)
        return float(len(a.steps))

    return work


def _run(steps: int, word: str) -> Run:
    """Make a run of model calls and tools in turn; one result in its middle is `word`."""
    payloads: dict[str, Value] = {}

    def ref(value: Any) -> Ref:
        frozen = freeze(value)
        made = make_ref(frozen)
        payloads[made.sha256] = frozen
        return made

    made, history = [], []
    for number in range(0, steps, 2):
        result = f"row {number} " * 20 + (word if number == steps // 4 * 2 else "")
        call = {"type": "tool_call", "id": f"c{number}", "name": "look", "arguments": {"n": number}}
        answer = {"role": "assistant", "parts": [call]}
        got = {"role": "tool", "parts": [{"type": "tool_call_response", "id": f"c{number}", "response": result}]}
        asked = [{"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}, *history[-2 * _WINDOW :]]
        about = {"kind": "llm", "name": "m", "input": ref(asked), "output": ref([answer])}
        before = frozenset(range(max(0, number - 1), number))
        made.append(Step(number, (), None, after=before, start_ns=number, end_ns=number + 1, **about))
        about = {"kind": "tool", "name": "look", "input": ref({"n": number}), "output": ref(result)}
        after = frozenset({number})
        made.append(
            Step(number + 1, (), None, after=after, call_id=f"c{number}", start_ns=number, end_ns=number + 1, **about)
        )
        history += [answer, got]
    return Run("default", word, "1", ("0" * 32,), "agent", tuple(made), payloads=payloads, ended_ns=steps)
