"""Tools of Pydantic AI are answered below their validation, retries and hooks."""

import asyncio

import pytest
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from adapter_kit import World, must_not_run
from runreel.replay.adapters import pydantic_ai
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.functions import FailedError

WORLD = World(pydantic_ai.install)


@pytest.fixture(autouse=True)
def world():
    yield WORLD
    WORLD.forget()


def run(*calls, name="weather", **options):
    """Run an agent whose model makes these calls, one a turn; return what the model was told of them."""
    told = []

    def model(messages, _):
        told[:] = [
            part for one in messages for part in one.parts if isinstance(part, (ToolReturnPart, RetryPromptPart))
        ]
        turn = sum(isinstance(one, ModelResponse) for one in messages)
        done = turn >= len(calls)
        return ModelResponse(
            [TextPart("done") if done else ToolCallPart(name, calls[turn], tool_call_id=f"call_{turn}")]
        )

    asyncio.run(Agent(FunctionModel(model), **options).run("weather?"))
    return told


def test_a_tool_is_answered_with_its_validated_arguments_and_the_declared_type_of_its_result(world):
    tape = world.expect('{"temp_c": -3}', weather="tool")

    def weather(city: str, days: int = 1) -> dict:
        """Tell the weather."""
        must_not_run()

    told = run('{"city": "Oslo", "days": "2"}', tools=[weather])

    assert [one.content for one in told] == [{"temp_c": -3}]
    assert tape.asked == [("tool", "weather", {"city": "Oslo", "days": 2}, "call_0")]


def test_an_async_tool_that_takes_the_context_is_asked_about_without_it(world):
    tape = world.expect("cold", weather="tool")

    async def weather(ctx: RunContext, city: str) -> str:
        """Tell the weather."""
        must_not_run()

    assert [one.content for one in run({"city": "Oslo"}, tools=[weather])] == ["cold"]
    assert tape.asked == [("tool", "weather", {"city": "Oslo"}, "call_0")]


def test_arguments_that_do_not_fit_go_back_to_the_model_and_ask_for_nothing(world):
    tape = world.expect("cold", weather="tool")

    def weather(city: str) -> str:
        """Tell the weather."""
        must_not_run()

    told = run({}, {"city": "Oslo"}, tools=[weather])

    assert [one.outcome if isinstance(one, ToolReturnPart) else "retry" for one in told][-1] == "success"
    assert len(told) == 2
    assert [one[3] for one in tape.asked] == ["call_1"]


def test_a_recorded_failure_is_raised_in_the_tool(world):
    world.expect(error=FailedError("KeyError", "'unknown city'"), weather="tool")

    def weather(city: str) -> str:
        """Tell the weather."""
        must_not_run()

    with pytest.raises(KeyError, match="unknown city"):
        run({"city": "Oslo"}, tools=[weather])


def test_a_recorded_wish_for_another_try_is_one_again(world):
    tape = world.expect(error=FailedError("pydantic_ai.exceptions.ModelRetry", "another city"), weather="tool")

    def weather(city: str) -> str:
        """Tell the weather."""
        must_not_run()

    with pytest.raises(Exception, match="retries"):
        run({"city": "Oslo"}, {"city": "Rome"}, tools=[weather], retries=1)
    assert [one[2] for one in tape.asked] == [{"city": "Oslo"}, {"city": "Rome"}]
    assert isinstance(ModelRetry("x"), Exception)


def test_a_tool_behind_a_prefix_is_recorded_under_the_name_that_the_model_knows(world):
    tape = world.expect("cold", sky_weather="tool")

    def weather(city: str) -> str:
        """Tell the weather."""
        must_not_run()

    told = run({"city": "Oslo"}, name="sky_weather", toolsets=[FunctionToolset([weather]).prefixed("sky")])

    assert [one.content for one in told] == ["cold"]
    assert tape.asked[0][1] == "sky_weather"


def test_a_tool_whose_function_was_swapped_is_left_to_it_and_asks_with_the_models_call_id(world):
    tape = world.expect('{"temp_c": -3}', weather="tool")

    def weather(city: str) -> dict:
        """Tell the weather."""
        must_not_run()

    functions.swap(weather, "tool", "weather")
    functions.connect(tape)

    assert [one.content for one in run({"city": "Oslo"}, tools=[weather])] == [{"temp_c": -3}]
    assert tape.asked == [("tool", "weather", {"city": "Oslo"}, "call_0")]


def test_a_tool_that_is_not_recorded_runs(world):
    world.expect("cold", weather="tool")

    def echo(city: str) -> str:
        """Say it."""
        return city + "!"

    assert [one.content for one in run({"city": "Oslo"}, name="echo", tools=[echo])] == ["Oslo!"]
