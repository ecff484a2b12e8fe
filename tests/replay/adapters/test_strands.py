"""Tools of Strands are answered below their validation and hooks; what steers the agent is compared, and runs.

They run where Strands is installed: `make agents` makes such an environment.
"""

import asyncio
import json

import pytest

pytest.importorskip("strands")

from pydantic import BaseModel
from strands import Agent, tool
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent
from strands.models.model import Model
from strands.multiagent import Swarm
from strands.tools.tools import PythonAgentTool
from strands.types.tools import AgentTool

from adapter_kit import World, must_not_run
from runreel.replay.adapters import strands
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.functions import FailedError

WORLD = World(strands.install)
SPEC = {"name": "weather", "description": "Tell the weather.", "inputSchema": {"json": {"type": "object"}}}


@pytest.fixture(autouse=True)
def world():
    yield WORLD
    WORLD.forget()


class Scripted(Model):
    """A model that makes these calls, one a turn, then says that it is done."""

    def __init__(self, *calls):
        self.calls = list(calls)

    def update_config(self, **_):
        raise NotImplementedError

    def get_config(self):
        return {}

    async def structured_output(self, *_, **__):
        raise NotImplementedError
        yield

    async def stream(self, messages, *_, **__):
        yield {"messageStart": {"role": "assistant"}}
        call = self.calls.pop(0) if self.calls else None
        if call is not None:
            name, arguments = call
            number = sum("toolUse" in block for one in messages for block in one["content"])
            use = {"toolUse": {"name": name, "toolUseId": f"call_{number}"}}
            yield {"contentBlockStart": {"start": use}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if call is None else "tool_use"}}


def run(*calls, **options):
    """Run an agent whose model makes these calls; return what it was told of them."""
    agent = Agent(model=Scripted(*calls), callback_handler=None, **options)
    agent("weather?")
    return [block["toolResult"] for one in agent.messages for block in one["content"] if "toolResult" in block]


def weather(city: str, days: int = 1) -> dict:
    """Tell the weather."""
    must_not_run()


def test_a_function_is_asked_about_with_what_the_model_gave_and_told_as_it_was(world):
    tape = world.expect('{"temp_c": -3}', weather="tool")

    told = run(("weather", {"city": "Oslo", "days": "2"}), tools=[tool(weather)])

    assert told == [{"toolUseId": "call_0", "status": "success", "content": [{"text": '{"temp_c": -3}'}]}]
    assert tape.asked == [("tool", "weather", {"city": "Oslo", "days": "2"}, "call_0")]


def test_hooks_run_around_an_answered_tool(world):
    world.expect("cold", weather="tool")
    seen = []
    agent = Agent(model=Scripted(("weather", {"city": "Oslo"})), tools=[tool(weather)], callback_handler=None)
    agent.hooks.add_callback(BeforeToolCallEvent, lambda event: seen.append(event.tool_use["name"]))
    agent.hooks.add_callback(AfterToolCallEvent, lambda event: seen.append(event.result["content"]))

    agent("weather?")

    assert seen == ["weather", [{"text": "cold"}]]


def test_arguments_that_do_not_fit_ask_for_nothing(world):
    tape = world.expect("cold", weather="tool")

    (told,) = run(("weather", {}), tools=[tool(weather)])

    assert (told["status"], tape.asked) == ("error", [])


def test_an_async_function_and_a_stream_are_answered(world):
    world.expect("cold", later="tool", streamed="tool")

    @tool
    async def later(city: str) -> str:
        """Tell the weather."""
        must_not_run()

    @tool
    async def streamed(city: str):
        """Tell the weather."""
        must_not_run()
        yield city

    told = run(("later", {"city": "Oslo"}), ("streamed", {"city": "Oslo"}), tools=[later, streamed])

    assert [one["content"] for one in told] == [[{"text": "cold"}]] * 2


def test_a_recorded_failure_is_raised_in_the_function(world):
    world.expect(error=FailedError("KeyError", "'unknown city'"), weather="tool")

    (told,) = run(("weather", {"city": "Atlantis"}), tools=[tool(weather)])

    assert (told["status"], told["content"]) == ("error", [{"text": "Error: KeyError - 'unknown city'"}])


