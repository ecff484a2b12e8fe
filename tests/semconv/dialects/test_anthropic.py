import pytest

from runreel.semconv.reading import dialect_of, read
from runreel.semconv.switches import content_switch
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import captured_run, counts, make_span, of_kind

SDK = "com.anthropic.sdk.python"
AROUND = "opentelemetry.instrumentation.genai.anthropic"


@pytest.mark.parametrize("scope", [SDK, AROUND])
def test_it_is_known_by_its_scopes(scope: str) -> None:
    assert dialect_of(View(make_span({"gen_ai.provider.name": "anthropic"}, scope=scope))).name == "anthropic"


@pytest.mark.parametrize("name", ["content-both", "stream"])
def test_a_call_that_the_sdk_writes_too_is_counted_once(name: str) -> None:
    run = captured_run(f"anthropic/{name}")
    calls = of_kind(run, "llm")

    assert counts(run) == (3, 3)
    assert run.replayable == "full"
    assert len([step for step in run.steps if step.kind == "llm"]) == 6
    assert [step.fields["finish_reasons"] for step in calls] == [("tool_use",), ("tool_use",), ("end_turn",)]
    assert [step.fields["instrumentation"] for step in calls] == [f"{SDK} 2.14.0"] * 3
    assert sum(step.fields["usage"]["input_tokens"] for step in calls) == 628
    assert all(step.fields["tool_definitions"] for step in calls)


def test_tools_that_say_nothing_get_what_the_model_said_and_was_told() -> None:
    run = captured_run("anthropic/content-both")

    for tool in of_kind(run, "tool"):
        assert tool.fields["input_source"] == "model_call"
        assert tool.fields["output_source"] == "next_model_call"


def test_thinking_stands_before_what_it_led_to() -> None:
    run = captured_run("anthropic/reasoning")
    first = of_kind(run, "llm")[0]
    (message,) = run.value(first.output)

    assert counts(run) == (2, 1)
    assert [part["type"] for part in message["parts"]] == ["reasoning", "tool_call"]
    assert message["parts"][0]["content"] == "The user wants Oslo; call get_weather once."


def test_the_signature_of_thinking_is_kept_where_it_comes() -> None:
    parts = ({"type": "reasoning", "content": "hm", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "eA=="})
    message: Value = ({"role": "assistant", "parts": parts},)
    span = make_span({"gen_ai.operation.name": "chat", "gen_ai.output.messages": message}, scope=AROUND)

    found = read(View(span))

    assert isinstance(found.output.value, tuple)
    assert found.output.value[0]["parts"] == parts


def test_the_sdks_spans_alone_lack_content_and_the_fix_is_named() -> None:
    run = captured_run("anthropic/content-off")
    fixes = {gap.fix for gap in run.gaps if run.steps[gap.step or 0].kind == "llm" and gap.needed_for == "frozen"}

    assert counts(run) == (3, 3)
    assert run.replayable == "none"
    assert fixes == {content_switch(SDK, "input")}
    assert all("opentelemetry-instrumentation-genai-anthropic" in fix and "SPAN_ONLY" in fix for fix in fixes)


def test_requests_that_are_no_model_calls_are_structure() -> None:
    assert read(View(make_span({"gen_ai.request.model": "claude"}, scope=SDK))).kind == "other"
    assert read(View(make_span({"gen_ai.operation.name": "chat"}, scope=SDK))).kind == "llm"


def test_the_budget_for_thinking_is_a_parameter() -> None:
    span = make_span(
        {
            "gen_ai.operation.name": "chat",
            "anthropic.thinking.type": "enabled",
            "anthropic.thinking.budget_tokens": 2048,
        },
        scope=SDK,
    )

    assert read(View(span)).fields["params"] == {"thinking": {"type": "enabled", "budget_tokens": 2048}}
