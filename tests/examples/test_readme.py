"""The examples' page is true: its commands run, line by line, and end as it says."""

import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e_kit import PATIENCE_S, serving
from golden_kit import BUG, EXAMPLES, EXPECT, FIX, edit
from runreel.demo import model_server
from runreel.goldens import folder, running

_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
_ENDS = re.compile(r"\s+# ends with (\d+)$")
_EXPORT = re.compile(r"export (\w+)=(.*)")
SERVERS = ("runreel serve", "python -m runreel.demo.model_server --port 8901", "python prompt/model.py --port 8902")


def lines():
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    return [line for block in _BLOCK.findall(text) for line in block.splitlines() if line.strip()]


@contextmanager
def second_model(where):
    """Start the second example's model as its page says, on a free port."""
    process = subprocess.Popen(
        [sys.executable, "prompt/model.py", "--port", "0"], cwd=where, stdout=subprocess.PIPE, text=True
    )
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        process.stdout.close()


class Shell:
    """A shell that keeps its folder and its exports from line to line."""

    def __init__(self, cwd, home, **ports):
        self.cwd, self.ports = cwd, ports
        bin_folder = str(Path(sys.executable).parent)
        outer = ("PYTEST_", "COV_", "GITHUB_", "OTEL_", "RUNREEL_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
        self.env = {**kept, "RUNREEL_HOME": str(home), "PATH": f"{bin_folder}:{os.environ['PATH']}"}

    def run(self, line):
        """Run a line of the page, with its ports put in the place of those that it names."""
        expected = int(found[1]) if (found := _ENDS.search(line)) else 0
        line = _ENDS.sub("", line)
        for named, real in self.ports.items():
            line = line.replace(f"http://127.0.0.1:{named.removeprefix('port_')}", real)
        if line.startswith("cd "):
            self.cwd = (self.cwd / line.removeprefix("cd ")).resolve()
            return ""
        export = _EXPORT.fullmatch(line)
        done = self._bash(f'printf %s "{export[2]}"' if export and export[2].startswith("$(") else line)
        if export:
            self.env[export[1]] = done.stdout if export[2].startswith("$(") else export[2]
            return ""
        assert done.returncode == expected, f"{line}\nended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _bash(self, line):
        return subprocess.run(
            ["bash", "-c", line], cwd=self.cwd, env=self.env, capture_output=True, text=True, timeout=300, check=False
        )

    def until_recorded(self, agent, count):
        """Wait until so many of an agent's runs have arrived whole."""
        deadline = time.monotonic() + PATIENCE_S
        while self._bash(f"runreel runs ls --agent {agent} --json").stdout.count('"open": false') < count:
            assert time.monotonic() < deadline, "the agent's run did not arrive"
            time.sleep(0.2)


@pytest.mark.slow
def test_the_commands_of_the_page_run_and_end_as_it_says(tmp_path):
    where = Path(shutil.copytree(EXAMPLES, tmp_path / "examples"))
    said = {}
    with (
        serving(tmp_path / "home") as collector,
        model_server.serving(model_server.DEMO) as model,
        second_model(where) as second,
    ):
        otlp = f"http://{collector.collector.otlp_grpc}"
        shell = Shell(
            where,
            tmp_path / "home",
            port_4317=otlp,
            **{"port_8901/v1": model.url, "port_8902/v1": second},
        )
        recorded = {"refund-desk": 0, "refund-dates": 0}
        for line in lines():
            if line in SERVERS:
                continue
            said[line] = shell.run(line)
            if line == "python agent.py":
                agent = "refund-desk" if shell.cwd.name == "receipt" else "refund-dates"
                recorded[agent] += 1
                shell.until_recorded(agent, recorded[agent])

    assert set(SERVERS) <= set(lines())
    assert "1. output_mismatch field /final_output" in said["runreel replay $TRACE    # ends with 2"]
    assert "2 passed" in said["runreel golden run"]


def test_the_golden_that_the_example_holds_catches_its_fault_and_passes_when_it_is_mended(tmp_path):
    where = Path(shutil.copytree(EXAMPLES / "receipt", tmp_path / "receipt"))
    golden = where / "goldens" / "cents-for-dollars"

    bad = running.run(golden, stdout=running.QUIET)
    edit(where, (BUG, FIX))
    mended = running.run(golden, stdout=running.QUIET)

    assert folder.read(golden).expect == (EXPECT,)
    assert [bad.verdict, mended.verdict] == ["failed", "passed"]
