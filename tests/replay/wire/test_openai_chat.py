import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from run_kit import capture
from runreel.replay.values import Raised, Returned, Streamed
from runreel.replay.wire import HttpRequest, parse, render
from runreel.runs.assemble import assemble

AGENT = Path(__file__).with_name("openai_agent.py")
URL = "https://api.example.com/v1/chat/completions"
ANSWERED = [
    "assistant",
    "Let me check that ❄️.",
    [
        ["call_1", "function", "get_weather", '{"city": "Lis\\u00e9"}'],
        ["call_2", "function", "get_weather", '{"city": "Os'],
    ],
    "Think first.",
    "tool_calls",
]


@cache
def everything():
    """Run the agent, on the official SDK and without sockets, and return what it got."""
    done = subprocess.run([sys.executable, AGENT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def sdk(case: str):
    return everything()[case]


def asked(**body):
    return parse(HttpRequest("POST", URL, (), json.dumps({"model": "m", "messages": [], **body}).encode()))


def test_the_sdk_builds_its_own_types_from_a_recorded_answer():
    got = sdk("plain")

    assert got["type"] == "ChatCompletion"
    assert got["head"] == ["chatcmpl-1", "gpt-4o-mini-2024-07-18", 1767225600, "chat.completion"]
    assert got["message"] == ANSWERED
    assert got["usage"] == [30, 12, 42]
    assert got["details"] == [10, 4]


def test_several_answers_are_several_choices():
    assert sdk("plain")["two"] == [["assistant", "Understood.", [], None, "stop"]] * 2


def test_a_stream_adds_up_to_the_recorded_answer():
    got = sdk("stream")

    calls = [[call_id, name, arguments] for call_id, _, name, arguments in ANSWERED[2]]
    whole = {"text": ANSWERED[1], "reasoning": ANSWERED[3], "calls": calls, "finish": "tool_calls"}
    assert got["counted"] == {**whole, "total": 42}
    assert got["helper"] == ANSWERED
    assert got["first"] == "assistant"


def test_usage_is_streamed_only_where_the_request_asks_for_it():
    assert sdk("stream")["uncounted"]["total"] is None


def test_a_stream_that_its_reader_left_ends_without_a_finish():
    got = sdk("stream")["abandoned"]

    assert (got["text"], got["finish"], got["total"]) == (ANSWERED[1], None, None)


def test_the_async_client_is_answered_too():
    assert sdk("asynchronous") == ["Understood.", ANSWERED[1]]


@pytest.mark.parametrize(
    ("case", "name", "text"),
    [
        ("status", "NotFoundError", "Error code: 404 - no such model"),
        ("body", "RateLimitError", "Error code: 429 - slow down"),
        ("class", "BadRequestError", "Error code: 400 - too long"),
        ("field", "APIStatusError", "Error code: 418 - teapot"),
    ],
)
def test_a_recorded_refusal_is_raised_again_at_once(case, name, text):
    assert sdk("errors")[case] == [name, text, 1, ""]


def test_a_stream_that_broke_breaks_again_after_what_had_come():
    assert sdk("errors")["broken"] == ["APIConnectionError", "Connection error.", 1, "Understood."]


def test_a_call_that_got_no_answer_gets_none_at_every_try_of_the_sdk():
    got = sdk("unanswered")

    assert got["lost"] == ["APIConnectionError", "Connection error.", 3, ""]
    assert got["late"] == ["APITimeoutError", "Request timed out.", 3, ""]


def test_a_request_that_is_not_recorded_is_refused_without_a_retry():
    assert sdk("refused") == ["BadRequestError", "Error code: 400 - not recorded: the prompt changed", 1, ""]


def test_a_request_is_read_in_the_form_of_the_record():
    image = "iVBORw0KGgo="
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"n": 1}'}}
    got = asked(
        messages=[
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "name": "dana",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
                    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                ],
            },
            {"role": "assistant", "content": "Looking.", "tool_calls": [call], "annotations": []},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
        ],
        tools=[{"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": {}}}],
        stream=True,
    )

    assert got.messages == (
        {"role": "system", "parts": ({"type": "text", "content": "Be brief."},)},
        {
            "role": "user",
            "name": "dana",
            "parts": (
                {"type": "text", "content": "What is this?"},
                {"type": "blob", "modality": "image", "mime_type": "image/png", "content": image},
                {"type": "uri", "modality": "image", "uri": "https://example.com/a.png"},
            ),
        },
        {
            "role": "assistant",
            "parts": (
                {"type": "text", "content": "Looking."},
                {"type": "tool_call", "id": "c1", "name": "find", "arguments": {"n": 1}},
            ),
        },
        {"role": "tool", "parts": ({"type": "tool_call_response", "id": "c1", "response": "found"},)},
    )
    assert got.tool_definitions == ({"type": "function", "name": "find", "description": "Finds.", "parameters": {}},)
    assert (got.provider, got.api, got.model, got.stream) == ("openai", "openai.chat", "m", True)


