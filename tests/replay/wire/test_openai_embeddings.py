import json

import pytest
from openai.types import CreateEmbeddingResponse

from runreel.replay.values import Raised, Returned
from runreel.replay.wire import gaps, parse, render
from runreel.replay.wire.values import HttpRequest

URL = "https://models.example.com/v1/embeddings"
VECTORS = Returned(
    ({"role": "assistant", "parts": ({"type": "embeddings", "content": ((0.5, -1.0), (0.25, 2.0))},)},),
    {"model": "e-1", "usage": {"input_tokens": 4}},
)


def asked(**body):
    return parse(HttpRequest("POST", URL, (), json.dumps({"model": "e", **body}).encode()))


@pytest.mark.parametrize(
    ("given", "contents"),
    [("heron", ["heron"]), (["heron", "stork"], ["heron", "stork"]), ([1, 2], [(1, 2)]), ([[1], [2]], [(1,), (2,)])],
)
def test_each_text_is_a_message(given, contents):
    got = asked(input=given, dimensions=2, encoding_format="base64")

    assert [one["parts"][0]["content"] for one in got.messages] == contents
    assert got.params == {"dimensions": 2}


@pytest.mark.parametrize("form", [{}, {"encoding_format": "float"}])
def test_vectors_are_the_sdks_own_type(form):
    got = CreateEmbeddingResponse.model_validate_json(render(asked(input=["a", "b"], **form), VECTORS).body)

    assert [one.embedding for one in got.data] == [[0.5, -1.0], [0.25, 2.0]]
    assert (got.model, got.usage.total_tokens) == ("e-1", 4)


def test_vectors_travel_in_the_short_form_where_it_is_asked_for():
    body = json.loads(render(asked(input=["a", "b"], encoding_format="base64"), VECTORS).body)

    assert body["data"][0]["embedding"] == "AAAAPwAAgL8="


def test_a_vector_that_was_not_recorded_is_a_gap_and_never_made_up():
    assert gaps(asked(input=["a", "b", "c"]), VECTORS) == ("1 of its vectors",)
    assert gaps(asked(input=["a", "b"]), VECTORS) == ()


def test_a_failure_keeps_its_status():
    assert render(asked(input="a"), Raised("openai.RateLimitError", "slow down")).status == 429


def test_a_body_that_is_none_of_the_api_is_no_request():
    assert parse(HttpRequest("POST", URL, (), b'{"model": "e"}')) is None
