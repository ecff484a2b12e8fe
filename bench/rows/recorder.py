"""What the recorder adds to an agent: the same one under RunReel's recorder, and under plain OpenTelemetry.

Both are instrumented by the same package, export the same way to a server that answers at once, and ask a model that
answers at once, in the agent's own process: an agent that does nothing but be recorded.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import Bar, Declared, Row, Say, side_by_side, spent_by_children
from sink import Sink, environment, sink

ROWS = (Declared("recorder_overhead", Bar("<=", 2), "times the processor time a step under plain OpenTelemetry"),)
_AGENT = Path(__file__).resolve().parents[1] / "loop_agent.py"
_WINDOW = 4


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Run both at two lengths: what the shorter one costs is starting, and is taken off."""
    rounds, short, long = (1, 2, 102) if quick else (5, 2, 302)
    with sink() as taken:
        works = {
            (name, steps): _run(taken, steps, *options)
            for name, options in (("plain", ("--plain",)), ("recorded", ()))
            for steps in (short, long)
        }
        named = {f"{name}, {steps} steps": work for (name, steps), work in works.items()}
        sides = side_by_side(named, rounds, clock=spent_by_children, say=say)
    ours, plain = (
        (sides[f"{name}, {long} steps"].median - sides[f"{name}, {short} steps"].median) / (long - short)
        for name in ("recorded", "plain")
    )
    yield ROWS[0].row(
        ours / plain,
        f"{ours * 1e3:.2f} against {plain * 1e3:.2f} ms for a model call and its tool call, processor time, what "
        f"starting costs taken off ({sides[f'recorded, {short} steps'].median:.2f} against "
        f"{sides[f'plain, {short} steps'].median:.2f} s), {sides[f'recorded, {long} steps'].spread}",
    )


def _run(taken: Sink, steps: int, *options: str) -> Callable[[], None]:
    command = [sys.executable, str(_AGENT), "--steps", str(steps), "--window", str(_WINDOW), *options]

    def work() -> None:
        taken.bodies.clear()
        subprocess.run(command, env={**environment(taken.url), "BENCH_INSTANT_MODEL": "1"}, check=True)
        if not taken.bodies:
            raise RuntimeError("the agent exported nothing")

    return work
