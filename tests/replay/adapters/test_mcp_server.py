"""What a session is told in the place of its MCP server: from the tape, from what the model was told, or not at all."""

import pytest

from adapter_kit import Tape
from runreel.errors import DivergedError
from runreel.record import sessions
from runreel.replay.adapters import Answers
from runreel.replay.adapters.mcp_server import (
    Listing,
    ProtocolError,
    Server,
    definitions,
    facts,
    recorded_name,
    result_of,
)
from runreel.replay.boundaries.functions import FailedError
from runreel.replay.values import Entry, Returned

WEATHER = {
    "name": "weather",
    "description": "Tell the weather.",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"default": 1}}},
}
TIME = {"name": "time", "inputSchema": {"type": "object"}}


class World:
    """A record with these tools, and the server that answers from it."""

    def __init__(self, *tools, own=(), requests=(), **kinds):
        self.tape, self.told = Tape(), []
        facts = {"tools": tools, "own": own, "requests": requests}
        self.answers = Answers(kinds, self.tape, facts, self.told.append)
        self.listing = Listing(self.answers)

    def server(self, name="one"):
        return Server(name, self.answers, self.listing)

    def listed(self, name="one"):
        return [tool["name"] for tool in self.server(name).reply("tools/list", {})["tools"]]


def model_call(*tools):
    request = {"model": "m", "messages": (), "tools": tools, "params": {}}
    return Entry(0, "llm", "m", request, Returned(()), "key")


def test_the_tools_are_those_that_the_model_was_told_of_each_once_in_order():
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    first = model_call({"type": "function", "name": "b", "description": "B.", "parameters": schema})
    second = model_call({"type": "function", "name": "a"}, {"type": "function", "name": "b"}, {"type": "web_search"})
    tool = Entry(1, "tool", "b", {"city": "Oslo"}, Returned("cold"), "key")

    assert definitions([first, tool, second]) == [
        {"name": "b", "description": "B.", "inputSchema": schema},
        {"name": "a", "inputSchema": {"type": "object"}},
    ]


def test_a_list_of_tools_is_without_the_agents_own_functions():
    world = World(WEATHER, TIME, own=("time",))

    assert world.server().reply("tools/list", {}) == {"tools": [WEATHER]}
    assert "functions of the agent's own were not listed as tools of an MCP server: time." in world.told[0]
    assert "as the model was told" in world.told[1]


def test_where_every_tool_seems_to_be_the_agents_own_they_are_the_servers():
    assert World(WEATHER, TIME, own=("weather", "time")).listed() == ["weather", "time"]


def test_the_first_of_several_servers_lists_all_the_tools_and_the_report_says_so():
    world = World(WEATHER, TIME)

    assert [world.listed("one"), world.listed("two"), world.listed("one")] == [
        ["weather", "time"],
        [],
        ["weather", "time"],
    ]
    assert "which MCP server has which tool is not recorded" in world.told[1]
    assert "runreel.record.mcp()" in world.told[1]


def test_where_no_model_was_told_of_tools_the_recorded_names_are_listed_and_the_report_says_so():
    world = World(weather="tool", kb="retrieval")

    assert world.server().reply("tools/list", {}) == {"tools": [{"name": "weather", "inputSchema": {"type": "object"}}]}
    assert "without descriptions and parameters" in world.told[0]


def test_a_handshake_is_in_the_words_of_the_client():
    reply = World().server().reply("initialize", {"protocolVersion": "2025-06-18"})

    assert (reply["protocolVersion"], reply["capabilities"]) == ("2025-06-18", {"tools": {}})
    assert World().server().reply("ping", {}) == {}


def test_a_newer_handshake_is_answered_as_a_server_does_that_does_not_know_it():
    with pytest.raises(ProtocolError) as error:
        World().server().reply("server/discover", {})
    assert error.value.code == -32601


def test_a_call_is_asked_about_with_the_defaults_of_its_schema():
    world = World(WEATHER, weather="tool")
    world.tape.value = "cold"

    result = world.server().reply("tools/call", {"name": "weather", "arguments": {"city": "Oslo"}, "_meta": {"a": 1}})

    assert result == {"content": [{"type": "text", "text": "cold"}], "isError": False}
    assert world.tape.asked == [("tool", "weather", {"city": "Oslo"}, "")]
    assert world.listing.defaults("weather") == {"days": 1}


def test_a_call_without_arguments_is_one_with_none():
    world = World(time="tool")

    world.server().reply("tools/call", {"name": "time"})

    assert world.tape.asked == [("tool", "time", {}, "")]


def test_a_recorded_failure_of_a_tool_is_a_result_that_says_so():
    world = World(weather="tool")
    world.tape.error = FailedError("ToolException", "unknown city")

    result = world.server().reply("tools/call", {"name": "weather", "arguments": {}})

    assert result == {"content": [{"type": "text", "text": "unknown city"}], "isError": True}


