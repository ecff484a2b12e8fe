"""The frozen replay of a run of 40 steps, against the same agent with a model and tools that answer at once.

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

ROWS = (Declared("replay_40_steps", Bar("<=", 3), "times the agent with an instant model and tools"),)
_AGENT = Path(__file__).resolve().parents[1] / "loop_agent.py"
_STEPS = 40


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Record once, then replay and run in turn. Raises RuntimeError where a replay is not identical."""
    rounds = 1 if quick else 5
    with tempfile.TemporaryDirectory(prefix="runreel-bench-") as folder, _sink() as sink:
        home = Path(folder)
        say("recording the run")
        _agent(sink.url)
        reel = _reel(home, sink.bodies)
        environment = _environment(sink.url)

        def replay() -> None:
            _runreel(["replay", str(reel), "--agent", str(_AGENT), "--json"], home, environment)

        report = json.loads(_runreel(["replay", str(reel), "--agent", str(_AGENT), "--json"], home, environment).stdout)
        if report["verdict"] != "same":
            raise RuntimeError(f"the replay is not identical: {report['verdict']}, so its time says nothing")
        works = {"agent": lambda: _agent(sink.url), "replay": replay}
        sides = side_by_side(works, rounds, clock=time.perf_counter, say=say)
    ours, agent = sides["replay"], sides["agent"]
    yield ROWS[0].row(
        ours.median / agent.median,
        f"{ours.median:.2f} s against {agent.median:.2f} s, wall time, {ours.spread}; {_STEPS} model calls, "
        f"{_STEPS - 1} tool calls, verdict same",
    )


def _environment(sink: str) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "RUNREEL_"))},
        "OTEL_EXPORTER_OTLP_ENDPOINT": sink,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    }


def _agent(sink: str) -> None:
    environment = {**_environment(sink), "BENCH_INSTANT_MODEL": "1"}
    subprocess.run([sys.executable, str(_AGENT), "--steps", str(_STEPS)], env=environment, check=True)


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
