"""Real agents, recorded by real clients and redacted, run again behind the walls with nothing live."""

import json
from pathlib import Path

import pytest

from recorded_runs import KEY, run_of_capture
from runreel.replay.engine import replay

AGENT = str(Path(__file__).parents[1] / "agents" / "weather_agent.py")
EMAIL = "dana.fields@example.com"


def shape(replayed):
    return [(one.type, one.kind, one.recorded, one.path) for one in replayed.divergences]


def again(run, *arguments, agent=AGENT, **rest):
    return replay(run, agent, args=arguments, key=KEY.secret, **rest)


CASES = {
    "otel-genai-openai/content-span": (),
    "otel-genai-openai/content-event": (),
    "otel-genai-openai/content-both": (),
    "otel-genai-openai/http-json": (),
    "otel-genai-openai/stream": ("--stream",),
    "otel-genai-openai/scenario-poll": ("--scenario", "poll"),
    "otel-genai-openai/scenario-toolerror": ("--scenario", "toolerror"),
    "otel-genai-openai/scenario-badargs": ("--scenario", "badargs"),
    "otel-genai-openai/scenario-mixed": ("--scenario", "mixed"),
    "otel-genai-openai/scenario-empty": ("--scenario", "empty"),
    "otel-genai-openai/scenario-numbers": ("--scenario", "numbers"),
    "otel-genai-openai/scenario-secret": ("--scenario", "secret"),
    "openinference-openai/content-on": ("--instrumentation", "openinference"),
    "openinference-openai/stream": ("--instrumentation", "openinference", "--stream"),
    "openinference-openai/scenario-badargs": ("--instrumentation", "openinference", "--scenario", "badargs"),
}


@pytest.mark.parametrize(("capture", "arguments"), CASES.items(), ids=CASES)
def test_a_recorded_run_replays_identically_with_no_tool_run_and_no_model_asked(
    capture, arguments, redactor, calls, model
):
    run = run_of_capture(capture, redactor.process)
    assert EMAIL not in json.dumps(list(run.payloads.values()), default=str)

    replayed = again(run, *arguments)

    assert (replayed.verdict, shape(replayed), replayed.not_reached) == ("same", [], 0)
    assert (replayed.ended, replayed.exit_code, replayed.live_calls) == ("returned", 0, 0)
    assert calls() == []
    assert model.bodies == []
    recorded = [step for step in run.steps if step.kind in ("llm", "tool")]
    assert sum(replayed.answered.values()) + replayed.reproduced == len(recorded)
    # The agent's own prompt holds the raw address: it is proved to be the recorded token.
    assert (replayed.assumed, replayed.proved >= 2) == ((), True)
    # And the replay recorded itself: the same steps again.
    assert [(s.kind, s.name) for s in replayed.run.steps] == [(s.kind, s.name) for s in run.steps]
    assert replayed.run.replay_of == run.run_id


def test_without_the_key_the_bindings_are_assumed_and_listed(redactor, calls):
    run = run_of_capture("otel-genai-openai/content-span", redactor.process)

    replayed = replay(run, AGENT)

    assert replayed.verdict == "same"
    assert [token.partition("_")[0] for token in replayed.assumed] == ["<EMAIL", "<PHONE"]


def test_the_replays_own_record_goes_through_the_redactor_where_one_is_given(redactor):
    run = run_of_capture("otel-genai-openai/content-span", redactor.process)

    replayed = again(run, redact=redactor.process)

    assert replayed.redacted
    assert EMAIL not in json.dumps(list(replayed.run.payloads.values()), default=str)
    assert replayed.run.payloads.keys() == run.payloads.keys()


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (("--system", "Another prompt."), ("input_mismatch", "llm", 1, "/messages/0/parts/0/content")),
        (("--temperature", "0.2"), ("input_mismatch", "llm", 1, "/params/temperature")),
        (("--model", "gpt-5"), ("input_mismatch", "llm", 1, "/model")),
        (("--argument", "city", "Porto"), ("input_mismatch", "tool", 2, "/city")),
        (("--argument", "email", "other@example.com"), ("input_mismatch", "tool", 5, "/email")),
        (("--turns", "2"), ("missing_call", "llm", 6, "")),
        (("--again",), ("unrecorded_call", "tool", None, "")),
    ],
)
def test_a_changed_agent_diverges_at_the_step_and_field_that_changed(arguments, first, redactor, calls, model):
    replayed = again(run_of_capture("otel-genai-openai/content-span", redactor.process), *arguments)

    assert (replayed.verdict, replayed.exit_status) == ("diverged", 2)
    assert shape(replayed)[0] == first
    assert calls() == []
    assert model.bodies == []


def test_an_agent_that_swallows_the_error_does_not_turn_the_verdict(redactor):
    run = run_of_capture("otel-genai-openai/content-span", redactor.process)

    replayed = again(run, "--model", "gpt-5", "--swallow")

    assert (replayed.ended, replayed.exit_code, replayed.verdict) == ("returned", 0, "diverged")
    assert replayed.not_reached == 5


def test_calls_of_a_turn_in_another_order_are_no_divergence(redactor):
    replayed = again(run_of_capture("otel-genai-openai/content-span", redactor.process), "--reverse")

    assert replayed.verdict == "same"
