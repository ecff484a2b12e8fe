"""A replay is a run of its own in the store: found later, never in the way of the run, and as clean as everything."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e_kit import CAPTURES, Done, runreel, serving, settled
from model_server import serving as serving_model
from runreel.runs import discovery
from stored_bytes import found

AGENT = Path(__file__).resolve().parents[1] / "agents" / "weather_agent.py"
# What the agent's own prompts and arguments hold live while it is replayed; the last is new to the replay.
PLANTED = {"recorded": b"dana.fields@example.com", "phone": b"202-555-0143", "live": b"somebody.new@example.com"}
KEPT = {"prompt": b"Compare the weather in Lisbon and Oslo", "verdict": b"input_mismatch"}


@dataclass(frozen=True, slots=True)
class World:
    """A data folder with one recorded run, and how to replay it."""

    folder: Path
    run_id: str

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def replay(self, *words: object, code: int = 0, env: dict[str, str] | None = None) -> Done:
        return runreel(self.home, "replay", self.run_id, "--agent", AGENT, *words, code=code, env=env)

    def listed(self, *words: str) -> Any:
        return runreel(self.home, "runs", "ls", "--json", *words).json()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    with serving(folder / "home") as running, serving_model() as model:
        environment = {
            **os.environ,
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "no-key-needed",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{running.collector.otlp_grpc}",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
        }
        subprocess.run([sys.executable, str(AGENT)], env=environment, capture_output=True, check=True)
        (recorded,) = settled(folder / "home", 1)
        yield World(folder, recorded["run_id"])


def test_a_replay_is_stored_by_the_collector_and_found_by_its_id(world: World) -> None:
    out = world.replay().out.splitlines()
    stored = out[-1].split()
    replay_id = stored[3].rstrip(";")

    assert out[-1] == f"  stored as run {replay_id}; runreel diff {world.run_id} {replay_id}"
    shown = runreel(world.home, "runs", "show", replay_id, "--json").json()
    assert (shown["run_id"], shown["replay_of"], shown["model_calls"]) == (replay_id, world.run_id, 3)
    assert shown["replay_result"] == {"mode": "frozen", "verdict": "same", "divergences": 0, "first_divergence": None}
    assert runreel(world.home, "diff", world.run_id, replay_id).code == 0


def test_a_stored_replay_is_shown_beside_its_run_in_a_page(world: World) -> None:
    file = world.folder / "replay.html"

    world.replay("--html", file, "--", "--argument", "email", PLANTED["live"].decode(), code=2)

    page = file.read_bytes()
    assert b"The second is a replay of the first." in page
    assert b"Steps side by side" in page
    assert b"input_mismatch" in page
    assert [value for value in PLANTED.values() if value in page] == []


def test_two_replays_of_a_run_are_two_runs_and_the_list_of_runs_shows_neither(world: World) -> None:
    before = {one["run_id"] for one in world.listed("--replays")}
    first, second = (world.replay("--json").json() for _ in range(2))

    ids = {one["run_id"]: one for one in world.listed("--replays")}
    assert {first["stored_run_id"], second["stored_run_id"]} == ids.keys() - before
    traces = [set(ids[one["stored_run_id"]]["trace_ids"]) for one in (first, second)]
    assert traces[0].isdisjoint(traces[1])
    assert [one["run_id"] for one in world.listed()] == [world.run_id]
    recorded = runreel(world.home, "runs", "show", "last", "--json").json()
    assert recorded["run_id"] == world.run_id
    assert recorded["model_calls"] == 3
    assert {first["stored_run_id"], second["stored_run_id"]} <= {one["run_id"] for one in recorded["replays"]}


def test_what_a_replay_came_to_is_in_the_lists(world: World) -> None:
    diverged = world.replay("--json", "--", "--argument", "city", "Porto", code=2).json()
    replay_id = diverged["stored_run_id"]

    (listed,) = [one for one in world.listed("--replays", "--of", world.run_id) if one["run_id"] == replay_id]
    table = runreel(world.home, "runs", "ls", "--replays").out
    below = runreel(world.home, "runs", "show", world.run_id).out

    first = {"type": "input_mismatch", "step": 2, "kind": "tool", "name": "get_weather", "path": "/city"}
    result = listed["replay_result"]
    assert (result["verdict"], result["first_divergence"]) == ("diverged", first)
    assert result["divergences"] == len(diverged["divergences"])
    assert f"of {world.run_id}" in table
    assert "first divergence: input_mismatch, at step 2, tool get_weather, field /city" in table
    assert replay_id in below
    assert runreel(world.home, "diff", world.run_id, replay_id, code=2).code == 2


def test_a_replay_that_is_not_to_be_stored_is_not(world: World) -> None:
    before = world.listed("--replays")

    done = world.replay("--no-store")

    assert done.out.splitlines()[-1] == "  not stored: --no-store"
    assert world.listed("--replays") == before


def test_a_collector_that_is_named_lists_replays_and_stores_them_from_anywhere(world: World, tmp_path: Path) -> None:
    at = discovery.read(world.home)
    env = {"RUNREEL_COLLECTOR": at.api, "RUNREEL_TOKEN": at.token, "RUNREEL_HOME": ""}

    def ask(*words: object, code: int = 0) -> Done:
        return runreel(tmp_path, *words, env=env, cwd=tmp_path, code=code)

    replayed = ask("replay", world.run_id, "--agent", AGENT, "--json").json()
    flagged = ask("runs", "flag", world.run_id, "--reason", "by name", "--json").json()
    imported = ask("runs", "import", CAPTURES / "otel-genai-openai" / "stream", "--json").json()

    assert replayed["verdict"] == "same"
    assert replayed["stored_run_id"] in {one["run_id"] for one in ask("runs", "ls", "--replays", "--json").json()}
    assert flagged == {"run_id": world.run_id}
    (trace_id,) = imported["trace_ids"]
    assert ask("runs", "show", trace_id, "--json").json()["model_calls"] > 0
    assert (
        "refuses the token"
        in runreel(tmp_path, "runs", "ls", env={**env, "RUNREEL_TOKEN": "wrong"}, cwd=tmp_path, code=1).err
    )
    assert list(tmp_path.iterdir()) == []


def test_no_live_value_of_a_replay_is_on_the_disk_whoever_stored_it(world: World) -> None:
    world.replay("--", "--argument", "email", "somebody.new@example.com", code=2)
    assert found(world.folder, PLANTED) == {}
    assert found(world.folder, KEPT).keys() == KEPT.keys()
