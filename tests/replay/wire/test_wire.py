import json

import pytest

from runreel.replay.values import Returned
from runreel.replay.wire import HttpRequest, parse, refuse, respond

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()
ANSWER = Returned(({"role": "assistant", "parts": ({"type": "text", "content": "hi"},)},), {})


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1/chat/completions",
        "http://127.0.0.1:18080/v1/chat/completions/",
        "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
        "https://gateway.example.com/proxy/openai/chat/completions",
    ],
)
def test_an_api_is_known_by_its_path_whatever_the_host(url):
    found = parse(HttpRequest("POST", url, (), BODY))

    assert found is not None
    assert found.api == "openai.chat"


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("GET", "https://api.openai.com/v1/chat/completions"),
        ("POST", "https://api.openai.com/v1/models"),
        ("POST", "https://api.example.com/search?next=/chat/completions"),
        ("POST", "https://api.openai.com/v1/chat/completions/abc/messages"),
    ],
)
def test_other_requests_are_no_models(method, url):
    assert parse(HttpRequest(method, url, (), BODY)) is None
    assert respond(HttpRequest(method, url, (), BODY), lambda asked: ANSWER) is None


def test_respond_asks_for_what_was_requested_and_writes_what_it_gets():
    asked = []

    response = respond(
        HttpRequest("POST", "https://api.example.com/chat/completions", (), BODY),
        lambda request: asked.append(request.messages) or ANSWER,
    )

    assert asked == [({"role": "user", "parts": ({"type": "text", "content": "hello"},)},)]
    assert json.loads(response.body)["choices"][0]["message"]["content"] == "hi"


def test_a_refusal_tells_the_sdk_not_to_try_again():
    request = parse(HttpRequest("POST", "https://api.example.com/chat/completions", (), BODY))

    response = refuse(request, "no such call is recorded", "unrecorded_call")

    assert response.status == 400
    assert ("x-should-retry", "false") in response.headers
    assert json.loads(response.body)["error"] == {
        "message": "no such call is recorded",
        "type": "error",
        "param": None,
        "code": "unrecorded_call",
    }


def test_requests_and_answers_do_not_show_their_content():
    request = HttpRequest("POST", "https://api.example.com/chat/completions", (("authorization", "Bearer k"),), BODY)

    assert "hello" not in repr(parse(request))
    assert "Bearer" not in repr(request)
