"""Promoting: what a failure must come with, what is refused, and how a golden is renewed."""

from dataclasses import replace

import pytest

from golden_kit import EXPECT, golden_in, packed, receipt_reel
from otlp_build import ROOT, TID, agent, llm, msg, req, tool
from runreel import otlp
from runreel.errors import RefusedError, UsageError
from runreel.goldens import promote
from runreel.goldens.checking import problems
from runreel.goldens.values import Settings
from runreel.processors.split import Split
from runreel.runs import reel
from runreel.values import CleanBatch

BY_HAND = Settings(agent="agent.py")


def reel_of(*spans):
    """Pack a run made by hand, below a root that failed or not."""
    return packed(otlp.decode("traces", req(*spans).SerializeToString(), "protobuf", "default"))


def turn(answer):
    return llm("00000000000000b1", ROOT, [msg("user", "refund me")], [msg("assistant", answer)])


def failed():
    root = agent(**{"error.type": "ValueError"})
    root.status.code = 2
    return reel_of(root, turn("one moment"))


def test_a_failure_needs_an_expectation_that_it_fails(tmp_path):
    place = tmp_path / "goldens" / "failed"

    with pytest.raises(UsageError, match=r"nothing is expected of the recorded run\. A bad run replays identically"):
        promote.promote(failed(), place, settings=BY_HAND)
    with pytest.raises(UsageError, match="each of them holds of the recorded run"):
        promote.promote(failed(), place, expectations=["outcome is error"], settings=BY_HAND)
    assert not place.exists()

    golden = promote.promote(failed(), place, expectations=["outcome is ok"], settings=BY_HAND)
    assert golden.failure == "outcome error"


def test_a_run_that_nothing_is_wrong_with_but_what_is_expected_is_a_failure_too(tmp_path):
    assert golden_in(tmp_path, EXPECT).failure == "it does not do what is expected"
    assert golden_in(tmp_path, "output contains R-A-1042", name="good").failure == ""


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"expectations": ["be polite"]}, UsageError, "is no expectation"),
        ({"settings": Settings(agent="agent.py", masks=("nothing",))}, UsageError, "is no mask"),
        ({"settings": Settings()}, UsageError, "does not say what to run"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(tmp_path, options, error, problem):
    given = {"settings": BY_HAND, **options}

    with pytest.raises(error, match=problem):
        promote.promote(reel_of(agent(), turn("done")), tmp_path / "goldens" / "one", **given)
    assert not (tmp_path / "goldens" / "one").exists()


def test_a_golden_is_never_written_over_another(tmp_path):
    golden_in(tmp_path)

    with pytest.raises(UsageError, match="runreel golden update receipt renews it"):
        golden_in(tmp_path)


def test_a_run_that_cannot_be_replayed_is_no_golden(tmp_path):
    data = reel_of(agent(), llm("00000000000000b1", ROOT, None, None))

    with pytest.raises(RefusedError, match="cannot be replayed frozen"):
        promote.promote(data, tmp_path / "goldens" / "one", settings=BY_HAND)


def test_a_secret_that_nobody_redacted_is_not_put_into_version_control(tmp_path):
    secret = "sk-proj-" + "Ab1" * 16
    raw = otlp.decode("traces", req(agent(), turn(f"the key is {secret}")).SerializeToString(), "protobuf", "default")
    data = reel.write(TID, Split().process(CleanBatch("default", raw.spans, raw.logs)))

    with pytest.raises(RefusedError, match="holds a secret that was not redacted") as caught:
        promote.promote(data, tmp_path / "goldens" / "one", settings=BY_HAND)
    assert secret not in str(caught.value)


def test_a_golden_is_renewed_by_a_run_that_does_what_is_expected(tmp_path):
    golden = golden_in(tmp_path, "output contains done", "tool:refund never called", agent="agent.py")
    good = reel_of(agent(), turn("done"))
    bad = reel_of(agent(), turn("done"), tool("00000000000000c1", ROOT, "refund", {"cents": 1}, "x"))

    new = promote.renewed(golden, good)

    assert (new.run.run_id, new.expect, new.failure, new.ticket) == (TID, golden.expect, "", golden.ticket)
    with pytest.raises(UsageError, match="does not do what golden receipt expects:\n  - tool:refund never called"):
        promote.renewed(golden, bad)


def test_names_are_made_of_the_agents_and_the_runs():
    run = golden_run = reel.open_reel(receipt_reel(), "x").run("default", reel.read(receipt_reel(), "x")[0])

    assert promote.suggest(run) == f"refund-desk-{golden_run.run_id[:8]}"
    assert promote.suggest(replace(run, agent_id="../é")) == f"run-{run.run_id[:8]}"


def test_a_check_says_what_is_wrong_without_running_anything(tmp_path):
    golden = golden_in(tmp_path, EXPECT, agent="gone.py")

    assert list(problems(golden.folder)) == [f"there is no script gone.py in {tmp_path}"]
    (golden.folder / "spans.json").write_text("[]")
    assert "spans.json is not what was recorded" in next(problems(golden.folder))
