"""MCP sessions of the real library, over every transport: no server is there, and the record answers."""

import asyncio
import importlib

import pytest
from mcp import ClientSession, StdioServerParameters
from pydantic import ValidationError

from adapter_kit import Tape
from runreel.errors import DivergedError
from runreel.replay.adapters import Answers, mcp
from runreel.replay.adapters.answers import calling
from runreel.replay.boundaries.functions import FailedError

NOWHERE = StdioServerParameters(command="/nowhere/server", args=["--stdio"])
TOOLS = ({"name": "weather", "description": "Tell it.", "inputSchema": {"type": "object", "properties": {}}},)
OPENED = [
    ("mcp.client.stdio", "stdio_client", NOWHERE),
    ("mcp.client.sse", "sse_client", "http://127.0.0.1:1/sse"),
    ("mcp.client.streamable_http", "streamable_http_client", "http://127.0.0.1:1/mcp"),
]


class World:
    def __init__(self):
        self.tape, self.told = Tape(), []
        mcp.install(Answers({"weather": "tool"}, self.tape, {"tools": TOOLS}, self.told.append))

    def run(self, ask, opened=OPENED[0], **options):
        """Open a session, shake hands and let `ask` have it; return what it returns, raise what it raises."""
        module, name, server = opened
        connect = getattr(importlib.import_module(module), name)

        async def main():
            async with connect(server) as (read, write, *_), ClientSession(read, write, **options) as session:
                await session.initialize()
                return await ask(session)

        return asyncio.run(main())


@pytest.fixture
def world():
    return World()


@pytest.mark.parametrize("opened", OPENED, ids=["stdio", "sse", "http"])
def test_a_session_over_any_transport_is_answered_without_a_server(opened, world):
    world.tape.value = '{"temp_c": -3}'

    async def ask(session):
        return await session.list_tools(), await session.call_tool("weather", {"city": "Oslo"})

    listed, result = world.run(ask, opened)

    assert [(one.name, one.description) for one in listed.tools] == [("weather", "Tell it.")]
    assert type(result).__name__ == "CallToolResult"
    assert [one.text for one in result.content] == ['{"temp_c": -3}']
    assert result.structured_content == {"temp_c": -3}
    assert world.tape.asked == [("tool", "weather", {"city": "Oslo"}, "")]


def test_a_call_is_asked_about_in_the_task_that_makes_it(world):
    async def ask(session):
        with calling("call_7"):
            return await session.call_tool("weather", {})

    world.run(ask)

    assert world.tape.asked == [("tool", "weather", {}, "call_7")]


def test_calls_at_the_same_time_get_their_own_answers(world):
    world.tape.value = "cold"

    async def ask(session):
        return await asyncio.gather(*(session.call_tool("weather", {"day": day}) for day in range(20)))

    assert [one.content[0].text for one in world.run(ask)] == ["cold"] * 20
    assert [arguments["day"] for _, _, arguments, _ in world.tape.asked] == list(range(20))


def test_a_recorded_failure_comes_as_the_librarys_result_and_an_error_as_its_exception(world):
    world.tape.error = FailedError("ToolError", "unknown city")

    async def ask(session):
        return await session.call_tool("weather", {})

    result = world.run(ask)
    assert (result.is_error, result.content[0].text) == (True, "unknown city")

    world.tape.error = FailedError("MCPError", "Connection closed")

    async def caught(session):
        with pytest.raises(Exception, match="Connection closed") as error:
            await session.call_tool("weather", {})
        return type(error.value)

    assert world.run(caught).__name__ == "MCPError"


def test_a_divergence_is_raised_in_the_agents_own_call(world):
    world.tape.error = DivergedError("not recorded")

    async def ask(session):
        with pytest.raises(DivergedError):
            await session.call_tool("weather", {"city": "Rome"})
        world.tape.error = None
        return await session.call_tool("weather", {"city": "Oslo"})

    assert world.run(ask).content[0].text == "null"


def test_the_librarys_validation_runs_on_what_was_recorded(world):
    world.tape.value = {"content": ({"type": "text", "text": 7},)}

    async def ask(session):
        with pytest.raises(ValidationError):
            await session.call_tool("weather", {})

    world.run(ask)


def test_requests_of_no_consequence_are_answered_and_notifications_are_for_nobody(world):
    async def ask(session):
        await session.send_ping()
        await session.send_roots_list_changed()
        return session

    world.run(ask)

    assert world.tape.asked == []


def test_what_was_not_recorded_is_told_with_what_to_do(world):
    world.tape.error = DivergedError("not recorded")

    async def ask(session):
        with pytest.raises(DivergedError):
            await session.read_resource("file:///a")

    world.run(ask)

    assert "resources/read of an MCP server is not in the record" in world.told[-1]
