"""Agents with the recorder, sent to a collector that runs, stored redacted, and replayed from the store."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from e2e_kit import runreel, serving, settled

HERE = Path(__file__).parent
ADDED = ["contracts", "shadow", "memories", "flags", "prompts", "decisions", "models"]
PERSONAL = """
import runreel.record as rr

rr.configure(agent="personal")


@rr.memory("contacts", op="upsert", key="user")
def remember(user, about):
    print("live")


@rr.memory("contacts", key="user")
def recall(user):
    print("live")
    return {"mail": user, "card": 4242424242424242}


@rr.tool(contract={"properties": {"to": {"pattern": "@"}, "copies": {"type": "integer"}}})
def send(to, copies):
    print("live")
    return f"sent to {to}"


with rr.run(user_input="Write to dana.fields@example.com") as run:
    remember("dana.fields@example.com", {"phone": "+1 212 555 0143"})
    found = recall("dana.fields@example.com")
    send(found["mail"], "2")
    rr.flag("owner", "quinn.marsh@example.org")
    rr.prompt("planner", "Copy quinn.marsh@example.org in.")
    rr.decide("route", "dana.fields@example.com", options=["dana.fields@example.com", "nobody"])
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Yield a data folder with a collector, and a function that runs an agent against it."""
    folder = tmp_path_factory.mktemp("stored")
    with serving(folder / "home") as up:

        def run(script, *words, **more):
            environment = {
                **os.environ,
                "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{up.collector.otlp_grpc}",
                "OPENAI_API_KEY": "no-key-needed",
                "TOOL_CALLS": str(folder / "calls"),
                **more,
            }
            command = [sys.executable, str(script), *words]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
            runs = runreel(folder / "home", "runs", "ls", "--json").json()
            return done.stdout, settled(folder / "home", max(1, len(runs)))[0]["run_id"]

        yield folder, run


def ran(folder):
    return (folder / "calls").read_text(encoding="utf-8")


def test_all_that_the_recorder_adds_is_stored_and_replayed_from_the_store(world):
    folder, run = world
    _, run_id = run(HERE / "matrix_agent.py", *ADDED, BETA="on", PLAN="v7")
    before = ran(folder)

    replayed = runreel(
        folder / "home", "replay", run_id, "--agent", HERE / "matrix_agent.py", "--json", "--", *ADDED,
        env={"TOOL_CALLS": str(folder / "calls"), "BETA": "off", "PLAN": "v8", "OPENAI_API_KEY": "none"},
    ).json()  # fmt: skip

    assert (replayed["verdict"], replayed["divergences"]) == ("same", [])
    assert ran(folder) == before
    shown = runreel(folder / "home", "runs", "show", run_id).out
    assert "planner" in shown or "prompts" in shown


def test_a_run_of_two_processes_is_stored_as_one_and_replayed_whole(world):
    folder, run = world
    _, run_id = run(HERE / "changing_agent.py")
    before = ran(folder)

    done = runreel(
        folder / "home", "replay", run_id, "--agent", HERE / "changing_agent.py", "--json",
        env={"TOOL_CALLS": str(folder / "calls")},
    ).json()  # fmt: skip

    assert (done["verdict"], done["divergences"]) == ("same", [])
    assert ran(folder) == before


def test_personal_values_in_memories_flags_prompts_and_decisions_are_tokens_and_still_replay(world, tmp_path):
    folder, run = world
    script = tmp_path / "personal_agent.py"
    script.write_text(PERSONAL)
    printed, run_id = run(script)
    assert printed == "live\n" * 3

    document = runreel(folder / "home", "runs", "show", run_id, "--json", "--payloads").out
    done = runreel(folder / "home", "replay", run_id, "--agent", script)

    for value in ("dana.fields@example.com", "quinn.marsh@example.org", "4242424242424242", "555 0143"):
        assert value not in document
    assert document.count("<EMAIL_") > 6
    assert done.code == 0
    assert "live" not in done.out.splitlines()
