import pytest

from runreel.semconv.reading import dialect_of, read
from runreel.semconv.switches import model_switch
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import captured_run, counts, make_span, of_kind

OPENINFERENCE = "openinference.instrumentation.openai_agents"
OTEL = "opentelemetry.instrumentation.genai.openai_agents"


@pytest.mark.parametrize(
    ("scope", "name"),
    [(OPENINFERENCE, "openinference.openai_agents"), (OTEL, "otel.openai_agents")],
)
def test_it_is_known_by_its_scope(scope: str, name: str) -> None:
    assert dialect_of(View(make_span({}, scope=scope))).name == name


@pytest.mark.parametrize("name", ["openinference", "openinference-stream", "otel-genai-plus-openai"])
def test_calls_without_ids_find_the_model_call_that_asked_for_them(name: str) -> None:
    run = captured_run(f"openai-agents/{name}")

    assert counts(run) == (3, 3)
    assert run.replayable == "full"
    tools = of_kind(run, "tool")
    assert [tool.fields["pairing"] for tool in tools] == ["inferred"] * 3
    assert len({tool.call_id for tool in tools}) == 3
    assert all(run.steps[tool.fields["asked_by"]].kind == "llm" for tool in tools)


@pytest.mark.parametrize("name", ["openinference-handoff", "otel-genai-handoff"])
def test_a_handoff_is_a_decision_and_no_call_of_a_tool(name: str) -> None:
    run = captured_run(f"openai-agents/{name}")
    (handoff,) = of_kind(run, "decision")

    assert counts(run) == (3, 1)
    assert run.replayable == "full"
    assert handoff.fields["type"] == "handoff"
    assert run.value(handoff.output) == "weather-agent"
    assert [step.name for step in of_kind(run, "tool")] == ["get_weather"]


def test_arguments_that_are_an_empty_object_are_left_out_by_the_sender_and_are_no_hole() -> None:
    run = captured_run("openai-agents/openinference-handoff")
    asked = of_kind(run, "llm")[0]

    (message,) = run.value(asked.output)
    assert message["parts"][0]["name"] == "transfer_to_weather_agent"
    assert message["parts"][0]["arguments"] == {}
    assert {step.input.state for step in of_kind(run, "llm")} == {"whole"}


def test_hidden_content_stays_hidden() -> None:
    attributes: dict[str, Value] = {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "__REDACTED__",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "transfer_to_b",
    }

    assert read(View(make_span(attributes, scope=OPENINFERENCE))).output.state == "withheld"


def test_what_the_answer_says_of_itself_is_no_request_parameter() -> None:
    step = of_kind(captured_run("openai-agents/openinference"), "llm")[0]

    assert step.fields["params"] == {
        "parallel_tool_calls": True,
        "temperature": 0.0,
        "tool_choice": "auto",
        "top_p": 1.0,
    }
    assert step.fields["model"] == "gpt-4o-mini-2024-07-18"
    assert "model_requested" not in step.fields


def test_without_the_client_instrumented_there_are_no_model_spans_and_the_verdict_says_so() -> None:
    run = captured_run("openai-agents/otel-genai")
    (gap,) = [gap for gap in run.gaps if gap.field == "model_call"]

    assert counts(run) == (0, 3)
    assert run.replayable == "partial"
    assert (gap.needed_for, gap.cause.partition(":")[0]) == ("frozen", "no_model_calls")
    assert "opentelemetry-instrumentation-genai-openai " in gap.fix


def test_only_this_instrumentation_is_known_to_leave_model_spans_to_another() -> None:
    assert model_switch(f"{OTEL} 1.3b0")
    assert model_switch("opentelemetry.instrumentation.genai.openai 1.3b0") == ""
    assert model_switch("openinference.instrumentation.openai_agents 2.6.0") == ""
