"""A golden's verdict: what is expected, what is a note, what is a finding, and what compares nothing."""

from pathlib import Path

import pytest

from runreel.goldens.expect import parse
from runreel.goldens.values import Golden
from runreel.goldens.verdict import covers, judge, why_failure
from runreel.replay.values import Divergence, Replayed
from runreel.values import Ref, Run, SplitBatch, Step

IN, OUT = Ref("a" * 64, 1, "whole"), Ref("b" * 64, 1, "whole")
RUN = Run(
    "default",
    "r",
    "",
    (),
    "agent",
    steps=(Step(1, (), None, "tool", "refund", input=IN),),
    payloads={IN.sha256: {"cents": 1}, OUT.sha256: "done"},
    final_output=OUT,
)
GOLDEN = Golden(Path("goldens/one"), RUN, SplitBatch("default"))


def nobody(function, seen):
    raise AssertionError("no judge is asked")


def verdict(*lines, divergences=(), verdict="same", run=RUN, coverage=None):
    answered = {1: "function"} if coverage is None else coverage
    replayed = Replayed("r", "frozen", verdict, divergences, run=run, coverage=answered)
    return judge(GOLDEN, replayed, [parse(line) for line in lines], nobody)


def test_what_compares_nothing_fails():
    result = verdict(coverage={})

    assert (result.verdict, result.reason.partition(":")[0]) == ("failed", "it compares nothing")
    assert verdict().verdict == "passed"


def test_a_replay_that_exports_nothing_holds_no_expectation():
    result = verdict("outcome is ok", run=None)

    assert (result.verdict, result.checks[0].passed) == ("failed", False)
    assert "exports no spans of its own" in result.checks[0].why


def test_a_replay_that_did_not_end_is_not_comparable_whatever_holds():
    result = verdict("outcome is ok", verdict="not_comparable")

    assert (result.verdict, result.exit_status) == ("not_comparable", 125)


def test_a_divergence_that_fails_nothing_is_no_finding():
    assert verdict(divergences=(Divergence("order_mismatch", fails=False),)).verdict == "passed"


def test_only_an_expectation_that_holds_makes_a_note():
    changed = Divergence("input_mismatch", kind="tool", name="refund", recorded=1, path="/cents")

    noted = verdict("tool:refund input/cents == 1", divergences=(changed,), verdict="diverged")
    wrong = verdict("tool:refund input/cents == 2", divergences=(changed,), verdict="diverged")

    assert (noted.verdict, noted.notes) == ("passed", (changed,))
    assert (wrong.verdict, wrong.findings) == ("failed", (changed,))


@pytest.mark.parametrize(
    ("line", "type_", "kind", "path", "covered"),
    [
        ("tool:refund input/cents == 1", "input_mismatch", "tool", "/cents", True),
        ("tool:refund input == 1", "input_mismatch", "tool", "/cents", True),
        ("tool:refund input/a/* == 1", "input_mismatch", "tool", "/a/0", True),
        ("tool:refund input/other == 1", "input_mismatch", "tool", "/cents", False),
        ("tool:refund output/cents == 1", "input_mismatch", "tool", "/cents", False),
        ("tool:refund called 1", "input_mismatch", "tool", "/cents", False),
        ("tool:search input/cents == 1", "input_mismatch", "tool", "/cents", False),
        ("retrieval:refund input/cents == 1", "input_mismatch", "tool", "/cents", False),
        ("tool:refund never called", "missing_call", "tool", "", True),
        ("tool:refund called 2", "unrecorded_call", "tool", "", True),
        ("tool:refund input/cents == 1", "missing_call", "tool", "", False),
        ("decision:refund output == x", "decision_mismatch", "decision", "", True),
        ("output contains x", "output_mismatch", "other", "/final_output", True),
        ("output/a == x", "output_mismatch", "other", "/final_output/b", False),
        ("outcome is ok", "output_mismatch", "other", "/outcome", True),
        ("outcome is error", "output_mismatch", "other", "/outcome", False),
        ("outcome is ok", "output_mismatch", "other", "", False),
        ("outcome is ok", "output_mismatch", "other", "/final_output", False),
        ("tool:refund input/cents == 1", "network_attempt", "other", "", False),
        ("tool:refund called 1", "unstubbed_tool", "tool", "", False),
        ("tool:refund called 1", "order_mismatch", "tool", "", False),
        ("tool:refund input/cents == 1", "nondeterminism", "tool", "/cents", False),
        ("budget tokens <= 1", "input_mismatch", "tool", "/cents", False),
    ],
)
def test_what_an_expectation_speaks_of(line, type_, kind, path, covered):
    found = Divergence(type_, kind=kind, name="refund" if kind != "other" else "", path=path, has_now=True)

    assert covers(parse(line), found) is covered


@pytest.mark.parametrize("line", ["output lacks x", "outcome is ok"])
def test_no_expectation_excuses_an_agent_that_gives_no_answer_or_crashes(line):
    for path in ("/final_output", ""):
        assert not covers(parse(line), Divergence("output_mismatch", path=path))


def test_a_failure_is_a_run_that_ended_badly_or_that_somebody_flagged():
    def run(**rest):
        return Run("default", "r", "", (), "agent", **rest)

    assert why_failure(run()) == ""
    assert why_failure(run(outcome="error")) == "outcome error"
    assert why_failure(run(outcome="user_flagged")) == "flagged"
    assert why_failure(run(flagged=({"reason": "x"},))) == "flagged"
