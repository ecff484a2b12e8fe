"""LlamaIndex's tools and retrievers are answered below everything that the library does around them."""

import asyncio
import functools

import pytest

from adapter_kit import World, must_not_run
from runreel.errors import DivergedError
from runreel.replay.adapters import llamaindex
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.functions import FailedError

WORLD = World(llamaindex.install)

from llama_index.core.agent.workflow.multi_agent_workflow import handoff
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import TextBlock
from llama_index.core.tools import FunctionTool, QueryEngineTool, RetrieverTool, ToolMetadata, ToolOutput
from llama_index.core.tools.types import BaseTool, adapt_to_async_tool
from llama_index.core.workflow import Context


@pytest.fixture(autouse=True)
def world():
    yield WORLD
    WORLD.forget()


def weather(city: str, units: str = "metric"):
    """Tell the weather."""
    must_not_run()


def test_a_function_tool_gives_the_librarys_own_output_and_its_callback_runs(world):
    tape = world.expect({"temp_c": -3}, weather="tool")

    output = FunctionTool.from_defaults(weather, callback=lambda found: f"It is {found['temp_c']}.").call(city="Oslo")

    assert (type(output), output.content, output.raw_output) == (ToolOutput, "It is -3.", {"temp_c": -3})
    assert tape.asked == [("tool", "weather", {"city": "Oslo"}, "")]


def test_an_async_call_is_answered_of_sync_and_async_functions(world):
    world.expect({"temp_c": -3}, weather="tool")

    async def live(city: str):
        must_not_run()

    tools = [FunctionTool.from_defaults(weather), FunctionTool.from_defaults(async_fn=live, name="weather")]

    assert [asyncio.run(tool.acall(city="Oslo")).content for tool in tools] == ["{'temp_c': -3}"] * 2


def test_a_text_is_told_as_it_was_recorded(world):
    world.expect('{"temp_c": -3}', weather="tool")

    assert FunctionTool.from_defaults(weather).call(city="Oslo").content == '{"temp_c": -3}'


def test_arguments_that_do_not_fit_fail_as_they_did_before_anything_is_asked(world):
    tape = world.expect("cold", weather="tool")

    with pytest.raises(TypeError, match="city"):
        FunctionTool.from_defaults(weather).call()
    assert tape.asked == []


def test_what_the_agents_author_fixed_and_the_workflows_context_are_no_arguments(world):
    tape = world.expect("cold", weather="tool")

    def live(ctx: Context, city: str, units: str):
        must_not_run()

    tool = FunctionTool.from_defaults(live, name="weather", partial_params={"units": "metric"})
    tool(ctx="the workflow's", city="Oslo")

    assert tape.asked[0][2] == {"city": "Oslo"}


def test_a_swapped_function_answers_itself_unless_it_is_given_the_workflows_context(world):
    tape = world.expect("cold", weather="tool", context="tool")
    functions.connect(tape)

    def swapped(city: str):
        must_not_run()

    def contextual(ctx: Context, city: str):
        must_not_run()

    functions.swap(swapped, "tool", "weather")
    functions.swap(contextual, "tool", "context")
    plain = FunctionTool.from_defaults(swapped, name="weather")

    assert plain.real_fn is plain.fn is swapped
    assert plain(city="Oslo").content == "cold"
    assert FunctionTool.from_defaults(contextual, name="context")(ctx=object(), city="Oslo").content == "cold"
    assert [one[2] for one in tape.asked] == [{"city": "Oslo"}] * 2


def test_a_hand_off_is_the_agents_own_and_runs_again(world):
    world.expect("cold", handoff="tool")

    assert FunctionTool.from_defaults(async_fn=handoff).async_fn is handoff


def test_a_recorded_failure_is_raised_and_so_is_a_divergence(world):
    tool = FunctionTool.from_defaults(functools.partial(weather), name="other")
    world.expect(error=FailedError("KeyError", "'no city'"), weather="tool")
    with pytest.raises(KeyError):
        FunctionTool.from_defaults(weather).call(city="Oslo")
    world.expect(error=DivergedError("input_mismatch"), weather="tool")
    with pytest.raises(DivergedError):
        FunctionTool.from_defaults(weather).call(city="Oslo")
    with pytest.raises(AssertionError, match="a recorded tool ran"):
        tool.call(city="Oslo")  # it is not recorded


def test_a_query_engine_as_a_tool_is_answered_as_a_whole(world):
    tape = world.expect("They are paid within 14 days.", policies="tool")
    tool = QueryEngineTool.from_defaults(None, name="policies")

    outputs = [tool.call(input="Refunds?"), asyncio.run(tool.acall("Refunds?"))]

    assert [one.content for one in outputs] == ["They are paid within 14 days."] * 2
    assert (outputs[0].tool_name, outputs[1].raw_input) == ("policies", {"input": "Refunds?"})
    assert [one[2] for one in tape.asked] == [{"input": "Refunds?"}, "Refunds?"]


class Old(BaseTool):
    @property
    def metadata(self):
        return ToolMetadata("Old.", name="old")

    def __call__(self, input):  # noqa: A002 - as the library has it
        must_not_run()


def test_a_tool_class_of_the_agents_own_is_answered_however_it_is_called(world):
    world.expect("cold", old="tool")

    outputs = [Old()("Oslo"), adapt_to_async_tool(Old()).call("Oslo")]
    outputs.append(asyncio.run(adapt_to_async_tool(Old()).acall("Oslo")))

    assert [one.blocks for one in outputs] == [[TextBlock(text="cold")]] * 3


class Keyword(BaseRetriever):
    def _retrieve(self, query_bundle):
        must_not_run()


class Live(BaseRetriever):
    def _retrieve(self, query_bundle):
        return []


@pytest.mark.parametrize("name", ["Keyword", "Keyword.retrieve", "Keyword.aretrieve"])
def test_a_retriever_gives_the_librarys_own_nodes_by_each_name_that_it_is_recorded_under(name, world):
    found = ({"content": "14 days.", "metadata": {"rev": 3}, "id": "kb-17", "score": 0.5}, "Norway.")
    tape = world.expect(found, **{name: "retrieval"})

    first, second = Keyword().retrieve("refunds")
    awaited = asyncio.run(Keyword().aretrieve("refunds"))

    assert (first.node.id_, first.text, first.node.metadata, first.score) == ("kb-17", "14 days.", {"rev": 3}, 0.5)
    assert (second.text, second.score, len(awaited)) == ("Norway.", None, 2)
    assert tape.asked == [("retrieval", name, {"query": "refunds"}, "")] * 2
    assert Live().retrieve("refunds") == []


def test_a_retriever_as_a_tool_is_answered_as_the_tool_that_it_is(world):
    world.expect("14 days.\n\n", search="tool")

    assert RetrieverTool.from_defaults(Keyword(), name="search").call("refunds").content == "14 days.\n\n"
