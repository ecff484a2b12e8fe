"""Two replays under two hash seeds: what depends on the order of a set is named, and nothing else is."""

import pytest

from otlp_build import call, msg
from recorded_runs import model_step, run_of, tool_step
from runreel.replay.checking import check_order, compare
from runreel.replay.values import Divergence, Replayed

NAMES = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
AGENT = """
import json, httpx

def ask(text):
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}], "temperature": 0, "seed": 7}
    return httpx.post("https://gateway.example.com/v1/chat/completions", json=body)

def search(q): raise AssertionError("ran")

ask("q")
"""


@pytest.fixture
def agent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(end):
        (tmp_path / "agent.py").write_text(AGENT + end, encoding="utf-8")
        return str(tmp_path / "agent.py")

    return write


def recorded(query):
    return run_of(
        model_step(1, [msg("user", "q")], [call("search", {"q": query})], at=0),
        tool_step(1, "search", {"q": query}, "found", at=20, call_id="call_1"),
    )


def test_an_agent_that_puts_a_set_into_a_request_is_told_of_nondeterminism(agent):
    script = agent(f"search(q=' '.join(set({NAMES})))\n")

    replayed = check_order(recorded("alpha beta"), script)

    assert (replayed.verdict, [one.type for one in replayed.divergences]) == (
        "diverged",
        ["input_mismatch", "nondeterminism"],
    )
    last = replayed.divergences[-1]
    assert (last.kind, last.name, last.path) == ("tool", "search", "/q")
    assert "sorted" in last.advice


def test_an_agent_that_sorts_is_the_same_under_both(agent):
    script = agent(f"search(q=' '.join(sorted(set({NAMES}))))\n")

    replayed = check_order(recorded(" ".join(sorted(NAMES))), script)

    assert (replayed.verdict, replayed.divergences) == ("same", ())
    assert "replayed under the hash seeds 0 and 1: no difference" in replayed.notes


def outcome(*divergences, verdict="same", **rest):
    return Replayed(of="r", mode="frozen", verdict=verdict, divergences=divergences, **rest)


def test_a_divergence_of_one_replay_only_is_nondeterminism_whichever_it_is():
    missing = Divergence("missing_call", kind="tool", name="search", recorded=3)

    for one, other in [(outcome(), outcome(missing)), (outcome(missing), outcome())]:
        (found,) = compare(one, other)
        assert (found.type, found.recorded, found.reason) == (
            "nondeterminism",
            3,
            "missing_call under one hash seed, not under another",
        )


def test_replays_that_diverge_alike_are_not_told_apart():
    missing = Divergence("missing_call", kind="tool", name="search", recorded=3)

    assert compare(outcome(missing), outcome(missing)) == ()
    assert compare(outcome(verdict="not_comparable"), outcome(missing)) == ()


def test_what_only_the_replays_own_records_show_is_named():
    runs = [run_of(tool_step(1, "save", {"names": names}, "ok", at=0)) for names in (["a", "b"], ["b", "a"])]

    (found,) = compare(outcome(run=runs[0]), outcome(run=runs[1]))

    assert (found.type, found.kind, found.name) == ("nondeterminism", "tool", "save")
    assert found.path.startswith("/input")
