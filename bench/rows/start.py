"""Starting an agent behind the walls, against starting the same interpreter bare."""

import subprocess
import sys
import time
from collections.abc import Iterator

from harness import Bar, Declared, Row, Say, side_by_side

from runreel.replay.sandbox import Sandbox

ROWS = (Declared("start_sandboxed", Bar("<=", 3), "times a bare interpreter's start"),)
_PROGRAM = [sys.executable, "-c", "pass"]


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Start a program that does nothing, and wait for its end; wall time, since most of it is waiting."""
    rounds = 7 if quick else 41
    works = {"bare": _bare, "sandboxed": _sandboxed}
    for work in works.values():
        work()
    sides = side_by_side(works, rounds, clock=time.perf_counter, say=say)
    bare, sandboxed = sides["bare"], sides["sandboxed"]
    with Sandbox().start(_PROGRAM) as started:
        walls = started.isolation
        started.wait()
    yield ROWS[0].row(
        sandboxed.median / bare.median,
        f"{sandboxed.median * 1e3:.0f} ms against {bare.median * 1e3:.0f} ms, wall time, {sandboxed.spread}; "
        f"walls: {walls}",
    )


def _bare() -> None:
    subprocess.run(_PROGRAM, check=True)


def _sandboxed() -> None:
    with Sandbox().start(_PROGRAM) as started:
        if started.wait() != 0:
            raise RuntimeError("a program that does nothing failed in the sandbox")
