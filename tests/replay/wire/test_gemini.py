import json

import pytest
from google.genai.types import GenerateContentResponse

from runreel.replay.wire import gaps, may_come_again, parse, refuse, render
from runreel.replay.wire.values import HttpRequest
from wire_kit import URLS, asked, events, failed, message, part, returned, streamed, whole

API, STREAM = "gemini", "gemini stream"
CALL = part("tool_call", id="f_1", name="f", arguments={"a": 1})


@pytest.mark.parametrize("spelling", ["camel", "snake"])
def test_a_request_is_read_as_its_record_has_it_in_both_spellings(spelling):
    names = {"systemInstruction": "system_instruction", "functionDeclarations": "function_declarations"}
    names |= {"maxOutputTokens": "max_output_tokens", "generationConfig": "generation_config"}
    name = names.__getitem__ if spelling == "snake" else str
    declared = {"name": "f", "description": "d", "parameters": {"type": "OBJECT"}}

    got = asked(
        API,
        **{
            name("systemInstruction"): {"parts": [{"text": "Be brief."}]},
            name("generationConfig"): {name("maxOutputTokens"): 9, "topK": 4, "responseMimeType": "application/json"},
        },
        contents=[
            {"role": "user", "parts": [{"text": "q"}, {"inlineData": {"mimeType": "image/png", "data": "eA=="}}]},
            {"role": "model", "parts": [{"text": "hm", "thought": True}, {"functionCall": {"name": "f"}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"n": 1}}}]},
        ],
        tools=[{name("functionDeclarations"): [declared]}, {"googleSearch": {}}],
    )

    assert [one["role"] for one in got.messages] == ["system", "user", "assistant", "user"]
    assert [one["parts"][-1] for one in got.messages] == [
        part("text", "Be brief."),
        part("blob", "eA==", modality="image", mime_type="image/png"),
        part("tool_call", id="", name="f", arguments={}),
        part("tool_call_response", id="", response={"n": 1}, name="f"),
    ]
    assert got.messages[2]["parts"][0] == part("reasoning", "hm")
    assert [(one["type"], one["name"]) for one in got.tool_definitions] == [("function", "f"), ("google_search",) * 2]
    assert (got.model, got.params["top_k"], got.params["output_type"]) == ("gemini-2.5-flash", 4, "json")
    assert (got.params["max_tokens"], got.stream) == (9, False)


def test_types_of_a_declaration_that_come_as_numbers_are_the_apis_words():
    declared = {
        "type": 6,
        "properties": {"type": {"type": 1}, "n": {"type": 5, "items": {"type": 3}}},
        "x": [{"type": 9}],
    }

    got = asked(API, contents="q", tools=[{"functionDeclarations": [{"name": "f", "parameters": declared}]}])

    assert got.tool_definitions[0]["parameters"] == {
        "type": "OBJECT",
        "properties": {"type": {"type": "STRING"}, "n": {"type": "ARRAY", "items": {"type": "INTEGER"}}},
        "x": ({"type": 9},),
    }


def test_bare_text_and_one_content_are_contents():
    assert asked(API, contents="q").messages == ({"role": "user", "parts": (part("text", "q"),)},)
    assert asked(API, contents={"parts": [{"text": "q"}]}).messages == (
        {"role": "user", "parts": (part("text", "q"),)},
    )


def test_a_name_in_an_escaped_path_is_the_models():
    url = "https://e.example.com/v1beta/models%2Fgemini-2.5-pro:generateContent?key=k"

    assert parse(HttpRequest("POST", url, (), b'{"contents": []}')).model == "gemini-2.5-pro"


def test_an_answer_is_the_sdks_own_type_with_usage_in_its_counts():
    usage = {"input_tokens": 9, "output_tokens": 20, "reasoning": 15, "cache_read": 4}
    parts = (part("reasoning", "hm"), part("text", "a"), part("blob", "eA==", mime_type="image/png", modality="image"))
    _, body = whole(API, returned(message(*parts), usage=usage, model="g-001", response_id="r1"))

    got = GenerateContentResponse.model_validate(body)
    counts = got.usage_metadata
    assert (got.model_version, got.response_id, got.candidates[0].finish_reason.name) == ("g-001", "r1", "STOP")
    assert [one.thought or bool(one.inline_data) or one.text for one in got.candidates[0].content.parts] == [
        True,
        "a",
        True,
    ]
    assert (counts.prompt_token_count, counts.candidates_token_count, counts.total_token_count) == (9, 5, 29)
    assert (counts.thoughts_token_count, counts.cached_content_token_count) == (15, 4)


