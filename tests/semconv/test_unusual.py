import pytest

from runreel.semconv.recognise import recognise
from runreel.semconv.unusual import CUT_VALUE, DROPPED_ATTRIBUTES, UNKNOWN_DIALECT, UNKNOWN_OPERATION, marks
from runreel.values import Dropped
from span_kit import capture, make_span


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
