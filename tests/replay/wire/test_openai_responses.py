import json

import pytest
from openai.types.responses import Response

from runreel.replay.wire import gaps, parse
from runreel.replay.wire.values import HttpRequest
from wire_kit import URLS, asked, events, failed, message, part, returned, streamed, whole

API = "openai.responses"
CALL = part("tool_call", id="call_1", name="f", arguments={"a": 1})


def test_a_request_is_read_as_its_record_has_it():
    got = asked(
        API,
        instructions="Be brief.",
        input=[
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "q"},
                    {"type": "input_image", "image_url": "data:image/png;base64,eA==", "detail": "low"},
                    {"type": "input_image", "file_id": "file-1"},
                    {"type": "input_file", "file_id": "file-2"},
                ],
            },
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "a", "annotations": []}],
            },
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"a": 1}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "r"},
            {"type": "custom_tool_call", "call_id": "call_2", "name": "g", "input": "raw"},
            {"type": "item_reference", "id": "msg_1"},
        ],
        tools=[{"type": "function", "name": "f", "parameters": {}}, {"type": "web_search"}],
        text={"format": {"type": "json_schema", "name": "s", "schema": {}}},
        reasoning={"effort": "low"},
        max_output_tokens=9,
    )

    assert [one["role"] for one in got.messages] == ["system", "user", *["assistant"] * 3, "tool", "assistant"]
    assert got.messages[1]["parts"] == (
        part("text", "q"),
        part("blob", "eA==", modality="image", mime_type="image/png", detail="low"),
        part("file", modality="image", file_id="file-1"),
        part("file", modality="document", file_id="file-2"),
    )
    assert [one["parts"][0] for one in got.messages[2:]] == [
        part("reasoning", "hm"),
        part("text", "a"),
        CALL,
        part("tool_call_response", id="call_1", response="r"),
        part("tool_call", id="call_2", name="g", arguments="raw"),
    ]
    assert [(one["type"], one["name"]) for one in got.tool_definitions] == [
        ("function", "f"),
        ("web_search", "web_search"),
    ]
    assert (got.params["output_type"], got.params["reasoning_level"], got.params["max_tokens"]) == ("json", "low", 9)
    assert [one["type"] for one in got.params["other_items"]] == ["item_reference"]


def test_an_answer_is_the_sdks_own_type_and_its_items_are_in_order():
    parts = (part("reasoning", "hm"), part("reasoning", "so"), part("text", "a"), part("refusal", "no"), CALL)
    usage = {"input_tokens": 9, "output_tokens": 5, "cache_read": 4, "reasoning": 2}
    _, body = whole(API, returned(message(*parts), usage=usage, response_id="resp_1"), instructions="Be brief.")

    got = Response.model_validate(body)
    assert [item.type for item in got.output] == ["reasoning", "message", "function_call"]
    assert [one.text for one in got.output[0].summary] == ["hm", "so"]
    assert [one.type for one in got.output[1].content] == ["output_text", "refusal"]
    assert (got.output_text, got.output[2].arguments, got.instructions) == ("a", '{"a":1}', "Be brief.")
    assert (got.usage.total_tokens, got.usage.input_tokens_details.cached_tokens) == (14, 4)
    assert len({item.id for item in got.output}) == 3


def test_a_custom_tool_is_called_with_its_raw_input():
    tools = [{"type": "custom", "name": "g"}]
    _, body = whole(API, returned(message(part("tool_call", id="c", name="g", arguments="raw"))), tools=tools)

    assert (body["output"][0]["type"], body["output"][0]["input"]) == ("custom_tool_call", "raw")


def test_a_recorded_call_of_a_hosted_tool_is_written_as_its_item():
    inner = {"type": "web_search", "status": "completed", "action": {"type": "search", "query": "heron"}}
    search = part("server_tool_call", id="ws_1", name="web_search", server_tool_call=inner)
    listing = part("server_tool_call", id="m", name="mcp_list_tools", server_tool_call={"type": "mcp_list_tools"})
    _, body = whole(API, returned(message(search, listing)))

    assert [(one["type"], one["id"]) for one in body["output"]] == [
        ("web_search_call", "ws_1"),
        ("mcp_list_tools", "m"),
    ]


