"""Agents of two frameworks, unmodified, recorded while they really ran, replay: nothing of them runs, nothing is asked.

`make agents` does the same for every agent of examples/agents, each in an environment of its own.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from otlp_sink import record
from recorded_runs import KEY
from runreel.demo.model_server import Turn, in_thread
from runreel.errors import RefusedError
from runreel.replay import adapters
from runreel.replay.engine import replay
from runreel.runs.assemble import assemble

EXPERT_AGENT = Path(__file__).with_name("expert_agent.py")
AGENTS = Path(__file__).parents[3] / "examples" / "agents"

EXPERT = (Turn(calls=(("ask_expert", '{"input": "Oslo?"}'),)), Turn("The expert says that it is cold."))


@pytest.fixture(scope="module")
def model():
    spec = importlib.util.spec_from_file_location("examples_model_server", AGENTS / "model_server.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(AGENTS))  # as for a script
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(AGENTS))
    with in_thread(module.Server()) as server:
        server.scenarios = {**server.scenarios, "expert": EXPERT}
        yield server


@pytest.mark.parametrize(
    ("script", "switches", "answered"),
    [
        ("openai_agents_agent.py", (), {"get_weather": 2, "lookup_customer": 1}),
        ("openai_agents_agent.py", ("--stream",), {"get_weather": 2, "lookup_customer": 1}),
        ("openai_agents_agent.py", ("--scenario", "handoff"), {"get_weather": 1}),
        ("pydantic_ai_agent.py", (), {"get_weather": 2, "lookup_customer": 1}),
        ("pydantic_ai_agent.py", ("--stream", "--scenario", "poll"), {"poll_job": 3}),
        ("mcp_agent.py", (), {"get_weather": 2, "lookup_customer": 1}),
    ],
    ids=[
        "openai-agents",
        "openai-agents-stream",
        "openai-agents-handoff",
        "pydantic-ai",
        "pydantic-ai-stream-poll",
        "mcp",
    ],
)
def test_an_agent_of_a_framework_replays_unmodified(script, switches, answered, model, redactor, calls, capfd):
    batch, printed = record(str(AGENTS / script), *switches, model_url=model.url)
    ran, asked = calls(), len(model.bodies)
    clean = redactor.process(batch)

    replayed = replay(assemble(clean.spans, clean.logs), str(AGENTS / script), args=switches, key=KEY.secret)

    assert (replayed.verdict, [one.type for one in replayed.divergences]) == ("same", [])
    assert {name: count for (kind, name), count in replayed.answered.items() if kind == "tool"} == answered
    assert (len(ran), calls(), len(model.bodies)) == (sum(answered.values()), ran, asked)
    assert capfd.readouterr().out.split()[:5] == printed.split()[:5]


@pytest.fixture(scope="module")
def expert(model, redactor):
    batch, _ = record(str(EXPERT_AGENT), model_url=model.url)
    clean = redactor.process(batch)
    return assemble(clean.spans, clean.logs)


def test_a_tool_that_only_its_framework_knows_is_answered_by_the_adapter(expert, model):
    asked = len(model.bodies)

    replayed = replay(expert, str(EXPERT_AGENT), key=KEY.secret)

    assert (replayed.verdict, [one.type for one in replayed.divergences]) == ("same", [])
    assert replayed.answered == {("llm", "gpt-4o-mini-2024-07-18"): 2, ("tool", "ask_expert"): 1}
    assert "OpenAI Agents" in replayed.coverage.values()
    assert len(model.bodies) == asked


def test_a_run_that_needs_an_adapter_of_another_version_is_refused_before_the_start(expert, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "from importlib import metadata\n"
        "real = metadata.version\n"
        "metadata.version = lambda name: '9.1' if name == 'openai-agents' else real(name)\n"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    adapter = next(one for one in adapters.ADAPTERS if one.name == "OpenAI Agents")

    with pytest.raises(RefusedError, match=r"ask_expert: it is a tool of OpenAI Agents.*openai-agents 9\.1") as refused:
        replay(expert, str(EXPERT_AGENT), env={**os.environ, "PYTHONPATH": path})
    assert ".".join(map(str, adapter.first)) in str(refused.value)
