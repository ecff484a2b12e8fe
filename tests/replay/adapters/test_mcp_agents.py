"""Agents whose tools only an MCP server has: found before the start, answered, or refused with the reason."""

import os

import pytest

from recorded_runs import run_of, tool_step
from runreel.errors import RefusedError
from runreel.replay.engine import replay

AGENT = """\
import asyncio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    async with stdio_client(StdioServerParameters(command="/nowhere/server")) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            print((await session.call_tool("weather", {"city": "Oslo"})).content[0].text)

asyncio.run(main())
"""


@pytest.fixture
def recorded():
    return run_of(tool_step(1, "weather", {"city": "Oslo"}, "snow", at=0))


@pytest.fixture
def agent(tmp_path):
    path = tmp_path / "agent.py"
    path.write_text(AGENT, encoding="utf-8")
    return path


def test_a_tool_that_nothing_of_the_agents_has_is_one_of_its_mcp_server(recorded, agent, capfd):
    replayed = replay(recorded, str(agent))

    assert (replayed.verdict, replayed.divergences, set(replayed.coverage.values())) == ("same", (), {"MCP"})
    assert capfd.readouterr().out == "snow\n"


def test_an_agent_without_mcp_is_refused_as_ever(recorded, agent):
    agent.write_text("print('no tools at all')\n")

    with pytest.raises(
        RefusedError, match=r"weather: no module of the agent .* defines or registers a function weather"
    ):
        replay(recorded, str(agent))


def test_another_version_of_the_library_is_refused_before_the_start_with_both_versions(recorded, agent, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "from importlib import metadata\n"
        "real = metadata.version\n"
        "metadata.version = lambda name: '1.9' if name == 'mcp' else real(name)\n"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))

    with pytest.raises(RefusedError, match=r"weather: it is a tool of MCP.*mcp 1\.9.*1\.30"):
        replay(recorded, str(agent), env={**os.environ, "PYTHONPATH": path})


def test_a_call_with_other_arguments_is_a_divergence_at_its_field(recorded, agent):
    agent.write_text(AGENT.replace('"Oslo"', '"Rome"'))

    replayed = replay(recorded, str(agent))

    first = replayed.divergences[0]
    assert (replayed.verdict, first.type, first.path, first.was, first.now) == (
        "diverged",
        "input_mismatch",
        "/city",
        "Oslo",
        "Rome",
    )


def test_what_the_record_does_not_hold_of_a_session_is_told_with_what_to_do(recorded, agent):
    agent.write_text(
        AGENT.replace("            print", "            await session.read_resource('note://a')\n            print")
    )

    replayed = replay(recorded, str(agent))

    assert replayed.divergences[0].type == "unrecorded_call"
    assert any(
        "resources/read of an MCP server is not in the record: call runreel.record.mcp()" in one
        for one in replayed.notes
    )