@pytest.mark.parametrize(
    ("reason", "status", "details"),
    [
        ("stop", "completed", None),
        ("length", "incomplete", "max_output_tokens"),
        ("content_filter", "incomplete", "content_filter"),
    ],
)
def test_how_an_answer_ended_is_its_status(reason, status, details):
    _, body = whole(API, returned(message(part("text", "a"), finish=reason)))
    got, _ = events(API, streamed(message(part("text", "a"), finish=reason)), stream=True)

    assert (body["status"], (body["incomplete_details"] or {}).get("reason")) == (status, details)
    assert got[-1][0] == f"response.{status}"


def test_a_response_that_failed_is_a_response():
    status, body = whole(API, failed("server_error", "it broke"))
    got, _ = events(API, failed("server_error", "it broke"), stream=True)

    assert (status, body["status"], body["error"]) == (200, "failed", {"code": "server_error", "message": "it broke"})
    assert got[-1][0] == "response.failed"


def test_a_stream_numbers_its_events_and_opens_and_closes_every_item():
    answer = streamed(message(part("reasoning", "hm"), part("text", "abcdefgh"), part("refusal", "no"), CALL))
    got, broken = events(API, answer, stream=True)

    names = [name for name, _ in got]
    assert broken is None
    assert [data["sequence_number"] for _, data in got] == list(range(len(got)))
    assert names[:2] == ["response.created", "response.in_progress"]
    assert names.count("response.output_item.added") == names.count("response.output_item.done") == 3
    for kind in ("output_text", "refusal", "function_call_arguments", "reasoning_summary_text"):
        assert 0 < names.index(f"response.{kind}.delta") < names.index(f"response.{kind}.done")
    assert all(name == data["type"] for name, data in got)
    assert got[-1][1]["response"]["output"][1]["content"][0]["text"] == "abcdefgh"


def test_custom_input_streams_in_pieces():
    call = part("tool_call", id="c", name="g", arguments="raw")
    got, _ = events(API, streamed(message(call)), stream=True, tools=[{"type": "custom", "name": "g"}])

    assert [data["delta"] for name, data in got if name == "response.custom_tool_call_input.delta"] == ["raw"]


def test_a_stream_that_was_left_or_broke_has_no_end():
    left, whole_ = events(API, streamed(message(part("text", "abc")), interrupted=True), stream=True)
    lost, broken = events(API, failed("openai.APIConnectionError", "x", response_id="r"), stream=True)
    said, after = events(API, failed("openai.APIError", "it broke", response_id="r"), stream=True)

    assert (left[-1][0], whole_) == ("response.content_part.done", None)
    assert ([name for name, _ in lost], broken) == (["response.created", "response.in_progress"], "ConnectionError")
    assert (said[-1][0], said[-1][1]["message"], after) == ("error", "it broke", None)


def test_a_refused_call_keeps_its_status():
    status, body = whole(API, failed("openai.NotFoundError", "Error code: 404 - no such model"))

    assert (status, body["error"]["message"]) == (404, "no such model")


def test_what_was_asked_for_and_is_never_recorded_is_a_gap():
    include = ["message.output_text.logprobs", "reasoning.encrypted_content"]
    got = asked(API, include=include, tools=[{"type": "web_search"}], background=True)

    assert gaps(got, returned(message(part("text", "a")))) == (
        "logprobs",
        "encrypted reasoning",
        "citations of web_search",
        "an answer in the background",
    )


def test_a_body_that_is_none_of_the_api_is_no_request():
    assert parse(HttpRequest("POST", URLS[API], (), b'{"model": "m"}')) is None
    assert parse(HttpRequest("POST", URLS[API], (), json.dumps({"input": "q"}).encode())) is not None
