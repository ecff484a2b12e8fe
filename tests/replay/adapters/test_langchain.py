"""LangChain's tools and retrievers are answered below everything that the library does around them."""

import asyncio
from typing import Annotated

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, Tool, ToolException, tool
from pydantic import ValidationError

from adapter_kit import World, must_not_run
from runreel.errors import DivergedError
from runreel.replay.adapters import langchain
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.functions import FailedError

WORLD = World(langchain.install)
OSLO = {"name": "weather", "args": {"city": "Oslo"}, "id": "call_7", "type": "tool_call"}


@pytest.fixture(autouse=True)
def world():
    yield WORLD
    WORLD.forget()


def structured(**more):
    def live(city: str, units: str = "metric") -> dict:
        """Tell the weather."""
        must_not_run()

    return StructuredTool.from_function(live, name="weather", **more)


class Seen(BaseCallbackHandler):
    def __init__(self):
        self.events = []

    def on_tool_start(self, serialized, input_str, **_):
        self.events.append(("start", input_str))

    def on_tool_end(self, output, **_):
        self.events.append(("end", output.content))

    def on_retriever_end(self, documents, **_):
        self.events.append(("documents", len(documents)))


def test_a_tool_is_answered_inside_its_callbacks_and_told_as_the_librarys_own_message(world):
    tape = world.expect('{"temp_c": -3}', weather="tool")
    seen = Seen()

    message = structured().invoke(OSLO, {"callbacks": [seen]})

    assert (type(message).__name__, message.content, message.tool_call_id) == (
        "ToolMessage",
        '{"temp_c": -3}',
        "call_7",
    )
    assert tape.asked == [("tool", "weather", {"city": "Oslo"}, "call_7")]
    assert seen.events == [("start", "{'city': 'Oslo'}"), ("end", '{"temp_c": -3}')]


def test_an_async_tool_is_answered_and_so_is_a_sync_one_that_is_awaited(world):
    tape = world.expect("cold", weather="tool")

    async def live(city: str) -> str:
        """Tell the weather."""
        must_not_run()

    awaited = StructuredTool.from_function(coroutine=live, name="weather")

    async def both():
        return [(await one.ainvoke(OSLO)).content for one in (awaited, structured())]

    assert asyncio.run(both()) == ["cold", "cold"]
    assert [one[3] for one in tape.asked] == ["call_7", "call_7"]


def test_code_that_calls_a_tool_itself_gets_a_value_and_not_the_text_of_a_message(world):
    world.expect('{"temp_c": -3}', weather="tool")

    assert structured().invoke({"city": "Oslo"}) == {"temp_c": -3}


def test_arguments_are_validated_before_anything_is_asked(world):
    tape = world.expect("cold", weather="tool")

    with pytest.raises(ValidationError):
        structured().invoke({**OSLO, "args": {}})
    assert tape.asked == []


def test_a_tool_class_is_answered_in_the_place_of_its_methods(world):
    tape = world.expect("cold", weather="tool")

    class Weather(BaseTool):
        name: str = "weather"
        description: str = "Tell the weather."

        def _run(self, city: str, run_manager=None) -> str:
            must_not_run()

        async def _arun(self, city: str, run_manager=None) -> str:
            must_not_run()

    assert Weather().invoke(OSLO).content == "cold"
    assert asyncio.run(Weather().ainvoke(OSLO)).content == "cold"
    assert Weather()._run("Oslo") == "cold"
    assert [one[2] for one in tape.asked] == [{"city": "Oslo"}, {"city": "Oslo"}, "Oslo"]


def test_a_tool_of_one_text_is_asked_about_with_that_text(world):
    tape = world.expect("found", find="tool")

    assert Tool("find", must_not_run, "Find it.").invoke("refunds") == "found"
    assert tape.asked[0][2] == "refunds"


def test_a_tool_with_an_artifact_gives_its_content_and_none(world):
    world.expect("cold", weather="tool")

    message = structured(response_format="content_and_artifact").invoke(OSLO)

    assert (message.content, message.artifact) == ("cold", None)


def test_a_recorded_failure_goes_through_the_tools_own_error_handling(world):
    world.expect(error=FailedError("ToolException", "no such city"), weather="tool")

    handled = structured(handle_tool_error=True).invoke(OSLO)

    assert (handled.content, handled.status) == ("no such city", "error")
    with pytest.raises(ToolException, match="no such city"):
        structured().invoke(OSLO)


def test_what_a_graph_injects_is_no_argument_of_the_model(world):
    tape = world.expect("cold", weather="tool")

    @tool
    def weather(city: str, user: Annotated[str, InjectedToolArg]) -> str:
        """Tell the weather."""
        must_not_run()

    weather.invoke({**OSLO, "args": {"city": "Oslo", "user": "u-1"}})

    assert tape.asked[0][2] == {"city": "Oslo"}


def test_a_tool_whose_function_was_swapped_is_left_to_it_and_asks_with_the_models_call_id(world):
    tape = world.expect('{"temp_c": -3}', weather="tool")

    def live(city: str) -> dict:
        """Tell the weather."""
        must_not_run()

    functions.swap(live, "tool", "weather")
    functions.connect(tape)

    assert StructuredTool.from_function(live, name="weather").invoke(OSLO).content == '{"temp_c": -3}'
    assert tape.asked == [("tool", "weather", {"city": "Oslo"}, "call_7")]


def test_a_tool_that_is_not_recorded_runs_and_a_divergence_reaches_the_agent(world):
    world.expect(error=DivergedError("input_mismatch"), other="tool", weather="tool")

    assert Tool("echo", lambda text: text + "!", "Say it.").invoke("hi") == "hi!"
    with pytest.raises(DivergedError):
        structured().invoke(OSLO)


class Keyword(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        must_not_run()


DOCUMENTS = ({"content": "Refunds take 14 days.", "metadata": {"rev": 3}, "id": "kb-17"}, {"content": "Norway."})


def test_a_retriever_gives_the_librarys_own_documents_inside_its_callbacks(world):
    tape = world.expect(DOCUMENTS, Keyword="retrieval")
    seen = Seen()

    found = Keyword().invoke("refunds", {"callbacks": [seen]})

    assert found == [
        Document("Refunds take 14 days.", metadata={"rev": 3}, id="kb-17"),
        Document("Norway.", metadata={}),
    ]
    assert asyncio.run(Keyword().ainvoke("refunds")) == found
    assert tape.asked == [("retrieval", "Keyword", {"query": "refunds"}, "")] * 2
    assert seen.events == [("documents", 2)]


def test_a_retriever_is_known_by_the_name_that_its_caller_gave_to_the_run(world):
    tape = world.expect(("Refunds take 14 days.",), policies="retrieval")

    found = Keyword().invoke("refunds", {"run_name": "policies"})
    awaited = asyncio.run(Keyword().ainvoke("refunds", {"run_name": "policies"}))

    assert [one.page_content for one in (*found, *awaited)] == ["Refunds take 14 days."] * 2
    assert {one[1] for one in tape.asked} == {"policies"}


def test_a_retriever_that_failed_fails_again(world):
    world.expect(error=FailedError("ConnectionError", "index is down"), Keyword="retrieval")

    with pytest.raises(ConnectionError, match="index is down"):
        Keyword().invoke("refunds")
