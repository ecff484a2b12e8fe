"""Google ADK's tools are answered where the library calls them.

The library wants an older OpenTelemetry than the rest of these tests: classes of its shape stand here for its own, and
`make agents` replays agents on the library itself.
"""

import asyncio
from types import SimpleNamespace

import pytest

from adapter_kit import World, must_not_run
from runreel.replay.adapters import google_adk
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.functions import FailedError


class BaseTool:
    def __init__(self, name):
        self.name = name

    async def run_async(self, *, args, tool_context):
        raise NotImplementedError


def install(answers):
    google_adk._guard_tools(answers, SimpleNamespace(BaseTool=BaseTool))


WORLD = World(install)


class FunctionTool(BaseTool):
    """Validates, asks whether to confirm, and calls, as the library's does."""

    _ignore_params = ("tool_context",)

    def __init__(self, func, name="weather"):
        super().__init__(name)
        self.func = func

    async def run_async(self, *, args, tool_context):
        if "city" not in args:
            return {"error": "city is missing"}
        if await self._invoke_callable(lambda city: city == "Atlantis", {"city": args["city"]}):
            return {"error": "not confirmed"}
        if self.name == "generator":
            return await self._run_generator_as_node(args_to_call=args, tool_context=tool_context)
        return await self._invoke_callable(self.func, {**args, "tool_context": tool_context})

    async def _invoke_callable(self, target, args_to_call):
        return target(**args_to_call)

    async def _run_generator_as_node(self, *, args_to_call, tool_context):
        return list(self.func(**args_to_call))


class Agent(BaseTool):
    async def run_async(self, *, args, tool_context):
        must_not_run()


@pytest.fixture(autouse=True)
def world():
    yield WORLD
    WORLD.forget()


@pytest.fixture(autouse=True, scope="module")
def _as_in_the_library():
    original = FunctionTool.run_async.__wrapped__
    original.__module__ = google_adk._FUNCTION_TOOL
    answers = next(
        cell.cell_contents
        for cell in FunctionTool.run_async.__closure__
        if type(cell.cell_contents).__name__ == "Answers"
    )
    google_adk._guard_function_tools(answers, SimpleNamespace(FunctionTool=FunctionTool))


def run(tool, **args):
    return asyncio.run(tool.run_async(args=args, tool_context=SimpleNamespace(function_call_id="c-7")))


def weather(city: str, units: str = "metric", tool_context=None) -> dict:
    must_not_run()


def test_a_function_is_answered_without_the_context_and_with_the_models_call_id(world):
    tape = world.expect('{"temp_c": -3}', weather="tool")

    assert run(FunctionTool(weather), city="Oslo") == {"temp_c": -3}
    assert tape.asked[0][:3] == ("tool", "weather", {"city": "Oslo"})
    assert functions.current_call_id() == ""


def test_a_swapped_function_is_answered_here_too(world):
    tape = world.expect({"temp_c": -3}, weather="tool")
    functions.connect(tape)

    def live(city: str, tool_context=None) -> dict:
        must_not_run()

    functions.swap(live, "tool", "weather")

    assert run(FunctionTool(live), city="Oslo") == {"temp_c": -3}
    assert [one[2] for one in tape.asked] == [{"city": "Oslo"}]


def test_what_is_no_object_comes_out_of_the_librarys_wrapping(world):
    world.expect('{"result": "cold"}', weather="tool")

    def told(city: str, tool_context=None) -> str:
        must_not_run()

    assert run(FunctionTool(told), city="Oslo") == "cold"
    assert run(FunctionTool(weather), city="Oslo") == {"result": "cold"}


@pytest.mark.parametrize(("args", "error"), [({}, "city is missing"), ({"city": "Atlantis"}, "not confirmed")])
def test_what_the_library_says_itself_counts_as_answered(args, error, world):
    tape = world.expect({"error": error}, weather="tool")

    assert run(FunctionTool(weather), **args) == {"error": error}
    assert [one[2] for one in tape.asked] == [args]


def test_a_generator_is_answered_as_one(world):
    world.expect('{"result": [1, 2]}', generator="tool")

    assert run(FunctionTool(weather, "generator"), city="Oslo") == {"result": [1, 2]}


def test_an_agent_as_a_tool_and_tools_of_other_classes_are_answered_as_a_whole(world):
    tape = world.expect('{"result": "It is cold."}', expert="tool")

    assert run(Agent("expert"), request="Oslo?") == {"result": "It is cold."}
    assert tape.asked == [("tool", "expert", {"request": "Oslo?"}, "c-7")]


def test_a_recorded_failure_is_raised_and_what_is_not_recorded_runs(world):
    world.expect(error=FailedError("KeyError", "'no city'"), weather="tool")

    with pytest.raises(KeyError):
        run(FunctionTool(weather), city="Oslo")
    assert run(FunctionTool(lambda city, tool_context: city.upper(), "other"), city="Oslo") == "OSLO"


def test_what_steers_the_agent_runs(world):
    world.expect("never", weather="tool")

    def transfer_to_agent(city, tool_context):
        return f"to {city}"

    transfer_to_agent.__module__ = "google.adk.tools.transfer_to_agent_tool"

    assert run(FunctionTool(transfer_to_agent), city="Oslo") == "to Oslo"
