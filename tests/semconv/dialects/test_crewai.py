import json

import pytest

from runreel.semconv.reading import Reading, dialect_of, read
from runreel.semconv.view import View
from runreel.values import Kind, Value
from span_kit import captured_run, counts, make_span, of_kind


def reading(attributes: dict[str, Value], scope: str = "crewai") -> Reading:
    return read(View(make_span(attributes, scope=scope)))


def test_it_is_known_by_its_scope_or_its_keys() -> None:
    assert dialect_of(View(make_span({}, scope="crewai"))).name == "crewai"
    assert dialect_of(View(make_span({"crewai.crew.id": "c"}))).name == "crewai"


def test_the_weather_is_three_model_calls_and_three_tool_calls() -> None:
    run = captured_run("crewai/native")

    assert counts(run) == (3, 3)
    assert run.replayable == "full"
    assert run.agent_id == "weather-crew"
    assert {step.fields["pairing"] for step in of_kind(run, "tool")} == {"inferred"}
    assert [step.name for step in of_kind(run, "agent")] == ["weather-crew", "weather-crew", "Weather Agent"]
    assert str(run.value(run.final_output)).startswith("Lisbon is 21.5 C")


def test_the_model_that_answered_is_a_copy_of_the_one_asked_for_and_the_crews_null_is_no_question() -> None:
    run = captured_run("crewai/native")
    call = of_kind(run, "llm")[0]

    assert (call.fields["model_requested"], call.fields.get("model")) == ("gpt-4o-mini", None)
    assert run.steps[0].input.state == "absent"
    assert "[scenario:weather] Hi, I'm Dana" in str(run.value(run.user_input))


def test_a_parameters_schema_in_pythons_spelling_is_a_schema_again() -> None:
    tools = of_kind(captured_run("crewai/native"), "llm")[0].fields["tool_definitions"]

    assert tools[0]["name"] == "get_weather"
    assert tools[0]["parameters"]["properties"] == {
        "city": {"title": "City", "type": "string"},
        "units": {"default": "metric", "title": "Units", "type": "string"},
    }


@pytest.mark.parametrize("text", ["{'a': ", "{1: 2}", "{'a': open('x')}", "text", "{" * 5000, "{'a'}", "{b'x': 1}"])
def test_a_parameter_that_is_no_schema_stays_as_it_came(text: str) -> None:
    tools = json.dumps([{"name": "f", "parameters": {"properties": {"a": text}}}])
    found = reading({"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": tools})

    assert isinstance(found.definitions.value, tuple)
    assert found.definitions.value[0]["parameters"]["properties"]["a"] == text


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        ({"crewai.crew.inputs": '{"city": "Oslo"}'}, '{"city": "Oslo"}'),
        ({"crewai.crew.inputs": "null", "crewai.task.description": "Weather?"}, "Weather?"),
        ({"crewai.flow.inputs": "{}", "gen_ai.input.messages": "null"}, None),
    ],
)
def test_what_a_crew_was_given(attributes: dict[str, Value], wanted: Value) -> None:
    assert reading({"gen_ai.operation.name": "invoke_workflow", **attributes}).input.value == wanted


def test_other_instrumentations_of_crewai_keep_their_dialect() -> None:
    crew: dict[str, Value] = {"crewai.crew.id": "c", "gen_ai.operation.name": "invoke_agent"}
    under = make_span(crew | {"openinference.span.kind": "CHAIN"}, scope="openinference.instrumentation.crewai")
    beside = make_span(crew, scope="opentelemetry.instrumentation.crewai.instrumentation")

    assert dialect_of(View(under)).name == "openinference"
    assert dialect_of(View(beside)).name == "openllmetry"


def test_telemetry_for_the_vendor_is_no_record() -> None:
    assert reading({"crewai.crew.id": "c", "gen_ai.operation.name": "chat"}, "crewai.telemetry").kind == "other"


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"gen_ai.operation.name": "chat"}, "llm"),
        ({"gen_ai.operation.name": "execute_task"}, "agent"),
        ({"gen_ai.operation.name": "execute_method"}, "agent"),
        ({"gen_ai.operation.name": "execute_tool", "crewai.tool.from_cache": True}, "tool"),
        ({"crewai.memory.query": "q"}, "memory"),
        ({"crewai.knowledge.query": "q"}, "retrieval"),
        ({"crewai.guardrail.success": True}, "decision"),
        ({"crewai.policy.decision": "deny", "crewai.crew.id": "c"}, "decision"),
        ({"crewai.crew.name": "c"}, "agent"),
        ({"crewai.event_name": "e"}, "other"),
    ],
)
def test_what_a_span_is(attributes: dict[str, Value], kind: Kind) -> None:
    assert reading(attributes).kind == kind


def test_memory_is_read_and_written() -> None:
    search = reading({"crewai.memory.query": "dana", "crewai.memory.results": '[{"content": "x"}]'})
    write = reading({"crewai.memory.value": "dana likes tea"})

    assert (search.fields["op"], search.input.value, search.output.value) == ("search", "dana", ({"content": "x"},))
    assert (write.fields["op"], write.input.value) == ("create", "dana likes tea")


def test_a_value_that_was_cut_says_so_beside_it_though_its_json_is_whole() -> None:
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "AAAA"}]}])
    llm = reading(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": messages,
            "gen_ai.input.messages.truncated": True,
            "gen_ai.output.messages": messages,
        }
    )
    tool = reading(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.call.arguments": "{}",
            "gen_ai.tool.call.arguments.truncated": True,
            "gen_ai.tool.call.result": "AAAA",
            "gen_ai.tool.call.result.truncated": True,
        }
    )

    assert [found.state for found in (llm.input, llm.output, tool.input, tool.output)] == ["cut", "whole", "cut", "cut"]
    assert "gen_ai.input.messages.truncated" in llm.input.reason


def test_a_guardrail_says_what_it_let_pass_and_why_not() -> None:
    found = reading(
        {"crewai.guardrail.success": False, "crewai.guardrail.error": "no names", "crewai.policy.name": "p"}
    )

    assert (found.kind, found.name, found.fields["reason"]) == ("decision", "p", "no names")


def test_knowledge_that_comes_as_one_text_is_one_document() -> None:
    found = reading({"crewai.knowledge.query": "q", "crewai.knowledge.retrieved_knowledge": "Tea is hot."})

    assert isinstance(found.output.value, tuple)
    assert [one["content"] for one in found.output.value] == ["Tea is hot."]
