"""Tools of smolagents are answered in the place of their `forward`, whoever calls them.

They run where smolagents is installed: `make agents` makes such an environment.
"""

from typing import ClassVar

import pytest

pytest.importorskip("smolagents")

from smolagents import CodeAgent, Model, Tool, ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction

from adapter_kit import World, must_not_run
from runreel.errors import DivergedError
from runreel.replay.adapters import smolagents
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.functions import FailedError

WORLD = World(smolagents.install)


@pytest.fixture(autouse=True)
def world():
    yield WORLD
    WORLD.forget()


class Weather(Tool):
    name, description, output_type = "weather", "Tell the weather.", "object"
    inputs: ClassVar = {
        "city": {"type": "string", "description": "Which."},
        "units": {"type": "string", "description": "Which.", "nullable": True},
    }

    def setup(self):
        must_not_run()

    def forward(self, city: str, units: str = "metric") -> dict:
        must_not_run()


class Scripted(Model):
    """A model that answers these, one a turn: code, or the name and arguments of a call."""

    def __init__(self, *answers):
        super().__init__()
        self.answers, self.seen = list(answers), []

    def generate(self, messages, **_):
        self.seen.append(messages)
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            return ChatMessage(role="assistant", content=answer)
        name, arguments = answer
        made = ChatMessageToolCallFunction(name=name, arguments=arguments)
        return ChatMessage(
            role="assistant",
            content=None,
            tool_calls=[ChatMessageToolCall(id="call_1", type="function", function=made)],
        )


def test_a_class_is_answered_without_its_setup_and_with_its_arguments_by_name(world):
    tape = world.expect('{"temp_c": -3}', weather="tool")
    made = Weather()

    assert made("Oslo", units="metric") == {"temp_c": -3}
    assert made({"city": "Oslo"}) == {"temp_c": -3}
    assert tape.asked == [
        ("tool", "weather", {"city": "Oslo", "units": "metric"}, ""),
        ("tool", "weather", {"city": "Oslo"}, ""),
    ]
    assert not made.is_initialized


@pytest.mark.parametrize(
    ("output_type", "recorded", "wanted"),
    [
        ("string", "5", "5"),
        ("integer", 5, 5),
        ("object", '{"a": 1}', {"a": 1}),
        ("array", "[1, 2]", [1, 2]),
        ("null", "null", None),
    ],
)
def test_a_result_is_what_the_tool_returned(output_type, recorded, wanted, world):
    world.expect(recorded, found="tool")

    class Found(Tool):
        name, description, inputs = "found", "Find it.", {}

        def forward(self):
            must_not_run()

    Found.output_type = output_type

    assert Found()() == wanted


def test_an_agent_and_the_code_that_it_is_given_are_answered_alike(world):
    tape = world.expect('{"temp_c": -3}', weather="tool")
    calling = Scripted(("weather", {"city": "Oslo"}), ("final_answer", {"answer": "cold"}))
    coding = Scripted("<code>\nfound = weather(city='Oslo')\nfinal_answer(found['temp_c'])\n</code>")

    assert ToolCallingAgent([Weather()], calling, verbosity_level=0).run("weather?") == "cold"
    assert CodeAgent([Weather()], coding, verbosity_level=0).run("weather?") == -3
    assert [one[2] for one in tape.asked] == [{"city": "Oslo"}] * 2


def test_a_recorded_failure_goes_through_the_agents_own_handling(world):
    world.expect(error=FailedError("KeyError", "'unknown city'"), weather="tool")
    model = Scripted(("weather", {"city": "Atlantis"}), ("final_answer", {"answer": "none"}))

    ToolCallingAgent([Weather()], model, verbosity_level=0).run("weather?")

    assert "KeyError: 'unknown city'" in str(model.seen[1][-1].content)


def test_arguments_that_do_not_fit_ask_for_nothing(world):
    tape = world.expect("cold", weather="tool")
    model = Scripted(("weather", {"place": "Oslo"}), ("final_answer", {"answer": "none"}))

    ToolCallingAgent([Weather()], model, verbosity_level=0).run("weather?")

    assert tape.asked == []


def test_a_managed_agent_and_the_final_answer_are_the_agents_own_code(world):
    tape = world.expect("answered", weather="tool", expert="tool", final_answer="tool")
    worker = ToolCallingAgent(
        [Weather()],
        Scripted(("weather", {"city": "Oslo"}), ("final_answer", {"answer": "cold"})),
        name="expert",
        description="Knows the weather.",
        verbosity_level=0,
    )
    desk = Scripted(("expert", {"task": "Oslo?"}), ("final_answer", {"answer": "done"}))

    assert ToolCallingAgent([], desk, managed_agents=[worker], verbosity_level=0).run("weather?") == "done"
    assert [one[1] for one in tape.asked] == ["weather"]


def test_a_tool_whose_function_was_swapped_is_left_to_it(world):
    tape = world.expect('{"temp_c": -3}', weather="tool")

    def weather(city: str) -> dict:
        """Tell the weather.

        Args:
            city: Which.
        """
        must_not_run()

    functions.swap(weather, "tool", "weather")
    functions.connect(tape)

    assert tool(weather)(city="Oslo") == {"temp_c": -3}
    assert len(tape.asked) == 1


def test_a_tool_that_is_not_recorded_runs_and_a_divergence_reaches_its_caller(world):
    world.expect(error=DivergedError("input_mismatch"), weather="tool")

    class Echo(Tool):
        name, description, output_type = "echo", "Say it.", "string"
        inputs: ClassVar = {"city": {"type": "string", "description": "Which."}}

        def forward(self, city: str) -> str:
            return city + "!"

    assert Echo()("Oslo") == "Oslo!"
    with pytest.raises(DivergedError):
        Weather()("Oslo")
