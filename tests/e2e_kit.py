"""The installed program, driven as a user drives it: commands, and a collector on free ports."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runreel.demo.walk import CONFIG
from runreel.runs import discovery
from runreel.runs.discovery import Collector

PATIENCE_S = 60.0
CAPTURES = Path(__file__).resolve().parent / "data" / "captures"


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left: exit code and both streams."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return standard output as JSON."""
        return json.loads(self.out)


def runreel(
    home: Path, *words: object, env: Mapping[str, str] | None = None, cwd: Path | None = None, code: int | None = 0
) -> Done:
    """Run one command on a data folder; `code` is the exit code that must come out, None for any."""
    done = subprocess.run(
        [sys.executable, "-m", "runreel", *map(str, words)],
        env={**os.environ, "RUNREEL_HOME": str(home), **(env or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert code is None or done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return Done(done.returncode, done.stdout, done.stderr)


@dataclass(slots=True)
class Serving:
    """A running collector: its process, where it listens, and what it logs."""

    process: "subprocess.Popen[bytes]"
    collector: Collector
    log: Path
    environment: dict[str, str] = field(default_factory=dict)


@contextmanager
def serving(home: Path, config: str = CONFIG) -> Iterator[Serving]:
    """Run `runreel serve` on free ports until the block ends, then stop it as an init system would."""
    home.mkdir(parents=True, exist_ok=True)
    file, log = home.parent / f"{home.name}.yaml", home.parent / f"{home.name}.log"
    file.write_text(config, encoding="utf-8")
    with log.open("ab") as said:
        argv = [sys.executable, "-m", "runreel", "serve", "--config", str(file), "--home", str(home)]
        process = subprocess.Popen(argv, stdout=said, stderr=said)
        try:
            yield Serving(process, _found(home, process, log), log)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def _found(home: Path, process: "subprocess.Popen[bytes]", log: Path) -> Collector:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        found = discovery.find(home, say=lambda _: None)
        if found is not None and found.pid == process.pid:
            return found
        time.sleep(0.05)
    raise AssertionError(f"the collector did not start:\n{log.read_text(encoding='utf-8')}")


def settled(home: Path, expected: int, *, words: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the runs of a data folder once there are as many as expected, and none of them is open."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        runs: list[dict[str, Any]] = runreel(home, "runs", "ls", "--json", *words).json()
        if len(runs) >= expected and not any(run["open"] for run in runs):
            return runs
        assert time.monotonic() < deadline, f"{expected} runs expected, found {runs}"
        time.sleep(0.2)