def test_a_result_that_said_that_it_failed_says_so_again(world):
    world.expect(error=FailedError("Error", "no such city"), weather="tool")

    (told,) = run(("weather", {"city": "Atlantis"}), tools=[tool(weather)])

    assert (told["status"], told["content"]) == ("error", [{"text": "no such city"}])


class Own(AgentTool):
    tool_name, tool_spec, tool_type = "weather", SPEC, "own"

    async def stream(self, tool_use, invocation_state, **_):
        must_not_run()
        yield


@pytest.mark.parametrize("made", [Own, lambda: PythonAgentTool("weather", SPEC, must_not_run)], ids=["class", "module"])
@pytest.mark.parametrize(
    ("recorded", "content"),
    [
        ("cold", [{"text": "cold"}]),
        ({"temp_c": -3}, [{"json": {"temp_c": -3}}]),
        (({"text": "a"}, {"text": "b"}), [{"text": "a"}, {"text": "b"}]),
    ],
)
def test_a_tool_that_is_given_the_whole_request_is_answered_in_its_place(made, recorded, content, world):
    tape = world.expect(recorded, weather="tool")

    (told,) = run(("weather", {"city": "Oslo"}), tools=[made()])

    assert told == {"toolUseId": "call_0", "status": "success", "content": content}
    assert tape.asked == [("tool", "weather", {"city": "Oslo"}, "call_0")]


def test_such_a_tool_fails_again_with_what_it_raised(world):
    world.expect(error=FailedError("ConnectionError", "no line"), weather="tool")

    (told,) = run(("weather", {"city": "Oslo"}), tools=[Own()])

    assert (told["status"], told["content"]) == ("error", [{"text": "Error: no line"}])


def test_an_agent_as_a_tool_is_answered_as_a_whole(world):
    tape = world.expect("It is cold.", expert="tool")
    expert = Agent(model=Scripted(), name="expert", callback_handler=None)

    (told,) = run(("expert", {"input": "Oslo?"}), tools=[expert.as_tool()])

    assert told["content"] == [{"text": "It is cold."}]
    assert expert.messages == []
    assert tape.asked == [("tool", "expert", {"input": "Oslo?"}, "call_0")]


class Report(BaseModel):
    """How it is somewhere."""

    city: str


def test_a_structured_output_is_compared_and_made(world):
    tape = world.expect("Successfully validated Report structured output", Report="tool")
    agent = Agent(model=Scripted(("Report", {"city": "Oslo"})), callback_handler=None)

    result = agent("weather?", structured_output_model=Report)

    assert result.structured_output == Report(city="Oslo")
    assert tape.asked == [("tool", "Report", {"city": "Oslo"}, "call_0")]


def test_a_swarm_hands_over_again(world):
    tape = world.expect(error=FailedError("Error", "recorded as it may be"), handoff_to_agent="tool")
    over = {"agent_name": "second", "message": "yours"}
    first = Agent(model=Scripted(("handoff_to_agent", over)), name="first", callback_handler=None)
    second = Agent(model=Scripted(), name="second", callback_handler=None)

    result = asyncio.run(Swarm([first, second]).invoke_async("weather?"))

    assert [node.node_id for node in result.node_history] == ["first", "second"]
    assert tape.asked == [("tool", "handoff_to_agent", over, "call_0")]


def test_functions_that_are_swapped_ask_with_the_models_call_id(world):
    tape = world.expect("cold", below="tool")

    def below() -> str:
        must_not_run()

    functions.swap(below, "tool", "below")
    functions.connect(tape)

    @tool
    def above(city: str) -> str:
        """Tell the weather."""
        return below()

    assert run(("above", {"city": "Oslo"}), tools=[above])[0]["content"] == [{"text": "cold"}]
    assert tape.asked == [("tool", "below", {}, "call_0")]


def test_a_tool_that_is_not_recorded_runs(world):
    @tool
    def echo(city: str) -> str:
        """Say it."""
        return city + "!"

    assert run(("echo", {"city": "Oslo"}), tools=[echo])[0]["content"] == [{"text": "Oslo!"}]
