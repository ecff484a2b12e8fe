import pytest

from runreel.replay.values import Raised
from runreel.replay.wire.failures import broke_off, literal_of, no_response, status_of


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (Raised("openai.RateLimitError", "slow down"), 429, "slow down"),
        (Raised("X", "Error code: 404 - no such model"), 404, "no such model"),
        (Raised("ServerError", "503 UNAVAILABLE. {'error': {}}"), 503, "{'error': {}}"),
        (Raised("X", "503 reasons to worry. And more."), None, "503 reasons to worry. And more."),
        (Raised("529", ""), 529, ""),
        (Raised("ValueError", "teapot", {"status": 418}), 418, "teapot"),
        (Raised("not_found_error", ""), 404, ""),
        (Raised("APIConnectionError", "Connection error."), None, "Connection error."),
    ],
)
def test_a_status_is_found_in_the_fields_the_text_or_the_name(answer, status, text):
    assert status_of(answer) == (status, text)


def test_no_response_is_a_timeout_where_the_name_says_so():
    assert isinstance(no_response(Raised("openai.APITimeoutError")), TimeoutError)
    assert isinstance(no_response(Raised("httpx.ConnectError")), ConnectionError)


@pytest.mark.parametrize("text", ["{'a': 1}", "plain", "{broken", "{1, 2}", "{" * 5000])
def test_a_body_in_a_text_is_read_and_anything_else_is_none(text):
    assert literal_of(text) == ({"a": 1} if text == "{'a': 1}" else None)


def test_a_stream_broke_off_where_anything_of_its_response_was_recorded():
    assert broke_off(Raised("X", fields={"partial": ()}))
    assert broke_off(Raised("X", fields={"response_id": "r"}))
    assert not broke_off(Raised("X"))
    assert not broke_off(Raised("NotFoundError", fields={"response_id": "r"}))
