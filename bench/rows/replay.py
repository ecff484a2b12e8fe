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
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harness import Bar, Declared, Row, Say, side_by_side

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
    with _sink() as sink:
        say("recording the run")
        run = _recorded(home, sink, _STEPS)
        works = {"agent": lambda: _agent(sink.url, "--steps", str(_STEPS)), "replay": run.replay}
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
        with _sink() as sink:
            runs[str(steps)] = _recorded(folder / str(steps), sink, steps, "--window", str(_WINDOW))
    sides = side_by_side({name: run.replay for name, run in runs.items()}, rounds, clock=_spent, say=say)
    none, short, long = lengths
    start = sides[str(none)].median
    a_long, a_short = ((sides[str(steps)].median - start) / (steps - none) for steps in (long, short))
    return ROWS[1].row(
        a_long / a_short,
        f"{a_long * 1e3:.1f} ms in {long} against {a_short * 1e3:.1f} ms in {short}, a model call and its tool call, "
        f"processor time, the start ({start:.2f} s) taken off, {sides[str(long)].spread}; the model is told the last "
        f"{_WINDOW} turns",
    )


def _spent() -> float:
    """Return the processor time of the commands that were run, in seconds, with all that they started."""
    spent = os.times()
    return spent.children_user + spent.children_system


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


def _recorded(home: Path, sink: "_Sink", steps: int, *options: str) -> _Recorded:
    home.mkdir(parents=True)
    arguments = ["--steps", str(steps), *options]
    _agent(sink.url, *arguments)
    return _Recorded(home, _reel(home, sink.bodies), _environment(sink.url), arguments)


def _environment(sink: str) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "RUNREEL_"))},
        "OTEL_EXPORTER_OTLP_ENDPOINT": sink,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
        # A model that answers at once makes spans faster than they are sent: none may be dropped.
        "OTEL_BSP_MAX_QUEUE_SIZE": "65536",
    }


def _agent(sink: str, *options: str) -> None:
    environment = {**_environment(sink), "BENCH_INSTANT_MODEL": "1"}
    subprocess.run([sys.executable, str(_AGENT), *options], env=environment, check=True)


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


class _Sink(ThreadingHTTPServer):
    """Takes OTLP over HTTP, keeps what came, and answers at once."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answer(BaseHTTPRequestHandler):
    server: _Sink
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def _sink() -> Iterator[_Sink]:
    server = _Sink()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
