import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.canonical import freeze
from runreel.semconv.recognise import recognise
from runreel.semconv.unusual import (
    CUT_VALUE,
    DROPPED_ATTRIBUTES,
    NEWER_SCHEMA,
    UNKNOWN_DIALECT,
    UNKNOWN_EVENT,
    UNKNOWN_KEY,
    UNKNOWN_OPERATION,
    UNKNOWN_PART,
    UNKNOWN_ROLE,
    log_marks,
    marks,
)
from runreel.semconv.view import DETAILS_EVENT
from runreel.values import Dropped, Event, Scope
from span_kit import capture, make_event, make_log, make_span


def marks_of(attributes=None, **fields):
    span = make_span(attributes, **fields)
    return list(marks(span, recognise(span)))


@pytest.mark.parametrize(
    ("attributes", "fields"),
    [
        ({"acme.llm.model": "x-1"}, {}),
        ({"ai.thing": 1}, {}),
        ({"vendor:prompt:text": "hello"}, {}),
        ({}, {"scope": "acme-openai-tracer"}),
        ({}, {"scope": "opentelemetry.instrumentation.langgraph_next"}),
    ],
)
def test_a_span_that_looks_like_genai_and_is_nobodys_is_an_unknown_dialect(attributes, fields):
    assert marks_of(attributes, **fields) == [UNKNOWN_DIALECT]


@pytest.mark.parametrize(
    ("attributes", "fields"),
    [
        ({"http.request.method": "POST", "user_agent.original": "agent/1"}, {"scope": "httpx"}),
        ({"agent.name": "apm-agent", "db.system": "postgresql"}, {"scope": "elastic"}),
        ({"llmnop.size": 1, "mail.to": "x"}, {"scope": "mailer"}),
        ({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, {}),
    ],
)
def test_spans_of_other_kinds_and_of_known_dialects_are_not(attributes, fields):
    assert UNKNOWN_DIALECT not in marks_of(attributes, **fields)


def test_an_operation_of_a_later_convention_is_said_and_the_span_read_by_what_else_it_has():
    span = make_span({"gen_ai.operation.name": "converse", "gen_ai.request.model": "m"})

    assert recognise(span).kind == "llm"
    assert list(marks(span, recognise(span))) == [UNKNOWN_OPERATION]
    assert marks_of({"gen_ai.operation.name": "muse"}) == [UNKNOWN_OPERATION]


@pytest.mark.parametrize("operation", ["chat", "execute_tool", "", 7])
def test_known_and_empty_operations_are_nothing_unusual(operation):
    assert marks_of({"gen_ai.operation.name": operation, "gen_ai.request.model": "m"}) == []


def test_a_limit_of_the_sender_is_said_once_however_much_it_dropped():
    assert marks_of({}, dropped=Dropped(attributes=12)) == [DROPPED_ATTRIBUTES]


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "chat", "gen_ai.input.messages": '[{"role":"us'},
        {"tool.output.truncated": True},
        {"body_truncated": True},
        {"output.value": "a long text [output truncated]"},
    ],
)
def test_a_cut_value_is_said(attributes):
    assert marks_of(attributes) == [CUT_VALUE]


@pytest.mark.parametrize("value", [False, "true", "[truncated] at the front", 1])
def test_what_is_not_said_to_be_cut_is_not(value):
    assert marks_of({"tool.output.truncated": value}) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("otel-genai-openai/truncated-200", {CUT_VALUE}),
        ("openinference-openai/count-limit-40", {DROPPED_ATTRIBUTES}),
        ("otel-genai-openai/content-span", set()),
        ("google-adk/content-span", set()),
    ],
)
def test_real_exports_have_the_marks_of_what_was_done_to_them_and_no_others(name, expected):
    assert {mark for span in capture(name)[0] for mark in marks(span, recognise(span))} == expected


MESSAGES = '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]'
HOLOGRAM = '[{"role":"assistant","parts":[{"type":"hologram","frames":3},{"type":"text","content":"look"}]}]'


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"gen_ai.request.mood": "calm"}, UNKNOWN_KEY),
        ({"gen_ai.output.messages": HOLOGRAM}, UNKNOWN_PART),
        ({"gen_ai.output.messages": freeze(json.loads(HOLOGRAM))}, UNKNOWN_PART),
        ({"gen_ai.system_instructions": '[{"type":"hologram"}]'}, UNKNOWN_PART),
        ({"gen_ai.input.messages": '[{"role":"narrator","parts":[]}]'}, UNKNOWN_ROLE),
        ({"gen_ai.input.messages": '[{"role":"narrator","content":"once"}]'}, UNKNOWN_ROLE),
    ],
)
def test_what_a_later_convention_adds_is_marked_by_its_sort_and_never_by_its_name(attributes, expected):
    known = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": MESSAGES}

    assert marks_of(known | attributes) == [expected]
    assert marks_of(known, events=(Event(DETAILS_EVENT, 0, attributes),)) == [expected]
    assert list(log_marks(make_log(attributes))) == [expected]


