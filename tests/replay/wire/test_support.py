"""What cannot be answered is refused before the start, by step, with what to do."""

import pytest

from otlp_build import ROOT, answer, call, msg, span
from recorded_runs import model_step, run_of, tool_step
from runreel.errors import RefusedError
from runreel.replay.tape import build

ASKED = [msg("user", "q"), msg("assistant", call("f", {})), msg("tool", answer("r"))]


def other(number, operation="chat", parent=ROOT, at=22, **more):
    about = {"gen_ai.operation.name": operation, "gen_ai.request.model": "m-1", **more}
    return span(operation, f"00000000000000e{number}", parent, at=at, ms=2, attrs=about)


def run_with(*spans):
    return run_of(
        model_step(1, [msg("user", "q")], [call("f", {})], at=0),
        tool_step(1, "f", {}, "r", at=20, call_id="call_1"),
        *spans,
        model_step(2, ASKED, ["done"], at=40),
    )


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (other(1, "embeddings"), "operation embeddings: the vectors are not in the record"),
        (other(1, "text_completion"), "operation text_completion: the completions API of old"),
        (other(1, "fetch_response"), "operation fetch_response: a response that is fetched"),
        (other(1, **{"gen_ai.provider.name": "aws.bedrock"}), "provider aws.bedrock: Bedrock's own API (botocore)"),
        (other(1, **{"gen_ai.system": "bedrock"}), "provider aws.bedrock: Bedrock's own API (botocore)"),
        (other(1, **{"gen_ai.provider.name": "cohere"}), "provider cohere: Cohere's own API"),
        (other(1, **{"gen_ai.provider.name": "ibm.watsonx.ai"}), "provider ibm.watsonx.ai: watsonx's own API"),
    ],
)
def test_a_model_call_of_an_api_that_is_not_answered_is_refused_with_its_step_and_what_to_do(step, said):
    with pytest.raises(RefusedError) as caught:
        build(run_with(step))

    assert caught.value.exit_code == 125
    assert f"step 3 (m-1): {said}" in str(caught.value)
    assert "runreel.record.tool" in str(caught.value)


def test_one_reason_is_said_once_for_the_first_step_that_has_it():
    with pytest.raises(RefusedError) as caught:
        build(run_with(other(1, "embeddings"), other(2, "embeddings", at=25), other(3, "fetch_response", at=28)))

    assert str(caught.value).count("  - step") == 2
    assert "step 3 (m-1): operation embeddings" in str(caught.value)


def test_what_happened_inside_a_recorded_tool_is_no_matter():
    tape = build(run_with(other(1, "embeddings", parent="00000000000000c1")))

    assert [entry.seq for entry in tape.entries] == [1, 2, 4]
    assert tape.inside == 1


@pytest.mark.parametrize("provider", ["openai", "azure.ai.openai", "groq", "deepseek", "a gateway of ours"])
def test_a_provider_that_may_speak_a_known_protocol_is_not_refused(provider):
    run = run_of(model_step(1, [msg("user", "q")], ["done"], at=0, **{"gen_ai.provider.name": provider}))

    assert len(build(run).entries) == 1


def test_a_tool_below_a_model_call_that_asked_for_it_is_answered():
    run = run_of(
        model_step(1, [msg("user", "q")], [call("f", {})], at=0),
        tool_step(1, "f", {}, "r", at=5, call_id="call_1"),
        model_step(2, ASKED, ["done"], at=40),
    )

    assert len(build(run).entries) == 3
