import pytest

from runreel.semconv.switches import content_switch


@pytest.mark.parametrize(
    ("instrumentation", "field", "setting"),
    [
        ("opentelemetry.instrumentation.genai.openai 1.3b0", "input", "CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
        ("opentelemetry.instrumentation.genai.langchain", "output", "CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
        ("opentelemetry.instrumentation.openai_v2 2.1b0", "input", "CAPTURE_MESSAGE_CONTENT=true"),
        ("openinference.instrumentation.openai 0.1.66", "input", "OPENINFERENCE_HIDE_INPUTS=false"),
        ("openinference.instrumentation.openai 0.1.66", "output", "OPENINFERENCE_HIDE_OUTPUTS=false"),
        ("hand-written-agent 0.1.0", "output", "gen_ai.tool.call.result"),
        ("", "input", "runreel.record"),
    ],
)
def test_the_setting_is_that_of_the_instrumentation(instrumentation: str, field: str, setting: str) -> None:
    assert setting in content_switch(instrumentation, field)


def test_it_is_said_that_true_is_not_valid_for_the_current_instrumentations() -> None:
    assert "`true` is not valid" in content_switch("opentelemetry.instrumentation.genai.openai 1.3b0", "input")
    assert "not valid" not in content_switch("opentelemetry.instrumentation.openai_v2", "input")