def test_an_id_that_an_instrumentation_made_up_is_not_given_as_the_apis():
    _, body = whole(API, returned(message(part("text", "a"), CALL, {**CALL, "id": "c9"})))

    calls = [one["functionCall"] for one in body["candidates"][0]["content"]["parts"][1:]]
    assert calls == [{"name": "f", "args": {"a": 1}}, {"name": "f", "args": {"a": 1}, "id": "c9"}]


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [("max_tokens", "MAX_TOKENS"), ("length", "MAX_TOKENS"), ("safety", "SAFETY"), ("tool_call", "STOP")],
)
def test_how_an_answer_ended_is_said_in_the_apis_word(recorded, expected):
    _, body = whole(API, returned(message(part("text", "a")), finish_reasons=(recorded,)))

    assert body["candidates"][0]["finishReason"] == expected


def test_several_answers_are_several_candidates():
    two = returned(message(part("text", "a")), message(part("text", "b")))
    got, _ = events(STREAM, two)

    assert [one["index"] for one in whole(API, two)[1]["candidates"]] == [0, 1]
    assert [(one["candidates"][0]["index"], one["candidates"][0].get("finishReason")) for _, one in got] == [
        (0, "STOP"),
        (1, "STOP"),
    ]
    assert gaps(asked(API, generationConfig={"candidateCount": 3}), two) == ("3 answers, of which 2 are recorded",)


def test_a_stream_tells_its_texts_in_pieces_and_its_end_with_the_last():
    got, broken = events(
        STREAM, streamed(message(part("text", "abcdefgh"), CALL), usage={"input_tokens": 1, "output_tokens": 2})
    )

    parts = [one["candidates"][0]["content"]["parts"][0] for _, one in got]
    assert ("".join(one.get("text", "") for one in parts), len(parts), broken) == ("abcdefgh", 3, None)
    assert ["usageMetadata" in one for _, one in got] == [False, False, True]
    assert [one["candidates"][0].get("finishReason") for _, one in got] == [None, None, "STOP"]


def test_without_asking_for_events_a_stream_is_one_array():
    response = render(asked("gemini array"), streamed(message(part("text", "abcdefgh"))))
    nothing = render(asked("gemini array"), streamed(interrupted=True))

    assert len(json.loads(b"".join(response.body))) == 2
    assert json.loads(b"".join(nothing.body)) == []


def test_a_stream_that_broke_or_was_left_has_no_end():
    left, whole_ = events(STREAM, streamed(message(part("text", "abc")), interrupted=True))
    lost, broken = events(STREAM, failed("httpx.RemoteProtocolError", "peer closed", response_id="r1"))

    assert (len(left), whole_, "finishReason" in left[0][1]["candidates"][0]) == (1, None, False)
    assert (lost, broken) == ([], "ConnectionError")


@pytest.mark.parametrize(
    ("type_", "text", "status", "word"),
    [
        (
            "google.genai.errors.ClientError",
            "429 RESOURCE_EXHAUSTED. {'error': {'code': 429, 'status': 'X'}}",
            429,
            "X",
        ),
        ("503", "", 503, "UNAVAILABLE"),
    ],
)
def test_a_failure_keeps_its_status(type_, text, status, word):
    got, body = whole(API, failed(type_, text))

    assert (got, body["error"]["status"]) == (status, word)
    assert may_come_again(asked(API), failed(type_, text))


def test_what_the_sdk_does_not_try_again_is_not_expected_again():
    assert not may_come_again(asked(API), failed("404"))
    assert not may_come_again(asked("openai.chat"), failed("503"))
    assert not may_come_again(asked(API), returned())


def test_a_refusal_names_its_code_in_its_message():
    body = json.loads(refuse(asked(API), "no such call", "unrecorded_call").body)

    assert body == {"error": {"code": 400, "message": "unrecorded_call: no such call", "status": "INVALID_ARGUMENT"}}


def test_what_was_asked_for_and_is_never_recorded_is_a_gap():
    got = asked(API, generationConfig={"responseLogprobs": True}, tools=[{"googleSearch": {}}])

    assert gaps(got, returned(message(part("text", "a")))) == ("logprobs", "what google_search found")


def test_a_body_that_is_none_of_the_api_is_no_request():
    assert parse(HttpRequest("POST", URLS[API], (), b"[]")) is None
    assert parse(HttpRequest("POST", URLS[API], (), b'{"q": 1}')) is None
    assert parse(HttpRequest("POST", URLS[API], (), b"{")) is None