@pytest.mark.parametrize(
    ("body", "params"),
    [
        ({"max_completion_tokens": 5, "temperature": 0}, {"max_tokens": 5, "temperature": 0}),
        ({"stop": "END"}, {"stop": ("END",)}),
        ({"stop": ["A", "B"]}, {"stop": ("A", "B")}),
        ({"reasoning_effort": "low", "seed": None}, {"reasoning_level": "low"}),
        (
            {"response_format": {"type": "json_schema"}},
            {"response_format": {"type": "json_schema"}, "output_type": "json"},
        ),
        ({"tool_choice": "auto", "stream_options": {"include_usage": True}}, {"tool_choice": "auto"}),
    ],
)
def test_parameters_have_the_records_names(body, params):
    assert asked(**body).params == params


@pytest.mark.parametrize("body", [b"", b"not json", b"[1]", b'{"model": "m"}', b'{"messages": "hello"}', b"\xff\xfe"])
def test_what_is_no_request_to_a_model_is_not_taken_for_one(body):
    assert parse(HttpRequest("POST", URL, (), body)) is None


def test_arguments_whose_text_is_not_known_are_written_compactly():
    call = {"type": "tool_call", "id": "c", "name": "f", "arguments": {"city": "Lisé", "n": 1.0}}

    body = render(asked(), Returned(({"role": "assistant", "parts": (call,)},), {})).body

    function = json.loads(body)["choices"][0]["message"]["tool_calls"][0]["function"]
    assert function["arguments"] == '{"city":"Lisé","n":1.0}'


def test_a_call_with_an_unknown_failure_lost_its_connection():
    with pytest.raises(ConnectionError, match="recorded connection"):
        render(asked(), Raised("SomethingElse", "odd"))


CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "openinference-openai"


@pytest.mark.parametrize("name", ["content-on", "image", "scenario-badargs", "stream"])
def test_a_request_reads_as_its_own_recording_does(name):
    """OpenInference keeps the request's body beside what it makes of it."""
    spans, logs = capture(CAPTURES / name)
    bodies = {span.key.span_id: span.attributes.get("input.value") for span in spans}
    run = assemble(spans, logs)

    calls = [step for step in run.steps if step.kind == "llm"]
    assert calls
    for step in calls:
        got = parse(HttpRequest("POST", URL, (), bodies[step.keys[0].span_id].encode()))
        assert got.messages == run.value(step.input)
        assert got.tool_definitions == step.fields["tool_definitions"]
        assert got.model == "gpt-4o-mini"
        recorded = {name: value for name, value in step.fields["params"].items() if name != "stream_options"}
        assert got.params == recorded


# --- laws -------------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(codec="utf-8"), max_size=200)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
CALL = st.fixed_dictionaries(
    {
        "type": st.just("tool_call"),
        "id": st.text("abc123", min_size=1),
        "name": st.text("abc_", min_size=1),
        "arguments": st.dictionaries(TEXT, JSON, max_size=3) | st.sampled_from(['{"city": "Lis', "not json", "[1, 2]"]),
    }
)
PARTS = st.tuples(
    st.lists(st.builds(lambda text: {"type": "text", "content": text}, TEXT), max_size=1), st.lists(CALL, max_size=3)
).map(lambda both: (*both[0], *both[1]))


def echoed(request, answer):
    """Send the answer back as agents do, and return how the next request is read."""
    response = render(request, answer)
    if not request.stream:
        message = json.loads(response.body)["choices"][0]["message"]
        return asked(messages=[message]).messages[0]
    return asked(messages=[put_together(response.body)]).messages[0]


def put_together(events):
    message = {"role": "assistant", "content": None}
    calls = {}
    for event in events:
        data = event.removeprefix(b"data: ").strip()
        delta = {} if data == b"[DONE]" else json.loads(data)["choices"][0]["delta"]
        if delta.get("content") is not None:
            message["content"] = (message["content"] or "") + delta["content"]
        for part in delta.get("tool_calls", ()):
            call = calls.setdefault(part["index"], part)
            if call is not part:
                call["function"]["arguments"] += part["function"]["arguments"]
    return {**message, "tool_calls": list(calls.values())}


@given(PARTS.filter(bool), st.booleans())
def test_an_answer_that_is_sent_back_reads_as_it_was_recorded(parts, stream):
    message = {"role": "assistant", "parts": parts, "finish_reason": "stop"}
    answer = Streamed((message,), {}) if stream else Returned((message,), {})

    assert echoed(asked(stream=stream), answer) == {"role": "assistant", "parts": parts}


@pytest.mark.parametrize(
    ("recorded", "told"),
    [
        ("tool_use", "tool_calls"),
        ("tool_call", "tool_calls"),
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("function_call", "function_call"),
        ("content_filter", "content_filter"),
    ],
)
def test_how_an_answer_ended_is_told_in_the_apis_words(recorded, told):
    message = {"role": "assistant", "parts": ({"type": "text", "content": "a"},)}

    response = render(asked(), Returned((message,), {"finish_reasons": (recorded,)}))

    assert json.loads(response.body)["choices"][0]["finish_reason"] == told
