"""Tell people and programs what a golden's replay came to: what was expected first, then where it first diverged."""

import shlex
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from runreel.goldens.values import Check, Result, Verdict
from runreel.replay import report
from runreel.replay.cleaning import Clean
from runreel.replay.values import Divergence
from runreel.terminal import fold
from runreel.text import many, one_line

_MOST_SHOWN = 5
_WIDTH = 160
STYLES = {"passed": "bold green", "failed": "bold red", "stale": "bold yellow", "not_comparable": "bold yellow"}
WORDS = {"passed": "passed", "failed": "FAILED", "stale": "stale", "not_comparable": "not comparable"}


def render(result: Result, console: Console, clean: Clean | None = None) -> None:
    """Print what a golden came to; one line where it passed."""
    head, *rest = lines(result, clean)
    name, _, word = head.rpartition(": ")
    fold(console, Text.assemble(f"{name}: ", (word, STYLES[result.verdict])), 2)
    for line in rest:
        fold(console, Text(line), 6)


def lines(result: Result, clean: Clean | None = None) -> Iterator[str]:
    """Yield the report as lines: verdict, expectations that did not hold, findings, notes, what to do."""
    name = result.golden.name
    yield f"golden {name}: {WORDS[result.verdict]}"
    if result.verdict == "passed" and not result.notes:
        return
    if result.reason:
        yield f"  {one_line(result.reason, 1000)}"
    if result.golden.ticket and result.verdict != "passed":
        yield f"  ticket: {one_line(result.golden.ticket, 500)}"
    for check in result.checks:
        if not check.passed:
            yield from _check(check, clean)
    most = 1 if result.verdict == "stale" else _MOST_SHOWN  # the others only carry on the first one
    for number, found in enumerate(result.findings[:most], 1):
        yield from _divergence(number, found, clean)
    if len(result.findings) > most:
        yield f"  … {many(len(result.findings) - most, 'divergence')} more"
    for found in result.notes:
        yield f"  as expected: {found.type} {one_line(report.place(found), 300)}"
    if result.verdict in ("failed", "not_comparable"):
        yield f"  to look at it: {command(result)}"


def command(result: Result) -> str:
    """Return the command that replays a golden once more, for the agent's own output and a page of the whole diff."""
    return f"runreel golden run {shlex.quote(result.golden.name)} --html {shlex.quote(f'{result.golden.name}.html')}"


def _check(check: Check, clean: Clean | None) -> Iterator[str]:
    yield f"  expected: {one_line(check.expectation, 500)}"
    if check.why:
        yield f"     but {one_line(check.why, 300)}"
    if check.has_now:
        found = Divergence("output_mismatch", was=check.was, now=check.now, has_was=True, has_now=True)
        _, now = report.shown(found, clean)
        yield f"     now  {one_line(now, _WIDTH)}"


def _divergence(number: int, found: Divergence, clean: Clean | None) -> Iterator[str]:
    yield f"  {number}. {found.type} {one_line(report.place(found), 300)}"
    was, now = report.shown(found, clean)
    if found.has_was:
        yield f"     was  {one_line(was, _WIDTH)}"
    if found.has_now:
        yield f"     now  {one_line(now, _WIDTH)}"
    if not found.has_now and found.reason:
        yield f"     {one_line(found.reason, 300)}"
    if found.advice:
        yield f"     {one_line(found.advice, 300)}"


def summary(verdicts: dict[Verdict, int]) -> str:
    """Say how many goldens came to what."""
    said = [f"{count:,} {WORDS[verdict].lower()}" for verdict, count in verdicts.items() if count]
    return ", ".join(said) or "no golden"


def document(result: Result, clean: Clean | None = None) -> dict[str, Any]:
    """Return the report with stable field names. Live values in it are redacted as on the terminal."""
    return {
        "name": result.golden.name,
        "verdict": result.verdict,
        "reason": result.reason,
        "ticket": result.golden.ticket or None,
        "run_id": result.golden.run.run_id,
        "expectations": [{"expect": one.expectation, "passed": one.passed, "why": one.why} for one in result.checks],
        "findings": [{"type": one.type, "place": report.place(one)} for one in result.findings],
        "notes": [{"type": one.type, "place": report.place(one)} for one in result.notes],
        "replay": report.document(result.replayed, clean) if result.replayed else None,
    }
