import pytest

from runreel.semconv.view import Found, Memo, View, best, event_name, nothing, says_truncated, unfinished, withheld
from runreel.values import Value
from span_kit import make_event, make_log, make_span


def test_span_attributes_come_before_content_events_and_these_before_logs() -> None:
    span = make_span(
        {"a": 1},
        events=(make_event("gen_ai.client.inference.operation.details", a=2, b=2), make_event("other", c=9)),
    )
    view = View(span, (make_log({"a": 3, "b": 3, "c": 3}), make_log({"d": 9}, event_name="other")))

    assert [view.get(key) for key in "abcd"] == [1, 2, 3, None]
    assert list(view.locate(("a",))) == [("attributes", "a", 1), ("events", "a", 2), ("logs", "a", 3)]


@pytest.mark.parametrize("value", [None, "", "None", (), {}])
def test_the_spellings_of_no_value_say_nothing(value: Value) -> None:
    assert nothing(value)
    assert View(make_span({"a": value, "b": "said"})).get("a", "b") == "said"


@pytest.mark.parametrize("value", [0, 0.0, False, "none", (0,), b""])
def test_zero_and_false_say_something(value: Value) -> None:
    assert not nothing(value)


def test_older_senders_put_the_events_name_into_an_attribute() -> None:
    assert event_name(make_log({"event.name": "gen_ai.choice"}, event_name="")) == "gen_ai.choice"
    assert event_name(make_log({}, event_name="")) == ""


@pytest.mark.parametrize(
    "value", ["__REDACTED__", "<REDACTED>", "[REDACTED]", "<elided>", "<WITHHELD:redaction_failed>"]
)
def test_a_placeholder_is_no_content(value: str) -> None:
    assert withheld(value) != ""


@pytest.mark.parametrize("value", ["", "REDACTED", "see __REDACTED__", None, 0, {"a": "__REDACTED__"}])
def test_what_only_mentions_a_placeholder_is_content(value: Value) -> None:
    assert withheld(value) == ""


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("first part... [truncated, original 11534336 bytes]", True),
        ("log lines (output truncated)", True),
        ("log lines <content truncated>\n", True),
        ("the table was truncated", False),
        ("[truncated] lines follow: a b c", False),
        ("", False),
    ],
)
def test_a_remark_at_the_end_says_that_a_text_was_cut(text: str, cut: bool) -> None:
    assert says_truncated(text) is cut


@pytest.mark.parametrize(("text", "cut"), [('{"a": 1}', False), ('{"a": 1', True), ("[1, 2", True), ("plain", False)])
def test_json_without_its_end_is_unfinished(text: str, cut: bool) -> None:
    assert unfinished(text) is cut


def test_the_most_complete_reading_is_the_best() -> None:
    cut, withheld_, whole = Found("x", "cut"), Found(None, "withheld"), Found("y", "whole")

    assert best((withheld_, cut, whole)) is whole
    assert best((withheld_, cut)) is cut
    assert best(()) == Found()


def test_strict_and_lenient_json_differ_in_what_python_writes() -> None:
    memo = Memo()

    assert memo.parse('{"a": NaN}') == (False, None)
    assert memo.parse_container('{"a": NaN}')[0]
    assert memo.parse_container('{"a": ') == (False, None)
    assert memo.parse("[" * 100_000)[0] is False
    assert memo.parse_container("[" * 100_000)[0] is False
