import json

import pytest
from hypothesis import given

from canonical_values import VALUES
from runreel.canonical import freeze
from runreel.replay.values import Raised, Returned
from runreel.replay.wire.answers import arguments_object, arguments_text, body_of, dump, said
from runreel.replay.wire.values import HttpRequest


@pytest.mark.parametrize(
    ("arguments", "text", "value"),
    [
        ({"a": "é"}, '{"a":"é"}', {"a": "é"}),
        ('{"a": 1}', '{"a": 1}', {"a": 1}),
        ('{"a": ', '{"a": ', '{"a": '),
        ("[1]", "[1]", "[1]"),
        (None, "", {}),
    ],
)
def test_arguments_are_text_or_an_object_as_an_api_wants_them(arguments, text, value):
    assert arguments_text({"arguments": freeze(arguments)}) == text
    assert arguments_object({"arguments": freeze(arguments)}) == value


def test_arguments_as_the_model_wrote_them_go_first():
    assert arguments_text({"arguments": {"a": 1}}, '{ "a":1 }') == '{ "a":1 }'


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 100_000, b"\xff"])
def test_a_body_that_is_no_object_is_none(body):
    assert body_of(HttpRequest("POST", "https://e.example.com", (), body)) is None


def test_of_a_failure_what_had_come_is_what_was_said():
    partial = ({"role": "assistant", "parts": ()},)

    assert said(Raised("X", fields={"partial": partial})).messages == partial
    assert said(Raised("X")).messages == ()
    assert said(Returned(None)).messages == ()


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 1}, {"input_tokens": "1", "output_tokens": 2}])
def test_usage_that_is_not_whole_is_not_made_up(usage):
    assert said(Returned((), {"usage": usage})).usage is None


@pytest.mark.parametrize(
    ("reasons", "own", "expected"),
    [(("stop",), "length", "stop"), (("error",), "length", "length"), ((), "error", ""), (None, None, "")],
)
def test_how_an_answer_ended_is_the_providers_word_before_the_conventions(reasons, own, expected):
    message = {"role": "assistant", "parts": (), "finish_reason": own}

    assert said(Returned((message,), {"finish_reasons": reasons})).reason(0) == expected
    assert said(Returned((), {})).reason(0) == ""


@given(VALUES)
def test_whatever_a_record_holds_can_be_written(value):
    json.loads(dump(freeze(value)))
