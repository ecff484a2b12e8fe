import json

from otlp_build import msg
from runreel.semconv import keys
from runreel.semconv.recognise import recognise
from runreel.values import Facts, Pointer
from span_kit import capture, make_span


def test_a_model_call_of_the_conventions() -> None:
    spans, _ = capture("otel-genai-openai/content-span")

    facts = recognise(spans[0])

    assert facts == Facts(
        kind="llm",
        kind_source="gen_ai.operation.name",
        dialect="otel",
        name="gpt-4o-mini-2024-07-18",
        agent_id="weather-agent",
        model="gpt-4o-mini-2024-07-18",
        provider="openai",
        input_tokens=72,
        output_tokens=85,
        content={
            "input": Pointer("attributes", ("gen_ai.input.messages",)),
            "output": Pointer("attributes", ("gen_ai.output.messages",)),
            "tool_definitions": Pointer("attributes", ("gen_ai.tool.definitions",)),
        },
    )


def test_a_model_call_of_openinference() -> None:
    spans, _ = capture("openinference-openai/content-on")

    facts = recognise(spans[0])

    assert (facts.kind, facts.dialect, facts.model, facts.provider) == (
        "llm",
        "openinference",
        "gpt-4o-mini-2024-07-18",
        "openai",
    )
    assert (facts.input_tokens, facts.output_tokens) == (72, 85)
    assert facts.content["input"] == Pointer("attributes", ("llm.input_messages.*",))


def test_a_tool_call_has_its_name_and_the_models_id() -> None:
    spans, _ = capture("otel-genai-openai/content-span")

    facts = recognise(spans[3])

    assert (facts.kind, facts.name, facts.call_id) == ("tool", "get_weather", "call_dda6f6b3ffcc05d4dca181a9")
    assert facts.model == ""
    assert facts.input_tokens is None


def test_an_agent_is_named_by_itself_else_by_its_service() -> None:
    named = make_span({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"})
    unnamed = make_span({"gen_ai.operation.name": "invoke_agent"}, resource={"service.name": "billing"})

    assert recognise(named).agent_id == "planner"
    assert recognise(unnamed).agent_id == "billing"


def test_the_run_that_a_span_or_its_resource_names_is_a_hint() -> None:
    assert recognise(make_span({keys.RUN_ID: "run-1"})).run_hint == "run-1"
    assert recognise(make_span({}, resource={keys.RUN_ID: "run-2"})).run_hint == "run-2"
    assert recognise(make_span({})).run_hint == ""


def test_another_span_is_structure_and_keeps_its_name() -> None:
    assert recognise(make_span({"http.route": "/chat"}, name="POST /chat")) == Facts(
        dialect="structural", name="POST /chat"
    )


def test_what_is_plainly_missing_is_named_at_once() -> None:
    cut = json.dumps([msg("user", "x" * 300)])[:200]
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": cut, "gen_ai.output.messages": "<elided>"}

    facts = recognise(make_span(attributes))

    assert [(gap.field, gap.cause.partition(":")[0]) for gap in facts.gaps] == [
        ("input", "not_json"),
        ("output", "placeholder"),
    ]


def test_attributes_that_the_sender_dropped_are_a_gap() -> None:
    spans, _ = capture("openinference-openai/count-limit-40")

    gaps = [gap for span in spans for gap in recognise(span).gaps]

    assert [(gap.field, gap.cause) for gap in gaps] == [("attributes", "dropped_attributes: the sender left out 6")]


def test_broken_arguments_of_a_tool_are_no_gap() -> None:
    spans, _ = capture("otel-genai-openai/scenario-badargs")

    assert [recognise(span).gaps for span in spans if recognise(span).kind == "tool"] == [(), ()]
