import pytest
from anthropic.types import Message

from runreel.replay.wire import gaps, refuse
from wire_kit import asked, events, failed, message, part, returned, streamed, whole

API = "anthropic.messages"
CALL = part("tool_call", id="toolu_1", name="f", arguments={"a": 1})


def test_a_request_is_read_as_its_record_has_it():
    image = {"type": "base64", "media_type": "image/png", "data": "eA=="}
    got = asked(
        API,
        system=[{"type": "text", "text": "Be brief."}],
        messages=[
            {"role": "user", "content": [{"type": "image", "source": image}, {"type": "text", "text": "q"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]},
        ],
        tools=[
            {"name": "f", "input_schema": {"type": "object"}},
            {"type": "web_search_20250305", "name": "web_search"},
        ],
        stop_sequences=["END"],
        stream=True,
    )

    assert [one["role"] for one in got.messages] == ["system", "user", "assistant", "assistant", "user"]
    assert [one["parts"][0] for one in got.messages] == [
        part("text", "Be brief."),
        part("blob", "eA==", modality="image", mime_type="image/png"),
        part("reasoning", "hm", signature="c2ln"),
        part("tool_call", id="t1", name="f", arguments={"a": 1}),
        part("tool_call_response", id="t1", response="r"),
    ]
    assert [one["type"] for one in got.tool_definitions] == ["function", "web_search_20250305"]
    assert (got.params, got.stream) == ({"max_tokens": 9, "stop": ("END",)}, True)


def test_tools_that_ran_at_the_provider_are_read_and_written_in_one_form():
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "heron"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "https://e.example.com"}]}

    got = asked(API, messages=[{"role": "assistant", "content": [use, found]}])
    _, written = whole(API, returned({**got.messages[0], "finish_reason": "stop"}))

    assert [one["type"] for one in got.messages[0]["parts"]] == ["server_tool_call", "server_tool_call_response"]
    assert written["content"] == [use, found]


def test_usage_is_counted_as_the_api_counts_it():
    usage = {"input_tokens": 100, "output_tokens": 20, "cache_read": 60, "cache_write": 30}
    _, body = whole(API, returned(message(part("text", "a")), usage=usage))

    got = Message.model_validate(body).usage
    assert (got.input_tokens, got.cache_read_input_tokens, got.cache_creation_input_tokens) == (10, 60, 30)


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        (("end_turn",), "end_turn"),
        (("pause_turn",), "pause_turn"),
        (("length",), "max_tokens"),
        (("tool_call",), "tool_use"),
        (("content_filter",), "refusal"),
        ((), "end_turn"),
    ],
)
def test_how_an_answer_ended_is_said_in_the_apis_word(recorded, expected):
    _, body = whole(API, returned(message(part("text", "a")), finish_reasons=recorded))

    assert Message.model_validate(body).stop_reason == expected


def test_a_call_without_a_recorded_reason_ends_for_its_tools():
    _, body = whole(API, returned({"role": "assistant", "parts": (CALL,)}))

    assert Message.model_validate(body).stop_reason == "tool_use"


def test_thinking_is_written_with_its_signature_where_it_was_recorded():
    parts = (part("reasoning", "hm", signature="c2ln"), part("reasoning", "so"), part("redacted_thinking", data="eA=="))
    _, body = whole(API, returned(message(*parts)))

    assert [block.get("signature", block.get("data")) for block in body["content"]] == ["c2ln", "", "eA=="]


def test_a_stream_opens_tells_and_closes_every_block():
    got, broken = events(API, streamed(message(part("reasoning", "hm"), part("text", "abcdefgh"), CALL)), stream=True)

    names = [name for name, _ in got]
    assert broken is None
    assert (names[0], names[-2:]) == ("message_start", ["message_delta", "message_stop"])
    assert names.count("content_block_start") == names.count("content_block_stop") == 3
    deltas = [data["delta"]["type"] for name, data in got if name == "content_block_delta"]
    assert deltas == [
        "thinking_delta",
        "signature_delta",
        "text_delta",
        "text_delta",
        "input_json_delta",
        "input_json_delta",
    ]
    assert all(name == data["type"] for name, data in got)


def test_arguments_that_are_no_json_stream_as_the_model_wrote_them():
    broken = part("tool_call", id="t", name="f", arguments='{"a": ')
    got, _ = events(API, streamed(message(broken)), stream=True)

    pieces = [data["delta"]["partial_json"] for name, data in got if name == "content_block_delta"]
    assert "".join(pieces) == '{"a": '


def test_a_stream_that_was_left_ends_inside_its_last_block():
    got, broken = events(API, streamed(message(part("text", "abc")), interrupted=True), stream=True)

    assert ([name for name, _ in got], broken) == (
        ["message_start", "content_block_start", "content_block_delta"],
        None,
    )


@pytest.mark.parametrize("fields", [{"partial": (message(part("text", "abc")),)}, {"response_id": "msg_1"}])
def test_a_stream_that_broke_breaks_after_what_it_had_brought(fields):
    got, broken = events(API, failed("httpx2.RemoteProtocolError", "peer closed", **fields), stream=True)

    assert (got[0][0], broken) == ("message_start", "ConnectionError")


def test_an_error_inside_a_stream_is_sent_inside_the_stream():
    partial = (message(part("text", "abc")),)
    text = "{'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'busy'}}"
    got, broken = events(API, failed("anthropic.APIStatusError", text, partial=partial), stream=True)

    assert (got[-1][0], got[-1][1]["error"]["type"], broken) == ("error", "overloaded_error", None)


@pytest.mark.parametrize(
    ("type_", "text", "status", "kind"),
    [
        ("anthropic.RateLimitError", "slow down", 429, "rate_limit_error"),
        (
            "anthropic.APIStatusError",
            "Error code: 529 - {'type': 'error', 'error': {'type': 'x', 'message': 'm'}}",
            529,
            "x",
        ),
        ("overloaded_error", "", 529, "overloaded_error"),
        ("418", "teapot", 418, "api_error"),
    ],
)
def test_a_failure_keeps_its_status_and_is_not_tried_again(type_, text, status, kind):
    got, body = whole(API, failed(type_, text))

    assert (got, body["error"]["type"]) == (status, kind)


def test_a_refusal_names_its_code():
    response = refuse(asked(API), "no such call", "unrecorded_call")

    assert (response.status, dict(response.headers)["x-should-retry"]) == (400, "false")
    assert b'"unrecorded_call"' in response.body


@pytest.mark.parametrize(
    ("type_", "expected"), [("APIConnectionError", ConnectionError), ("APITimeoutError", TimeoutError)]
)
def test_a_call_that_got_no_response_gets_none(type_, expected):
    with pytest.raises(expected):
        whole(API, failed(f"anthropic.{type_}"))


def test_what_a_hosted_tool_found_and_nobody_recorded_is_a_gap():
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    call = part("server_tool_call", id="s", name="web_search", server_tool_call={"type": "web_search"})

    assert gaps(asked(API, tools=tools), returned(message(call))) == ("what web_search_20250305 found",)
    assert gaps(asked(API, tools=tools), returned(message(part("text", "a")))) == ()
    assert gaps(asked(API), returned(message(part("hologram", "x")))) == ("a part of type hologram in the answer",)
