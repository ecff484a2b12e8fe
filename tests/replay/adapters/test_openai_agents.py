"""Tools of the OpenAI Agents SDK are answered below their validation and error handling."""

import asyncio
import copy
import json

import pytest
from agents.mcp import MCPServerStdio, MCPUtil
from agents.tool import FunctionTool
from agents.tool_context import ToolContext
from mcp import types as mcp_types

from adapter_kit import World, must_not_run
from agents import Agent, RunContextWrapper, function_tool
from runreel.replay.adapters import openai_agents
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.functions import FailedError

WORLD = World(openai_agents.install)


@pytest.fixture(autouse=True)
def world():
    yield WORLD
    WORLD.forget()


def invoke(tool, arguments='{"city": "Oslo"}', call_id="call_7"):
    context = ToolContext(context=None, tool_name=tool.name, tool_call_id=call_id, tool_arguments=arguments)
    return asyncio.run(tool.on_invoke_tool(context, arguments))


def test_a_function_tool_is_answered_with_the_arguments_that_its_schema_let_pass(world):
    tape = world.expect('{"temp_c": -3}', weather="tool")

    @function_tool(name_override="weather")
    def live(city: str, units: str = "metric"):
        """Tell the weather."""
        must_not_run()

    assert invoke(live) == '{"temp_c": -3}'
    assert tape.asked == [("tool", "weather", {"city": "Oslo", "units": "metric"}, "call_7")]


def test_the_declared_type_of_the_result_comes_back(world):
    world.expect('{"temp_c": -3}', weather="tool")

    @function_tool
    def weather(city: str) -> dict:
        """Tell the weather."""
        must_not_run()

    assert invoke(weather) == {"temp_c": -3}


def test_an_async_function_that_takes_the_context_is_asked_about_without_it(world):
    tape = world.expect("cold", weather="tool")

    @function_tool
    async def weather(ctx: RunContextWrapper, city: str) -> str:
        """Tell the weather."""
        must_not_run()

    assert invoke(weather) == "cold"
    assert tape.asked == [("tool", "weather", {"city": "Oslo"}, "call_7")]


def test_arguments_that_the_schema_refuses_ask_for_nothing(world):
    tape = world.expect("cold", weather="tool")

    @function_tool
    def weather(city: str) -> str:
        """Tell the weather."""
        must_not_run()

    assert "error occurred" in invoke(weather, '{"city": "Lis')
    assert tape.asked == []


def test_a_recorded_failure_goes_through_the_tools_own_error_handling(world):
    world.expect(error=FailedError("KeyError", "'unknown city'"), weather="tool")

    @function_tool(failure_error_function=lambda _, error: f"{type(error).__name__}: {error}")
    def weather(city: str) -> str:
        """Tell the weather."""
        must_not_run()

    assert invoke(weather) == "KeyError: 'unknown city'"


def test_a_copy_of_a_tool_is_answered_once(world):
    tape = world.expect("cold", weather="tool")

    @function_tool
    def weather(city: str) -> str:
        """Tell the weather."""
        must_not_run()

    assert invoke(copy.copy(weather)) == "cold"
    assert len(tape.asked) == 1


def test_an_agent_as_a_tool_is_answered_as_a_whole(world):
    tape = world.expect("It is cold.", expert="tool")

    tool = Agent(name="expert").as_tool("expert", "Knows the weather.")

    assert invoke(tool, '{"input": "Oslo?"}') == "It is cold."
    assert tape.asked == [("tool", "expert", {"input": "Oslo?"}, "call_7")]


def test_a_tool_with_an_invoker_of_its_own_is_answered_in_its_place(world):
    tape = world.expect("cold", weather="tool")
    schema = {"type": "object", "properties": {}, "additionalProperties": False}

    tool = FunctionTool("weather", "Tell it.", schema, must_not_run)

    assert invoke(tool, json.dumps({"city": "Oslo"})) == "cold"
    assert invoke(tool, "no json") == "cold"
    assert [one[2] for one in tape.asked] == [{"city": "Oslo"}, "no json"]


def test_a_tool_whose_function_was_swapped_is_left_to_it_and_asks_with_the_models_call_id(world):
    tape = world.expect('{"temp_c": -3}', weather="tool")

    def weather(city: str) -> dict:
        """Tell the weather."""
        must_not_run()

    functions.swap(weather, "tool", "weather")
    functions.connect(tape)

    assert invoke(function_tool(weather)) == {"temp_c": -3}
    assert tape.asked == [("tool", "weather", {"city": "Oslo"}, "call_7")]


def test_a_tool_that_is_not_recorded_runs(world):
    world.expect("cold", weather="tool")

    @function_tool
    def echo(city: str) -> str:
        """Say it."""
        return city + "!"

    assert invoke(echo) == "Oslo!"


@pytest.mark.parametrize(
    ("recorded", "returned"),
    [
        ('{"type": "text", "text": "cold"}', {"type": "text", "text": "cold"}),
        ('[{"type": "input_text", "text": "cold"}]', {"type": "text", "text": "cold"}),
        (({"type": "text", "text": "a"}, {"type": "image", "image_url": "data:,"}),
         [{"type": "text", "text": "a"}, {"type": "image", "image_url": "data:,"}]),
        ('{"temp_c": -3}', '{"temp_c": -3}'),
        ("cold", "cold"),
        ("[]", "[]"),
    ],
)  # fmt: skip
def test_a_tool_of_an_mcp_server_returns_what_the_sdk_makes_of_a_servers_result(recorded, returned, world):
    tape = world.expect(recorded, weather="tool")

    class Server(MCPServerStdio):
        async def call_tool(self, *_, **__):
            must_not_run()

    listed = mcp_types.Tool(name="weather", inputSchema={"type": "object", "properties": {"city": {"type": "string"}}})
    server = Server(params={"command": "/nowhere/server"})
    tool = MCPUtil.to_function_tool(listed, server, convert_schemas_to_strict=False)

    assert invoke(tool) == returned
    assert tape.asked == [("tool", "weather", {"city": "Oslo"}, "call_7")]