@pytest.mark.parametrize(
    "content",
    [
        # Types and roles in what a tool was given and gave, and in texts, are those of the tool.
        '[{"role":"assistant","parts":[{"type":"tool_call","name":"f","arguments":{"type":"hologram","role":"x"}}]}]',
        '[{"role":"tool","parts":[{"type":"tool_call_response","response":[{"type":"hologram"}]}]}]',
        '[{"role":"user","parts":[{"type":"text","content":"{\\"type\\": \\"hologram\\"}"}]}]',
        '[{"role":"user","parts":[{"type":"text","content":"say \\"type\\": \\"holo',
        '"type": "hologram"',
        '[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.test/a"}}]}]',
        "[" * 100_000 + '"type":"hologram"',
        ({"type": 7, "role": None}, 3, None),
    ],
)
def test_types_elsewhere_than_in_parts_are_nothing_new(content):
    found = marks_of({"gen_ai.operation.name": "chat", "gen_ai.output.messages": content})

    assert set(found) <= {CUT_VALUE}


@pytest.mark.parametrize(
    ("url", "is_newer"),
    [
        ("https://opentelemetry.io/schemas/1.44.0", False),
        ("https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev", False),
        ("https://opentelemetry.io/schemas/1.45.0", True),
        ("https://opentelemetry.io/schemas/gen-ai/2.0.0", True),
        ("https://opentelemetry.io/schemas/9", False),
        ("https://acme.test/schemas/latest", False),
        ("", False),
    ],
)
def test_a_schema_that_is_later_than_what_was_read_is_said_of_steps_alone(url, is_newer):
    span = make_span({"gen_ai.operation.name": "chat"})
    later = replace(span, scope=Scope("case", schema_url=url))
    other = replace(later, attributes={"http.request.method": "GET"})

    assert (NEWER_SCHEMA in marks(later, recognise(later))) == is_newer
    assert list(marks(other, recognise(other))) == []


def test_an_event_that_nobody_knows_is_said_on_spans_and_as_a_log_event():
    assert marks_of({"gen_ai.operation.name": "chat"}, events=(make_event("gen_ai.mood.changed"),)) == [UNKNOWN_EVENT]
    for name, attributes in (("gen_ai.mood.changed", {}), ("", {"event.name": "gen_ai.mood.changed"})):
        assert list(log_marks(make_log(attributes, event_name=name))) == [UNKNOWN_EVENT]
    assert list(log_marks(make_log({"gen_ai.request.mood": 1}, event_name="app.started"))) == []


PIECES = st.sampled_from(
    [
        {"role": "user", "parts": [{"type": "text", "content": "hello"}]},
        {"role": "wizard", "parts": []},
        {"role": "assistant", "parts": [{"type": "hologram"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "response": '{"type":"x","role":"y"}'}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "response": {"role": "type", "type": "role"}}]},
        {"name": '"type"', "role": "user", "parts": [{"type": 5, "content": '"role": "'}]},
        {"role": "user", "type": None, "parts": None},
    ]
)


@given(st.lists(PIECES, max_size=6), st.lists(PIECES, max_size=3), st.booleans())
def test_the_marks_of_a_history_do_not_depend_on_what_was_read_of_it_before(history, others, dense):
    read = {}
    for messages in (history[:1], history[:2], others, history[:3], history, others + history):
        text = json.dumps(messages, separators=(",", ":") if dense else None)
        span = make_span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": text})
        assert list(marks(span, recognise(span), read)) == list(marks(span, recognise(span)))


@given(
    st.lists(st.sampled_from(['"type"', '"role"', ":", " ", '"', "user", "text", "\\", "[", "{", "}", "]", ",", "x"]))
)
def test_nor_do_those_of_any_other_text(tokens):
    read = {}
    for size in range(len(tokens) + 1):
        span = make_span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": "".join(tokens[:size])})
        assert list(marks(span, recognise(span), read)) == list(marks(span, recognise(span)))
