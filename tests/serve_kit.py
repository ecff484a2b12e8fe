"""`runreel serve` as a process of its own, for tests: started, waited for, ended by its process id."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from collector_kit import CONFIG
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
