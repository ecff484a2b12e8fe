"""Results that reach a model though no boundary was asked: reproduced failures, tools that ran, things made up."""

import pytest

from runreel.replay.results import Results
from runreel.replay.values import Raised
from tape_kit import tool, with_result

NOBODY = {"refused": frozenset(), "changed": frozenset()}


@pytest.mark.parametrize(
    ("recorded", "told", "ran"),
    [
        ({"receipt": 1}, '{"receipt": 2}', True),
        ({"receipt": 1}, {"receipt": 1, "more": 2}, True),
        ('{"receipt": 1}', '{"receipt": 2}', True),
        ("21 degrees", "whatever", True),
        ({}, "{}", True),
        ({"receipt": 1}, '{"error": "closed"}', False),
        ({"receipt": 1}, "skipped", False),
        ({"receipt": 1}, '{"receipt": ', False),
    ],
)
def test_a_result_of_the_recorded_form_comes_from_the_tool(recorded, told, ran):
    results = Results([tool(0, "pay", {}, recorded, call_id="c1")])

    (entry,) = results.seen(with_result("c1", told), **NOBODY)

    assert (entry.seq, results.ran, results.told_otherwise) == (0, {0} if ran else set(), set() if ran else {0})


def test_a_recorded_failure_that_is_told_came_about_again():
    results = Results([tool(0, "pay", {}, Raised("ValueError"), call_id="c1")])

    assert len(list(results.seen(with_result("c1", "error"), **NOBODY))) == 1
    assert results.reproduced == {0}


def test_each_result_is_told_once_and_those_that_were_answered_are_not():
    entries = [tool(0, "pay", {}, "", call_id="c1"), tool(1, "pay", {}, "", call_id="c2")]
    results = Results(entries)
    results.settle(entries[0])
    messages = with_result("c1", "") + with_result("c2", "")

    assert [entry.seq for entry in results.seen(messages, **NOBODY)] == [1]
    assert list(results.seen(messages, **NOBODY)) == []


def test_what_follows_from_a_refusal_or_a_changed_call_is_not_judged():
    entries = [tool(n, name, {}, "", call_id=f"c{n}") for n, name in enumerate(("pay", "mail"))]
    results = Results(entries)
    messages = with_result("c0", "refused") + with_result("c1", "x")

    found = results.seen(messages, refused={"pay"}, changed={1})

    assert ([entry.seq for entry in found], results.ran, results.told_otherwise) == ([0], set(), set())
