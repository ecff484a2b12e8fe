"""A run that spans two processes and an MCP server is one tree, recorded over the network, and is replayed whole."""

import ast
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e_kit import runreel, serving, settled

AGENT = Path(__file__).with_name("tree_agent.py")
NOTHING = {"MCP_URL": "http://127.0.0.1:1/mcp"}


@contextmanager
def server(environment):
    """Run the MCP server until the block ends; yield its address."""
    command = [sys.executable, "-u", str(AGENT), "server"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()  # the server lets its spans go first
        process.wait(60)
        process.stdout.close()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Run all three processes against a collector; return its folder, the run's id, what was printed and what ran."""
    folder = tmp_path_factory.mktemp("tree")
    calls = folder / "calls"
    with serving(folder / "home") as collector:
        environment = {
            **os.environ,
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.collector.otlp_http,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "TOOL_CALLS": str(calls),
            "RUNREEL_EXIT_TIMEOUT": "60",  # on a busy machine the last spans take their time
        }
        with server(environment) as url:
            command = [sys.executable, str(AGENT), "agent"]
            done = subprocess.run(
                command, env={**environment, "MCP_URL": url}, capture_output=True, text=True, timeout=120, check=True
            )
        (run,) = settled(folder / "home", 1)
        yield folder / "home", run["run_id"], done.stdout, calls


def shown(home, run_id, enough):
    """Return the run's steps once as many have arrived: the server's come when it ends."""
    deadline = time.monotonic() + 30
    while True:
        run = runreel(home, "runs", "show", run_id, "--json").json()
        if len(run["steps"]) >= enough or time.monotonic() > deadline:
            return run
        time.sleep(0.2)


def test_it_is_one_tree(recorded):
    home, run_id, _, _ = recorded
    run = shown(home, run_id, 19)
    steps = run["steps"]

    def above(step):
        found = []
        while step["parent"] is not None:
            step = steps[step["parent"]]
            found.append((step["kind"], step["name"]))
        return found

    assert len(run["trace_ids"]) == 1
    assert [step["name"] for step in steps if step["parent"] is None] == ["trip"]
    lookups = [step for step in steps if step["kind"] == "retrieval"]
    assert [one["name"] for one in lookups] == ["climate", "climate"]
    call = ("tool", "get_weather")
    assert [above(one)[-1] for one in lookups] == [("agent", "trip")] * 2
    assert all(call in above(one) for one in lookups)
    assert ("agent", "expert") in above(lookups[1])
    assert ("agent", "expert") not in above(lookups[0])


def test_runs_show_draws_it_with_its_processes(recorded):
    home, run_id, _, _ = recorded
    shown(home, run_id, 19)

    drawn = runreel(home, "runs", "show", run_id, env={"COLUMNS": "160"}).out

    assert "in another process: expert" in drawn
    assert drawn.count("in another process: weather-server") == 3
    assert "memory mcp  initialize" in drawn
    assert "memory mcp  resources/read" in drawn
    assert "bypassed_boundary" not in drawn


def test_it_is_replayed_whole_without_the_server(recorded):
    home, run_id, printed, calls = recorded
    shown(home, run_id, 19)
    before = calls.read_text(encoding="utf-8")
    environment = {"TOOL_CALLS": str(calls), **NOTHING}

    out = runreel(home, "replay", run_id, "--agent", AGENT, "--", "agent", env=environment).out

    assert f"frozen replay of {run_id}: identical" in out
    assert "live calls: 0" in out
    assert "by MCP: 9 steps" in out
    assert "network" not in out.replace("network namespace", "")
    assert calls.read_text(encoding="utf-8") == before
    assert ast.literal_eval(out.splitlines()[0]) == ast.literal_eval(printed)
    assert "Ask for one city at a time." in printed


def test_a_call_that_changed_is_found_at_its_step(recorded, tmp_path):
    home, run_id, _, calls = recorded
    shown(home, run_id, 19)
    changed = tmp_path / "tree_agent.py"
    changed.write_text(AGENT.read_text(encoding="utf-8").replace('{"city": "Oslo"}', '{"city": "Rome"}'))

    done = runreel(
        home, "replay", run_id, "--agent", changed, "--json", "--", "agent",
        env={"TOOL_CALLS": str(calls), **NOTHING}, code=2,
    ).json()  # fmt: skip

    first = done["divergences"][0]
    assert (first["type"], first["kind"], first["name"], first["path"]) == (
        "input_mismatch",
        "tool",
        "get_weather",
        "/city",
    )
