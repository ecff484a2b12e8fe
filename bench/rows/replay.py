"""The frozen replay of a run of 40 steps, against the same agent with a model and tools that answer at once; and what
a step costs in a run of 1,000 steps, against one of 100.

Both are what a user types: the command from its start to its end, wall time. The agent exports its spans, as any
recorded agent does, to a server that answers at once; that is where the recording comes from.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness import Bar, Declared, Row, Say, side_by_side, spent_by_children
from sink import Sink, environment, sink

ROWS = (
    Declared("replay_40_steps", Bar("<=", 3), "times the agent with an instant model and tools"),
    Declared("replay_1000_steps", Bar("<=", 1.5), "times the time a step of a run of 100 steps"),
)
_AGENT = Path(__file__).resolve().parents[1] / "loop_agent.py"
_STEPS = 40
_WINDOW = 4


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Record once, then replay and run in turn. Raises RuntimeError where a replay is not identical."""
    with tempfile.TemporaryDirectory(prefix="runreel-bench-") as folder:
        yield _against_the_agent(Path(folder, "one"), 1 if quick else 5, say)
        yield _long_against_short(Path(folder), (2, 100, 300) if quick else (2, 100, 1000), 1 if quick else 3, say)


def _against_the_agent(home: Path, rounds: int, say: Say) -> Row:
    with sink() as taken:
        say("recording the run")
        run = _recorded(home, taken, _STEPS)
        works = {"agent": lambda: _agent(taken.url, "--steps", str(_STEPS)), "replay": run.replay}
        sides = side_by_side(works, rounds, clock=time.perf_counter, say=say)
    ours, agent = sides["replay"], sides["agent"]
    return ROWS[0].row(
        ours.median / agent.median,
        f"{ours.median:.2f} s against {agent.median:.2f} s, wall time, {ours.spread}; {_STEPS} model calls, "
        f"{_STEPS - 1} tool calls, verdict same",
    )


def _long_against_short(folder: Path, lengths: tuple[int, int, int], rounds: int, say: Say) -> Row:
    """Measure replays of three lengths, with equal steps: the shortest one is what starting costs, and is taken off."""
    runs: dict[str, _Recorded] = {}
    for steps in lengths:
        say(f"recording a run of {steps} steps")
        with sink() as taken:
            runs[str(steps)] = _recorded(folder / str(steps), taken, steps, "--window", str(_WINDOW))
    sides = side_by_side({name: run.replay for name, run in runs.items()}, rounds, clock=spent_by_children, say=say)
    none, short, long = lengths
    start = sides[str(none)].median
    a_long, a_short = ((sides[str(steps)].median - start) / (steps - none) for steps in (long, short))
    return ROWS[1].row(
        a_long / a_short,
        f"{a_long * 1e3:.1f} ms in {long} against {a_short * 1e3:.1f} ms in {short}, a model call and its tool call, "
        f"processor time, the start ({start:.2f} s) taken off, {sides[str(long)].spread}; the model is told the last "
        f"{_WINDOW} turns",
    )


class _Recorded:
    """A run on disk, and the command that replays it."""

    def __init__(self, home: Path, reel: Path, environment: Mapping[str, str], options: Sequence[str]) -> None:
        self._home, self._reel, self._environment, self._options = home, reel, environment, options
        report = json.loads(self._run().stdout)
        if report["verdict"] != "same":
            raise RuntimeError(f"the replay is not identical: {report['verdict']}, so its time says nothing")

    def replay(self) -> None:
        self._run()

    def _run(self) -> "subprocess.CompletedProcess[str]":
        words = ["replay", str(self._reel), "--agent", str(_AGENT), "--json", "--no-store", "--", *self._options]
        return _runreel(words, self._home, self._environment)


def _recorded(home: Path, taken: Sink, steps: int, *options: str) -> _Recorded:
    home.mkdir(parents=True)
    arguments = ["--steps", str(steps), *options]
    _agent(taken.url, *arguments)
    return _Recorded(home, _reel(home, taken.bodies), environment(taken.url), arguments)


def _agent(sink: str, *options: str) -> None:
    told = {**environment(sink), "BENCH_INSTANT_MODEL": "1"}
    subprocess.run([sys.executable, str(_AGENT), *options], env=told, check=True)


def _reel(home: Path, bodies: Sequence[bytes]) -> Path:
    """Take in what the agent exported, and return its run as a file."""
    sent, reel = home / "sent", home / "run.reel"
    sent.mkdir()
    for number, body in enumerate(bodies):
        (sent / f"{number}.bin").write_bytes(body)
    _runreel(["runs", "import", str(sent)], home)
    _runreel(["runs", "export", "last", "--format", "reel", "--output", str(reel)], home)
    return reel


def _runreel(
    words: Sequence[str], home: Path, environment: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command; raises RuntimeError with what it said where it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "runreel", *words],
        env={**(environment or os.environ), "RUNREEL_HOME": str(home / "data")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"`runreel {words[0]}` ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done
