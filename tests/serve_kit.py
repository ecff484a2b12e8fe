"""`runreel serve` as a process of its own, for tests: started, waited for, ended by its process id."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from collector_kit import CONFIG, until
from runreel.runs import discovery
from runreel.runs.discovery import Collector


@dataclass
class Serving:
    """A collector process. `log` is what it wrote to stderr so far."""

    process: "subprocess.Popen[str]"
    home: Path
    ready: str
    log_file: Path

    @property
    def at(self) -> Collector:
        return discovery.read(self.home)

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8")

    def end(self, number: int = signal.SIGTERM, timeout_s: float = 60) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout_s)


def command(home: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "runreel", "serve", "--home", str(home), *more]


@contextlib.contextmanager
def serve(home: Path, text: str = CONFIG, *more: str) -> Iterator[Serving]:
    """Run a collector until the block ends; fails with its log where it does not come up."""
    folder = Path(tempfile.mkdtemp(dir=home.parent))
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    log_file = folder / "stderr.txt"
    with log_file.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command(home, "--config", str(folder / "config.yaml"), *more), stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        assert process.stdout
        ready = process.stdout.readline().strip()
        assert ready.startswith("ready: "), log_file.read_text(encoding="utf-8")
        yield Serving(process, home, ready, log_file)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        process.stdout.close()


def run_to_its_end(home: Path, *more: str, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a collector that is expected to refuse to start."""
    return subprocess.run(
        command(home, *more), capture_output=True, text=True, timeout=60, env={**os.environ, **(env or {})}, check=False
    )


_NURSERY = """if True:
    import json, os, signal, sys
    import clickhouse_connect, grpc.aio, presidio_analyzer
    import runreel.collector.build, runreel.collector.receivers.otlp_grpc
    from runreel.cli import main

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead leave no zombie: a zombie's pid still counts as alive
    print("ready", flush=True)
    for line in sys.stdin:
        argv, out, err = json.loads(line)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, path in ((0, os.devnull), (1, out), (2, err)):
                os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), number)
            code = 1
            try:
                code = main(argv)
            finally:
                os._exit(code)
        print(pid, flush=True)
"""


class Nursery:
    """Starts collectors quickly, one after the other: a process that has imported everything but the engine forks.

    What the fork runs is `runreel serve`, and its process id can be killed like any other.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-c", _NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._count = 0
        assert self._line() == "ready"

    def start(self, *argv: str) -> int:
        """Start `runreel serve ...`, wait until it is ready, and return its process id."""
        self._count += 1
        out, err = (self._folder / f"{self._count}.{name}" for name in ("out", "err"))
        out.touch()
        assert self._process.stdin
        self._process.stdin.write(json.dumps([["serve", *argv], str(out), str(err)]) + "\n")
        self._process.stdin.flush()
        pid = int(self._line())
        until(lambda: out.read_text().startswith("ready: ") or not alive(pid), 60)
        assert alive(pid), err.read_text()
        return pid

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def end(pid: int, number: int) -> None:
    """Send a signal and wait until the process is gone."""
    os.kill(pid, number)
    until(lambda: not alive(pid), 60)
