"""Real SDKs, in real replays of what their instrumentations recorded: each gets what the server said."""

import json
from functools import cache
from pathlib import Path

import pytest

from run_kit import capture
from runreel.errors import RefusedError
from runreel.replay.engine import replay
from runreel.runs.assemble import assemble

DATA = Path(__file__).parents[2] / "data" / "wire"
AGENTS = Path(__file__).with_name("agents")
APIS = ("chat", "responses", "anthropic", "gemini")
SHAPES = ("plain", "stream")
# What no instrumentation recorded, or what only another client has.
DIFFERENT = {
    ("gemini", "stream"): {"early": ["Un", ""]},
    ("gemini", "stream", "async"): {"dropped": ["RemoteProtocolError", "ClientPayloadError"]},
}


@cache
def recorded(name):
    return assemble(*capture(DATA / name))


@pytest.fixture
def replayed(tmp_path, monkeypatch):
    """Replay an agent on what one of the captures holds; return the result, what it printed, and the tools that ran."""
    monkeypatch.setenv("TOOL_CALLS", str(tmp_path / "calls"))
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://models.example.com")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://models.example.com/v1")
    monkeypatch.setenv("GEMINI_BASE_URL", "https://models.example.com")

    def run(api, how, shape, of=""):
        out = tmp_path / "out"
        with out.open("wb") as file:
            agent = str(AGENTS / f"{api}_agent.py")
            result = replay(recorded(of or f"{api}-{shape}"), agent, args=[how, shape], stdout=file)
        return result, out.read_text(), (tmp_path / "calls").exists()

    return run


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize("api", APIS)
def test_every_sdk_gets_from_the_record_what_the_server_said(replayed, api, how, shape):
    result, out, ran = replayed(api, how, shape)

    before = json.loads((DATA / f"{api}-{shape}" / "stdout.txt").read_text())
    after = json.loads(out)
    expected = {**DIFFERENT.get((api, shape), {}), **DIFFERENT.get((api, shape, how), {})}
    assert {name: [before[name], after[name]] for name in before if before[name] != after[name]} == expected
    assert [(one.type, one.recorded, one.path) for one in result.divergences] == []
    assert (result.verdict, result.network, ran) == ("same", (), False)
    assert result.answered["tool", "get_weather"] == {"chat": 3, "gemini": 6}.get(api, 4)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_recorded_vectors_are_given_again(replayed, how):
    result, out, _ = replayed("embeddings", how, "plain")

    assert json.loads(out) == json.loads((DATA / "embeddings-plain" / "stdout.txt").read_text())
    assert (result.verdict, sum(result.answered.values())) == ("same", 3)


@pytest.mark.parametrize(
    ("api", "shape"), [("anthropic", "plain"), ("anthropic", "stream"), ("gemini", "plain"), ("responses", "stream")]
)
def test_what_openinference_recorded_of_an_agent_replays_as_well(replayed, api, shape):
    result, _, ran = replayed(api, "sync", shape, of=f"openinference-{api}-{shape}")

    assert [(one.type, one.recorded, one.path) for one in result.divergences] == []
    assert (result.verdict, result.ended, ran) == ("same", "returned", False)


def test_calls_that_an_sdk_made_inside_another_one_are_refused_before_the_start():
    with pytest.raises(RefusedError) as caught:
        replay(recorded("gemini-automatic"), str(AGENTS / "gemini_agent.py"))

    said = str(caught.value)
    assert "step 17 (gemini-2.5-flash): the SDK made several model calls inside this one" in said
    assert "called the tool get_weather itself" in said
