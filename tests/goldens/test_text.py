"""What a golden's text is made of folds again to the bytes that were stored."""

import json

import hypothesis.strategies as st
from hypothesis import given

from runreel.canonical import dumps, freeze
from runreel.goldens.text import payload, payload_line, row_line, rows

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
SPELT = st.builds(
    lambda value, how: json.dumps(value, **how),
    st.lists(JSON, max_size=3),
    st.sampled_from(
        [{}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"indent": 2}, {"separators": (", ", ":")}]
    ),
)


def line(skeleton):
    return dumps({"sha256": "a" * 64, "size": 1, "state": "whole", "reason": "", "skeleton": skeleton, "parts": ()})


@given(JSON | SPELT | st.binary() | st.just(float("nan")))
def test_a_payload_folds_to_the_line_it_was_unfolded_from(value):
    stored = line(dumps(freeze(value)))

    assert json.loads(payload_line(json.loads(json.dumps(payload(stored))))) == json.loads(stored)


def test_messages_that_an_sdk_wrote_as_json_text_are_shown_as_json():
    messages = [{"role": "user", "parts": [{"type": "text", "content": "naïve"}]}]

    shown = [payload(line(dumps(json.dumps(messages, **how)))) for how in ({}, {"ensure_ascii": False})]

    assert [shown[0]["json-spaced-ascii"], shown[1]["json-spaced"]] == [messages, messages]


def test_names_of_rows_are_sorted_and_values_keep_their_order():
    row = {"name": "x", "attributes": {"b": {"z": 1, "a": 2}, "a": 1}, "end_ns": 2}

    (found,) = rows([json.dumps(row)])

    assert row_line(found) == '{"attributes":{"a":1,"b":{"z":1,"a":2}},"end_ns":2,"name":"x"}'
