"""An unmodified agent records into `runreel serve` and is replayed frozen: no model, no tool, no network."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e_kit import Serving, runreel, serving, settled
from model_server import ModelServer
from model_server import serving as serving_model

AGENTS = Path(__file__).resolve().parents[1] / "agents"
AGENT = AGENTS / "weather_agent.py"
CLOSURE = """
import sys
sys.path.insert(0, {agents!r})
import weather_agent, weather_tools


def build():
    original = weather_tools.lookup_customer

    def lookup_customer(email):
        return original(email)

    return lookup_customer


weather_tools.BY_NAME["lookup_customer"] = build()
del weather_tools.lookup_customer
weather_agent.main()
"""


@dataclass(frozen=True, slots=True)
class World:
    """What runs outside of the agent: collector and model, and the file that counts tool bodies."""

    home: Path
    serving: Serving
    model: ModelServer
    calls: Path

    def record(self, *words: str, script: Path = AGENT) -> None:
        environment = {
            **os.environ,
            "OPENAI_BASE_URL": self.model.url,
            "OPENAI_API_KEY": "no-key-needed",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{self.serving.collector.otlp_grpc}",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
            "TOOL_CALLS": str(self.calls),
        }
        done = subprocess.run([sys.executable, str(script), *words], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def ran(self) -> list[str]:
        return self.calls.read_text(encoding="utf-8").split() if self.calls.exists() else []


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    with serving(folder / "home") as collector, serving_model() as model:
        yield World(folder / "home", collector, model, folder / "calls")


@pytest.fixture(scope="module")
def weather(world: World) -> str:
    """Record the agent once for all who only want a run of it; return the run's id."""
    return recorded(world, "weather")


@pytest.fixture(scope="module")
def plain(world: World) -> str:
    """The same of a run without tools."""
    return recorded(world, "plain")


def recorded(world: World, scenario: str) -> str:
    world.record("--scenario", scenario)
    return str(runreel(world.home, "runs", "ls", "--json").json()[0]["run_id"])


@pytest.mark.parametrize(
    "words",
    [
        ["--scenario", "weather"],
        ["--scenario", "weather", "--stream"],
        ["--scenario", "weather", "--instrumentation", "openinference"],
        ["--scenario", "poll"],
        ["--scenario", "badargs"],
    ],
    ids=" ".join,
)
def test_a_frozen_replay_goes_the_same_way_and_nothing_runs_live(world: World, words: list[str]) -> None:
    before = len(runreel(world.home, "runs", "ls", "--json").json())
    world.record(*words)
    newest, *_ = settled(world.home, before + 1)
    asked, ran = len(world.model.bodies), len(world.ran())
    assert asked
    assert ran

    replayed = runreel(
        world.home, "replay", newest["run_id"], "--agent", AGENT, "--json", "--", *words,
        env={"TOOL_CALLS": str(world.calls), "OPENAI_BASE_URL": world.model.url},
    ).json()  # fmt: skip

    assert replayed["verdict"] == "same"
    assert replayed["divergences"] == []
    assert len(world.model.bodies) == asked, "the model server was asked"
    assert len(world.ran()) == ran, "a tool's own code ran"


def test_the_agents_own_prompt_holds_the_raw_address_while_the_tape_answers_with_the_token(
    world: World, weather: str
) -> None:
    run = runreel(world.home, "runs", "show", weather, "--json", "--payloads").out

    assert "dana.fields@example.com" not in run
    assert "<EMAIL_" in run
    assert runreel(world.home, "replay", weather, "--agent", AGENT, "--", "--scenario", "weather").code == 0


def test_a_changed_prompt_is_the_first_divergence(world: World, weather: str) -> None:
    done = runreel(world.home, "replay", weather, "--agent", AGENT, "--json", "--", "--system", "Be verbose.", code=2)

    first = done.json()["divergences"][0]
    assert first["type"] == "input_mismatch"
    assert "messages/0" in first["path"]


def test_a_tool_that_cannot_be_found_is_refused_with_its_name_before_the_start(world: World, tmp_path: Path) -> None:
    script = tmp_path / "closure_agent.py"
    script.write_text(CLOSURE.format(agents=str(AGENTS)), encoding="utf-8")
    world.record("--scenario", "weather", script=script)
    asked, ran = len(world.model.bodies), world.ran()

    refused = runreel(
        world.home, "replay", "last", "--agent", script, "--", "--scenario", "weather",
        env={"TOOL_CALLS": str(world.calls)}, code=125,
    )  # fmt: skip

    # The closure is found in the script. The module of the other is on a path that only running would add.
    assert "unstubbed: get_weather\n" in refused.err
    assert (len(world.model.bodies), world.ran()) == (asked, ran)


def test_two_recordings_of_one_agent_do_not_differ(world: World) -> None:
    world.record("--scenario", "poll")
    world.record("--scenario", "poll")
    first, second, *_ = runreel(world.home, "runs", "ls", "--json").json()

    assert runreel(world.home, "diff", first["run_id"], second["run_id"], code=0).code == 0


def test_two_recordings_of_different_ways_differ_and_the_first_difference_is_named(world: World) -> None:
    world.record("--scenario", "poll")
    world.record("--scenario", "toolerror")
    first, second, *_ = runreel(world.home, "runs", "ls", "--json").json()

    done = runreel(world.home, "diff", second["run_id"], first["run_id"], "--json", code=2)

    assert done.json()["differences"]


@pytest.mark.parametrize("entry", ["no_such_module:main", "json:no_such_name", "no_such_script.py", "json:decoder"])
def test_an_entry_point_that_does_not_import_is_named(world: World, plain: str, entry: str) -> None:
    done = runreel(world.home, "replay", plain, "--agent", entry, code=64)

    assert entry.partition(":")[0] in done.err
    assert "Traceback" not in done.err
