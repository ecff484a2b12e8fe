"""The demonstration shows what it says, and leaves nothing behind but what a failure names."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from runreel.demo import walk


def demo(tmp_path: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "runreel", "demo"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_whole_walk_is_shown_in_plain_lines_and_leaves_no_folder(tmp_path: Path) -> None:
    done = demo(tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    shown = [
        "3 model calls, 2 tool calls, 1 retrieval",
        "(address, phone, card, IP, key), looked for in the recorded run and in",
        ": identical\n",
        "1. input_mismatch at step 2, llm gpt-4o-mini, field /messages/0/parts/0/content",
        "1. input_mismatch at step 5, tool refund, field /cents",
        "now  4800",
        "three replays called none of it",
        "runreel serve\n",
    ]
    places = [done.stdout.find(text) for text in shown]
    assert -1 not in places
    assert places == sorted(places)
    assert list(tmp_path.glob("runreel-demo-*")) == []


def test_a_step_that_fails_is_named_and_its_log_stays(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nif 'serve' in sys.orig_argv:\n    os.write(2, b'no serving today\\n')\n    os._exit(1)\n",
        encoding="utf-8",
    )

    done = demo(tmp_path, PYTHONPATH=str(tmp_path))

    assert done.returncode == 1
    (said,) = done.stderr.splitlines()
    assert said.startswith("runreel: the collector did not start: no serving today (log: ")
    log = Path(said.rpartition("log: ")[2].rstrip(")"))
    assert log.read_text(encoding="utf-8").strip() == "no serving today"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_walk_that_is_ended_from_outside_takes_its_processes_and_its_folder_along(
    tmp_path: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "runreel", "demo"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as walking:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("runreel-demo-*/collector.log")):  # the model and the collector are started
            assert time.monotonic() < deadline
            time.sleep(0.02)

        walking.send_signal(number)

        assert walking.wait(60) == 128 + number
    assert list(tmp_path.glob("runreel-demo-*")) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(walking.pid, 0)


def test_a_program_that_is_being_started_when_the_walk_is_ended_is_ended_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[subprocess.Popen[str]] = []
    real = subprocess.Popen

    def starting(*args: Any, **options: Any) -> "subprocess.Popen[str]":
        started.append(real(*args, **options))
        signal.raise_signal(signal.SIGTERM)  # between the start and the moment that anybody knows of it
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", starting)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with pytest.raises(SystemExit), ExitStack() as stack:
            walk._start(stack, [sys.executable, "-c", "import signal; signal.pause()"])
    finally:
        signal.signal(signal.SIGTERM, before)

    assert started[0].poll() == -signal.SIGTERM


@pytest.mark.parametrize("on_path", [True, False])
def test_what_to_type_next_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_path: bool) -> None:
    program = tmp_path / "runreel"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) if on_path else "")
    monkeypatch.chdir(Path(sys.executable).parent.parent)

    assert walk._program() == ("runreel" if on_path else f"{Path(sys.executable).parent.name}/runreel")
