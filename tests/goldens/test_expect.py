"""Each kind of expectation: what it holds of, what it does not, and what is no expectation."""

import pytest

from runreel.canonical import make_token
from runreel.errors import UsageError
from runreel.goldens.expect import check, parse
from runreel.goldens.view import Called, View

TOKEN = make_token(b"k" * 32, "EMAIL", "dana@example.com")
CALLS = (
    Called("retrieval", "kb", 1, "refunds", ({"id": "kb-1", "score": 0.91},)),
    Called("llm", "gpt-4o-mini", 2, ({"role": "user", "parts": ()},), ()),
    Called(
        "tool", "refund", 3, {"order_id": "A-1", "cents": 4900}, '{"receipt": "R-1", "lines": [{"n": 1}, {"n": 2}]}'
    ),
    Called("tool", "refund", 4, {"order_id": "A-2", "cents": 100}, None, "ValueError"),
)
USED = {"model_calls": 1, "tool_calls": 2, "retrievals": 1, "input_tokens": 90, "output_tokens": 10, "tokens": 100}
SEEN = View("ok", '{"total": 49.5, "text": "Refunded in full, dana@example.com"}', True, CALLS, USED)


def judge(function, seen):
    return "" if function == "checks:kind" else f"{len(seen.calls)} calls are too many"


@pytest.mark.parametrize(
    "line",
    [
        "outcome is ok",
        "output contains Refunded in full",
        "output lacks sorry",
        r"output matches \d+\.5",
        "output/total == 49.5",
        "output/total == 49 +- 0.6",
        "output $.total >= 49",
        "output/text exists",
        "output/apology absent",
        f"output/text == Refunded in full, {TOKEN}",
        "tool:refund called",
        "tool:refund called 2",
        "tool:refund called 1..3",
        "tool:refund called >=2",
        "tool:refund called <=2",
        "tool:* called 2",
        "tool:delete_account never called",
        "tool:delete_account called 0",
        "tool:refund input/cents <= 4900",
        "tool:refund#1 input/cents == 4900",
        'tool:refund#2 input == {"cents": 100, "order_id": "A-2"}',
        "tool:refund#1 output/lines/*/n < 3",
        "tool:refund#1 output $.lines[1].n == 2",
        "retrieval:kb output/0/id == kb-1",
        "retrieval:kb input contains refunds",
        "llm:gpt-4o-mini input/0/role == user",
        "budget tokens <= 100",
        "budget model_calls <= 1",
        "judge checks:kind",
    ],
)
def test_an_expectation_holds(line):
    found = check(parse(line), SEEN, judge)

    assert (found.passed, found.why, found.expectation) == (True, "", line)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("outcome is error", "the run ended with outcome ok"),
        ("output contains sorry", "it is another value"),
        ("output lacks Refunded", "it is another value"),
        ("output matches ^No", "it is another value"),
        ("output/total == 49 +- 0.4", "it is another value"),
        ("output/total != 49.5", "it is another value"),
        ("output/total < 49", "it is another value"),
        ("output/text < 49", "it is another value"),
        ("output/apology exists", "there is nothing"),
        ("output/text absent", "there is something"),
        ("output/apology == x", "there is nothing at that place"),
        ("output/total/deeper == x", "there is nothing at that place"),
        ("tool:refund called 1", "it was called 2 times"),
        ("tool:refund never called", "it was called 2 times"),
        ("tool:search called", "it was called 0 times"),
        ("tool:search input/q == x", "there was no such call"),
        ("tool:refund#3 input/cents == 100", "there was no such call"),
        ("tool:refund input/cents == 4900", "it is another value"),
        ("budget tokens <= 99", "the run used 100"),
        ("judge checks:strict", "4 calls are too many"),
    ],
)
def test_an_expectation_does_not_hold_and_says_why(line, why):
    found = check(parse(line), SEEN, judge)

    assert (found.passed, found.why) == (False, why)


def test_a_run_without_output_holds_nothing_of_it():
    found = check(parse("output lacks sorry"), View("ok", None, False, (), USED), judge)

    assert (found.passed, found.why) == (False, "the run gave no output")


def test_what_was_there_instead_is_told_apart_and_never_in_a_repr():
    found = check(parse("tool:refund input/cents == 4900"), SEEN, judge)

    assert (found.was, found.now) == (4900, 100)
    assert "100" not in repr(found)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "is no expectation"),
        ("it is polite", "is no expectation"),
        ("outcome is good", "one of ok, error, aborted"),
        ("output", "is no expectation"),
        ("output contains", "takes a value"),
        ("output exists yes", "takes no value"),
        ("output matches (", "expectation"),
        ("output/total < many", "could not convert"),
        ("output $.[ == 1", "neither a JSON pointer"),
        ("tool:refund called often", "a count is 2, 1..3"),
        ("tool:refund called >=0", "holds of any run"),
        ("budget tokens <= few", "is no expectation"),
        ("judge polite", "is no expectation"),
    ],
)
def test_what_is_no_expectation_is_said(line, problem):
    with pytest.raises(UsageError, match=problem):
        parse(line)
