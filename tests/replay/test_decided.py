"""What an agent decided, and the flags that it saw, are compared with the record."""

import json
from dataclasses import replace

import pytest

from otlp_build import ROOT, span
from recorded_runs import run_of, tool_step
from runreel.canonical import Bindings
from runreel.replay.decided import Decided, differences, put_in
from runreel.replay.unifying import Rules
from runreel.replay.values import Divergence
from runreel.semconv.secrets import is_secret

RULES = Rules(None, is_secret)


def decision(number, chosen, at, name="route", options=("refund", "escalate")):
    about = {
        "replay.kind": "decision",
        "replay.decision.chosen": chosen,
        "replay.decision.options": json.dumps(options),
    }
    return span(name, f"00000000000000d{number}", ROOT, at=at, attrs=about)


def run(*decisions, flags=None):
    made = run_of(*decisions, tool_step(1, "pay", {"cents": 1}, {"ok": True}, at=50))
    return replace(made, flags=flags or {})


RECORDED = run(decision(1, "refund", 10), decision(2, "escalate", 20), flags={"fast": True})


def compared(own, **rest):
    found = differences(RECORDED, own, RULES, Bindings(), **{"last": 3, "ended": True, **rest})
    return [(one.place, one.divergence.type, one.divergence.recorded, one.divergence.path) for one in found]


def test_the_same_decisions_and_flags_are_no_difference():
    assert compared(RECORDED) == []


@pytest.mark.parametrize(
    ("own", "found"),
    [
        (run(decision(1, "escalate", 10), decision(2, "escalate", 20), flags={"fast": True}), (1, 1, "/chosen")),
        (run(decision(1, "refund", 10), decision(2, "refund", 20), flags={"fast": True}), (2, 2, "/chosen")),
        (
            run(decision(1, "refund", 10, options=("refund",)), decision(2, "escalate", 20), flags={"fast": True}),
            (1, 1, "/options/1"),
        ),
        (run(decision(1, "refund", 10), flags={"fast": True}), (2, 2, "")),
        (replace(RECORDED, flags={"fast": False}), (-1, None, "/flags/fast")),
        (replace(RECORDED, flags={}), (-1, None, "/flags/fast")),
        (replace(RECORDED, flags={"fast": True, "new": 1}), (-1, None, "/flags/new")),
    ],
)
def test_another_decision_or_flag_is_named_with_its_step_and_field(own, found):
    place, recorded, path = found

    assert compared(own) == [(place, "decision_mismatch", recorded, path)]


def test_a_decision_more_stands_behind_those_that_were_recorded():
    own = run(decision(1, "refund", 10), decision(2, "escalate", 20), decision(3, "refund", 30), flags={"fast": True})

    assert compared(own) == [(2.5, "decision_mismatch", None, "")]


def test_what_an_agent_that_was_stopped_did_not_come_to_is_no_difference():
    own = run(decision(1, "refund", 10))

    assert compared(own, last=1, ended=False) == []
    assert compared(own, last=3, ended=False) == [(2, "decision_mismatch", 2, "")]


def test_a_token_in_the_replays_own_record_equals_itself():
    recorded = run(decision(1, "<EMAIL_0badc0de>", 10))

    assert differences(recorded, recorded, RULES, Bindings(), last=None, ended=True) == []


def test_what_was_decided_otherwise_stands_before_what_may_follow_from_it():
    decided = [Decided(-1.0, Divergence("decision_mismatch", name="flag")), Decided(2, Divergence("decision_mismatch"))]
    others = [
        Divergence("input_mismatch", kind="llm", recorded=1),
        Divergence("network_attempt"),
        Divergence("unrecorded_call", kind="tool", after=4),
        Divergence("missing_call", kind="tool", recorded=7),
    ]

    found = put_in(decided, others)

    assert [one.type for one in found] == [
        "decision_mismatch",
        "input_mismatch",
        "network_attempt",
        "decision_mismatch",
        "unrecorded_call",
        "missing_call",
    ]
    assert put_in(decided, ()) == tuple(one.divergence for one in decided)
