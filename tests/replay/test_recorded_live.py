"""Agents recorded while they really ran, then replayed: the round trip."""

from pathlib import Path

import pytest

from model_server import serving
from otlp_sink import record
from recorded_runs import KEY
from runreel.demo import agent as refund_desk
from runreel.demo import model_server
from runreel.replay import report
from runreel.replay.engine import replay
from runreel.runs.assemble import assemble

AGENTS = Path(__file__).parents[1] / "agents"


def run_of(batch, redactor):
    clean = redactor.process(batch)
    return assemble(clean.spans, clean.logs)


@pytest.mark.parametrize("switches", [(), ("--threads",)], ids=["tasks", "threads"])
def test_calls_made_at_once_replay_in_any_schedule(switches, redactor, calls):
    script = str(AGENTS / "async_agent.py")
    with serving() as model:
        batch, printed = record(script, *switches, model_url=model.url)
    ran = calls()

    run = run_of(batch, redactor)
    replayed = replay(run, script, args=switches, key=KEY.secret)

    assert (run.replayable, len(ran), "FINAL Lisbon" in printed) == ("full", 3, True)
    assert (replayed.verdict, [one.type for one in replayed.divergences]) == ("same", [])
    assert replayed.answered == {("llm", "gpt-4o-mini"): 3, ("tool", "get_weather"): 2, ("tool", "lookup_customer"): 1}
    assert calls() == ran


def test_what_a_provider_refused_at_first_was_retried_by_the_sdk_and_is_answered_once(redactor, calls):
    script = str(AGENTS / "weather_agent.py")
    with serving() as model:
        batch, _ = record(script, "--scenario", "flaky", model_url=model.url)

    replayed = replay(run_of(batch, redactor), script, args=["--scenario", "flaky"], key=KEY.secret)

    assert replayed.verdict == "same"


@pytest.mark.parametrize(("scenario", "error"), [("retired", "NotFoundError"), ("broken", "InternalServerError")])
def test_a_model_that_refused_refuses_again_with_the_sdks_own_error(scenario, error, redactor, capfd):
    script = str(AGENTS / "weather_agent.py")
    with serving() as model:
        batch, _ = record(script, "--scenario", scenario, "--swallow", model_url=model.url)

    run = run_of(batch, redactor)
    replayed = replay(run, script, args=["--scenario", scenario], key=KEY.secret)

    assert [step.error.type.rpartition(".")[2] for step in run.steps if step.kind == "llm"] == [error]
    assert replayed.answered == {("llm", "gpt-4o-mini"): 1}
    assert f"openai.{error}" in capfd.readouterr().err


@pytest.fixture(scope="module")
def refund(redactor):
    with model_server.serving(model_server.DEMO) as model:
        batch, _ = record(refund_desk.__file__, model_url=model.url)
    return run_of(batch, redactor)


def test_the_recorders_tools_and_retrievers_are_answered_and_the_entry_is_known(refund, calls, capfd):
    replayed = replay(refund, key=KEY.secret)

    assert replayed.verdict == "same"
    assert replayed.answered == {
        ("retrieval", "refund-policy"): 1,
        ("llm", "gpt-4o-mini"): 3,
        ("tool", "lookup_order"): 1,
        ("tool", "refund"): 1,
    }
    assert calls() == []
    # The replay is a run of its own, and knows which one it replays.
    assert replayed.run.run_id != refund.run_id
    assert replayed.run.replay_of == refund.run_id
    assert "dana.fields" not in capfd.readouterr().out


@pytest.mark.parametrize(
    ("changed", "kind", "step", "path"),
    [
        (("--prompt", "v2"), "llm", 2, "/messages/0/parts/0/content"),
        (("--fee", "100"), "tool", 5, "/cents"),
    ],
)
def test_a_changed_prompt_and_a_changed_argument_are_named_with_step_and_field(
    changed, kind, step, path, refund, calls, redactor
):
    replayed = replay(refund, args=changed, key=KEY.secret)

    (first,) = replayed.divergences
    assert (first.type, first.kind, first.recorded, first.path) == ("input_mismatch", kind, step, path)
    assert calls() == []
    was, now = report.shown(first, redactor.text)
    assert was != now
