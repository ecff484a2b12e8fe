import pytest

from otlp_build import msg
from runreel.canonical import freeze
from runreel.values import Gap, Value
from span_kit import captured_run, make_span, runs_of

THOUGHT = {"type": "reasoning", "content": "Hm."}


def gaps(*parts: object, **attributes: Value) -> list[Gap]:
    known = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": freeze([msg("user", "q")])}
    answer = freeze([{"role": "assistant", "parts": list(parts)}])
    more = {key.replace("__", "."): value for key, value in attributes.items()}
    (run,) = runs_of([make_span({**known, "gen_ai.output.messages": answer, **more}, scope="acme")])
    return [gap for gap in run.gaps if gap.cause.startswith("no_signature")]


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai__provider__name": "anthropic"},
        {"gen_ai__provider__name": "aws.bedrock", "gen_ai__request__model": "eu.anthropic.claude-sonnet-4-5-v1:0"},
        {"gen_ai__response__model": "claude-opus-4-1"},
    ],
)
def test_reasoning_that_the_provider_wants_back_signed_is_a_gap_for_live_calls(attributes: dict[str, Value]) -> None:
    (gap,) = gaps(THOUGHT, {"type": "text", "content": "Yes."}, **attributes)

    assert (gap.step, gap.field, gap.needed_for) == (0, "output", "live")
    assert "acme does not record it" in gap.fix


def test_one_gap_an_answer_however_many_parts() -> None:
    (gap,) = gaps(THOUGHT, THOUGHT, gen_ai__provider__name="anthropic")

    assert "2 reasoning parts" in gap.cause


@pytest.mark.parametrize(
    ("part", "provider"),
    [
        ({**THOUGHT, "signature": "EqQB"}, "anthropic"),
        ({"type": "text", "content": "Yes."}, "anthropic"),
        ({"type": "redacted_thinking", "data": "x"}, "anthropic"),
        (THOUGHT, "openai"),
    ],
)
def test_signed_parts_other_parts_and_other_providers_lack_nothing(part: dict[str, str], provider: str) -> None:
    assert gaps(part, gen_ai__provider__name=provider) == []


def test_anthropics_instrumentation_does_not_record_them_and_the_run_says_so() -> None:
    run = captured_run("anthropic/reasoning")

    found = [gap for gap in run.gaps if gap.cause.startswith("no_signature")]
    assert [gap.step for gap in found] == [2, 5]
    assert all("opentelemetry.instrumentation.genai.anthropic 1.3b0 does not record it" in gap.fix for gap in found)
    assert run.replayable == "full"