@pytest.mark.parametrize(
    ("kind", "text", "arguments", "code"),
    [
        ("mcp.shared.exceptions.McpError", "Unknown tool", "", -32603),
        ("mcp.shared.exceptions.MCPError", "Unknown tool", '[-32602, "Unknown tool", null]', -32602),
        ("MCPError", "Connection closed", "", -32000),
    ],
)
def test_a_recorded_error_of_the_protocol_is_one_again(kind, text, arguments, code):
    world = World(weather="tool")
    world.tape.error = FailedError(kind, text, (), arguments)

    with pytest.raises(ProtocolError) as error:
        world.server().reply("tools/call", {"name": "weather", "arguments": {}})
    assert (error.value.code, error.value.message) == (code, text)


def test_what_the_record_does_not_hold_is_asked_for_all_the_same_and_the_report_says_what_to_do():
    world = World()
    world.tape.error = DivergedError("not recorded")

    with pytest.raises(DivergedError):
        world.server().reply("resources/read", {"uri": "file:///a", "_meta": {}})
    asked = {"op": "search", "arguments": {"request": "resources/read", "uri": "file:///a"}}
    assert world.tape.asked == [("memory", "mcp", asked, "")]
    assert "resources/read of an MCP server is not in the record: call runreel.record.mcp()" in world.told[0]


@pytest.fixture
def recorder(monkeypatch):
    """The recorder records the request that is being sent."""
    monkeypatch.setattr(sessions, "is_recorded", lambda: True)


@pytest.mark.usefixtures("recorder")
def test_what_the_recorder_recorded_of_a_session_is_on_the_tape():
    world = World(WEATHER, requests=["tools/list"])
    world.tape.value = {"tools": ({"name": "time", "inputSchema": {"type": "object"}},)}

    assert world.server().reply("tools/list", {"_meta": {"traceparent": "00"}}) == {"tools": [TIME]}
    assert world.tape.asked == [("memory", "mcp", {"op": "search", "arguments": {"request": "tools/list"}}, "")]
    assert world.told == []
    assert world.server().reply("initialize", {})["serverInfo"]["name"] == "recorded"


@pytest.mark.usefixtures("recorder")
def test_a_recorded_error_of_a_list_is_one_of_the_protocol():
    world = World(requests=["resources/list"])
    world.tape.error = FailedError("mcp.shared.exceptions.MCPError", "Method not found")

    with pytest.raises(ProtocolError, match="Method not found"):
        world.server().reply("resources/list", {})


def test_a_list_that_the_recorder_does_not_record_now_was_not_recorded_then():
    world = World(WEATHER, requests=["tools/list"])

    assert world.listed() == ["weather"]
    assert world.tape.asked == []


def test_a_record_says_which_requests_of_sessions_it_holds():
    asked = {"op": "search", "arguments": {"request": "tools/list"}}
    other = Entry(1, "memory", "profile", {"op": "search", "arguments": {"user": "u"}}, Returned(None), "key")

    found = facts([Entry(0, "memory", "mcp", asked, Returned({}), "key"), other, model_call({"name": "a"})])

    assert found == {"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "requests": ["tools/list"]}


@pytest.mark.parametrize(
    ("name", "recorded", "meant"),
    [
        ("search", {"search": "tool", "web_search": "tool"}, "search"),
        ("search", {"web_search": "tool"}, "web_search"),
        ("search", {"web__search": "tool", "other": "tool"}, "web__search"),
        ("search", {"web_search": "tool", "kb_search": "tool"}, "search"),
        ("search", {"research": "tool"}, "search"),
        ("search", {"web_search": "retrieval"}, "search"),
        ("a.b", {"x-a.b": "tool", "x-aXb": "tool"}, "x-a.b"),
    ],
)
def test_a_tool_is_known_behind_the_prefix_of_its_server(name, recorded, meant):
    assert recorded_name(name, recorded) == meant


TEXT = {"type": "text", "text": "cold"}


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("cold", {"content": [TEXT], "isError": False}),
        (
            '{"c": -3}',
            {"content": [{"type": "text", "text": '{"c": -3}'}], "isError": False, "structuredContent": {"c": -3}},
        ),
        (
            {"c": -3},
            {"content": [{"type": "text", "text": '{"c": -3}'}], "isError": False, "structuredContent": {"c": -3}},
        ),
        (("a", 1), {"content": [{"type": "text", "text": '["a", 1]'}], "isError": False}),
        (None, {"content": [{"type": "text", "text": "null"}], "isError": False}),
        (TEXT, {"content": [TEXT], "isError": False}),
        ((TEXT, TEXT), {"content": [TEXT, TEXT], "isError": False}),
        ({"content": (TEXT,), "isError": True}, {"content": [TEXT], "isError": True}),
        ({"content": (), "structuredContent": {"a": 1}}, {"content": [], "structuredContent": {"a": 1}}),
        (
            {"content": "text"},
            {
                "content": [{"type": "text", "text": '{"content": "text"}'}],
                "isError": False,
                "structuredContent": {"content": "text"},
            },
        ),
    ],
)
def test_a_result_is_whole_where_it_was_recorded_so_and_else_made_around_what_was(value, result):
    assert result_of(value) == result
