"""Agents of two frameworks, unmodified, recorded while they really ran, replay: nothing of them runs, nothing is asked.

`make agents` does the same for every agent of examples/agents, each in an environment of its own.
"""

import importlib.util
import threading
from pathlib import Path

import pytest

from otlp_sink import record
from recorded_runs import KEY
from runreel.replay.engine import replay
from runreel.runs.assemble import assemble

AGENTS = Path(__file__).parents[3] / "examples" / "agents"


@pytest.fixture(scope="module")
def model():
    spec = importlib.util.spec_from_file_location("examples_model_server", AGENTS / "model_server.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("script", "switches", "answered"),
    [
        ("openai_agents_agent.py", (), {"get_weather": 2, "lookup_customer": 1}),
        ("openai_agents_agent.py", ("--stream",), {"get_weather": 2, "lookup_customer": 1}),
        ("openai_agents_agent.py", ("--scenario", "handoff"), {"get_weather": 1}),
        ("pydantic_ai_agent.py", (), {"get_weather": 2, "lookup_customer": 1}),
        ("pydantic_ai_agent.py", ("--stream", "--scenario", "poll"), {"poll_job": 3}),
    ],
    ids=["openai-agents", "openai-agents-stream", "openai-agents-handoff", "pydantic-ai", "pydantic-ai-stream-poll"],
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
