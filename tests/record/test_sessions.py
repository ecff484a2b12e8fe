"""What MCP client sessions ask their servers is recorded, with the real library and a server in this process."""

import asyncio
import json
import sys
from types import SimpleNamespace

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from opentelemetry import trace
from pydantic import BaseModel, RootModel

import runreel.record as rr
from record_kit import run_of
from runreel.record import sessions
from runreel.record.convert import rebuild
from runreel.record.losses import losses

server = MCPServer("weather")


@server.tool()
def get_weather(city: str, days: int = 1) -> dict[str, str | int]:
    """Tell the weather."""
    if city == "Atlantis":
        raise ValueError("no such city")
    return {"city": city, "days": days}


@server.resource("note://packing")
def packing() -> str:
    """What to pack."""
    return "Pack wool."


@server.prompt()
def greeting(name: str) -> str:
    """How to greet."""
    return f"Good morning, {name}."


def ask(*questions):
    """Ask each question of a session of its own library; return the answers."""
    rr.mcp()

    async def main():
        async with Client(server, mode="legacy") as client:
            return [await question(client) for question in questions]

    return asyncio.run(main())


def came_back(run, step):
    return rebuild(run.value(step.output), step.fields.get("replay"))


def test_a_call_of_a_tool_is_a_step_with_its_arguments_and_what_came_over_the_wire(spans):
    with rr.run():
        (answer,) = ask(lambda client: client.call_tool("get_weather", {"city": "Oslo"}))

    assert (type(answer).__name__, answer.structured_content) == ("CallToolResult", {"city": "Oslo", "days": 1})
    run = run_of(spans)
    step = next(one for one in run.steps if one.kind == "tool" and one.shadowed_by is None)
    assert (step.name, run.value(step.input)) == ("get_weather", {"city": "Oslo"})
    result = came_back(run, step)
    assert result["structuredContent"] == {"city": "Oslo", "days": 1}
    assert json.loads(result["content"][0]["text"]) == {"city": "Oslo", "days": 1}
    assert "annotations" not in result["content"][0]


def test_what_else_a_session_asks_is_read_from_a_memory_of_its_own(spans):
    with rr.run():
        ask(
            lambda client: client.list_tools(),
            lambda client: client.read_resource("note://packing"),
            lambda client: client.get_prompt("greeting", {"name": "Dana"}),
            lambda client: client.session.send_ping(),
        )

    run = run_of(spans)
    memories = [step for step in run.steps if step.kind == "memory"]
    assert {step.name for step in memories} == {"mcp"}
    assert [run.value(step.input)["request"] for step in memories] == [
        "initialize",
        "tools/list",
        "resources/read",
        "prompts/get",
    ]
    assert [step.fields["key"] for step in memories][:2] == ["initialize", "tools/list"]
    listed, read, greeted = (came_back(run, step) for step in memories[1:])
    assert [tool["name"] for tool in listed["tools"]] == ["get_weather"]
    assert listed["tools"][0]["outputSchema"]["type"] == "object"
    assert read["contents"][0]["text"] == "Pack wool."
    assert greeted["messages"][0]["content"]["text"] == "Good morning, Dana."


def test_the_newer_handshake_is_recorded_as_well(spans):
    rr.mcp()

    async def main():
        async with Client(server) as client:
            return client.server_info.name

    with rr.run():
        assert asyncio.run(main()) == "weather"

    run = run_of(spans)
    (step,) = [one for one in run.steps if one.kind == "memory"]
    assert run.value(step.input) == {"request": "server/discover"}
    assert "2026-07-28" in came_back(run, step)["supportedVersions"]


def test_an_error_of_a_tool_is_its_result_and_one_of_the_protocol_is_raised_and_recorded(spans):
    async def missing(client):
        with pytest.raises(MCPError) as raised:
            await client.read_resource("note://nothing")
        return raised.value

    with rr.run():
        failed, error = ask(lambda client: client.call_tool("get_weather", {"city": "Atlantis"}), missing)

    run = run_of(spans)
    assert failed.is_error
    call = next(step for step in run.steps if step.kind == "tool" and step.shadowed_by is None)
    assert (call.status, came_back(run, call)["isError"]) == ("ok", True)
    read = next(step for step in run.steps if step.kind == "memory" and step.fields["key"] == "resources/read")
    assert (read.error.type.rpartition(".")[2], read.error.message) == ("MCPError", str(error))


def test_what_is_asked_outside_of_any_run_is_not_recorded(spans):
    ask(lambda client: client.call_tool("get_weather", {"city": "Oslo"}))

    assert not [span for span in spans.get_finished_spans() if span.instrumentation_scope.name == "runreel.record"]


def test_recording_twice_is_recording_once(spans):
    rr.mcp()
    rr.mcp()

    with rr.run():
        ask(lambda client: client.call_tool("get_weather", {"city": "Oslo"}))

    ours = [span.name for span in spans.get_finished_spans() if span.instrumentation_scope.name == "runreel.record"]
    assert ours.count("execute_tool get_weather") == 1


def test_without_the_library_the_loss_is_counted_and_nothing_is_raised(monkeypatch):
    before = losses()
    monkeypatch.setitem(sys.modules, "mcp", None)

    rr.mcp()

    assert losses(before) == {"mcp": 1}


def test_a_host_that_a_session_connects_to_is_not_taken_for_one_that_was_gone_around_to(spans):
    from mcp.client.streamable_http import StreamableHTTPTransport

    from runreel.record import bypass

    rr.mcp()
    with bypass.noting() as hosts:
        hosts.connected["127.0.0.1"] = None
        StreamableHTTPTransport("http://127.0.0.1:1/mcp")

    assert hosts.found() == []


def test_the_store_of_sessions_is_the_recorders_own():
    with pytest.raises(ValueError, match="'mcp' is the recorder's own"):
        rr.memory("mcp")


# --- before 2.0 the library takes no trace along by itself ------------------------------------------------------------


class _Request(BaseModel):
    method: str
    params: dict | None = None


class _OfBefore(RootModel[_Request]):
    """A request as the library had it before 2.0: a root model around each kind."""


@pytest.mark.parametrize("params", [None, {"name": "get_weather", "_meta": {"progressToken": 7}}])
def test_the_run_goes_along_in_the_meta_of_a_request_of_the_older_library(params, spans):
    with rr.run() as run:
        sent = sessions._carrying(_OfBefore(_Request(method="tools/call", params=params)))

    meta = sent.root.params["_meta"]
    assert run.id in meta["baggage"]
    assert meta["traceparent"]
    assert meta.get("progressToken") == (None if params is None else 7)


def test_a_server_of_the_older_library_goes_on_with_the_run(spans):
    seen = []

    async def handle(_self, _message, _request):
        seen.append(trace.get_current_span().get_span_context().trace_id)

    async def main(request):
        await sessions._joining(handle)(None, None, request)

    with rr.run():
        meta = SimpleNamespace(model_extra=rr.carrier())
        here = trace.get_current_span().get_span_context().trace_id
    asyncio.run(main(SimpleNamespace(params=SimpleNamespace(meta=meta))))
    asyncio.run(main(SimpleNamespace(params=None)))

    assert seen == [here, 0]
