import json

import pytest

from runreel.semconv.reading import Reading, dialect_of, read
from runreel.semconv.switches import content_switch
from runreel.semconv.view import View
from runreel.values import Kind, Value
from span_kit import counts, make_span, of_kind, runs_of, sample


def reading(operation: str, attributes: dict[str, Value] | None = None) -> Reading:
    return read(View(make_span({"ai.operationId": operation, **(attributes or {})}, scope="ai")))


def test_it_is_known_by_its_scope_or_its_keys() -> None:
    assert dialect_of(View(make_span({}, scope="ai"))).name == "vercel_ai"
    assert dialect_of(View(make_span({"ai.operationId": "ai.toolCall"}, scope="my-app"))).name == "vercel_ai"
    assert dialect_of(View(make_span({"gen_ai.operation.name": "chat"}, scope="aiohttp"))).name == "otel"


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("ai.generateText", "agent"),
        ("ai.streamObject", "agent"),
        ("ai.embedMany", "agent"),
        ("ai.generateText.doGenerate", "llm"),
        ("ai.streamText.doStream", "llm"),
        ("ai.embed.doEmbed", "llm"),
        ("ai.rerank.doRerank", "retrieval"),
        ("ai.toolCall", "tool"),
        ("ai.somethingNew", "other"),
    ],
)
def test_the_operation_says_what_a_span_is(operation: str, kind: Kind) -> None:
    assert reading(operation).kind == kind


@pytest.mark.parametrize("version", ["v6", "v7", "v7l"])
def test_every_version_tells_one_story(version: str) -> None:
    (run,) = runs_of(*sample(f"vercel-ai-sdk/generateText-{version}"))
    first, last = of_kind(run, "llm")
    (tool,) = of_kind(run, "tool")

    assert counts(run) == (2, 1)
    assert run.replayable == "full"
    assert run.agent_id == "weather-agent"
    assert {step.dialect for step in run.steps} == {"vercel_ai"}
    assert first.fields["finish_reasons"] == ("tool-calls",)
    assert first.fields["provider"] == "openai"
    assert first.fields["usage"] == {
        "input_tokens": 50,
        "output_tokens": 10,
        "cache_read": 16,
        "cache_write": 0,
        "reasoning": 4,
    }
    assert first.fields["tool_definitions"][0]["parameters"]["type"] == "object"
    assert run.value(first.output)[0]["parts"] == (
        {"type": "tool_call", "id": "call_abc123", "name": "get_weather", "arguments": {"location": "Paris"}},
    )
    assert run.value(last.output)[0]["parts"] == ({"type": "text", "content": "It is rainy and 57F in Paris."},)
    assert [one["role"] for one in run.value(last.input)] == ["system", "user", "assistant", "tool"]
    assert run.value(tool.input) == {"location": "Paris"}
    assert run.value(tool.output) == '{"temp_f":57,"sky":"rain"}'


def test_the_sum_around_the_calls_is_never_counted() -> None:
    (run,) = runs_of(*sample("vercel-ai-sdk/generateText-v6"))

    assert run.value(run.user_input) == "Weather in Paris?"
    assert run.value(run.final_output) == "It is rainy and 57F in Paris."
    assert all("usage" not in step.fields for step in of_kind(run, "agent"))
    assert (run.conversation_id, run.user_ref) == ("sess-1", "u-1")


def test_an_object_reasoning_and_a_stream() -> None:
    found = reading(
        "ai.streamObject.doStream",
        {
            "ai.response.object": '{"a": 1}',
            "ai.response.reasoning": "hm",
            "ai.response.finishReason": "stop",
            "ai.response.msToFirstChunk": 250,
            "ai.usage.promptTokens": 3,
            "ai.usage.completionTokens": 2,
            "ai.settings.maxTokens": 99,
        },
    )

    assert found.output.value == (
        {
            "role": "assistant",
            "parts": ({"type": "reasoning", "content": "hm"}, {"type": "text", "content": '{"a": 1}'}),
            "finish_reason": "stop",
        },
    )
    assert found.fields["stream"] is True
    assert found.fields["time_to_first_chunk"] == 0.25
    assert found.fields["usage"] == {"input_tokens": 3, "output_tokens": 2}
    assert found.fields["params"] == {"max_tokens": 99}


def test_an_empty_answer_is_an_empty_text_and_no_answer_is_absent() -> None:
    empty = reading("ai.generateText.doGenerate", {"ai.response.text": "", "ai.response.finishReason": "stop"})
    off = reading("ai.generateText.doGenerate", {"ai.response.finishReason": "stop"})

    assert empty.output.value == (
        {"role": "assistant", "parts": ({"type": "text", "content": ""},), "finish_reason": "stop"},
    )
    assert off.output.state == "absent"


def test_what_was_cut_is_said() -> None:
    calls = reading("ai.generateText.doGenerate", {"ai.response.toolCalls": '[{"toolCallId": "c'})
    prompt = reading("ai.generateText", {"ai.prompt": '{"messages": [{"ro'})

    assert (calls.output.state, prompt.input.state) == ("cut", "cut")


def test_embedded_values_are_messages() -> None:
    found = reading("ai.embedMany.doEmbed", {"ai.values": (json.dumps("one"), json.dumps("two"))})

    assert len(found.input.value) == 2
    assert found.fields["operation"] == "embeddings"


def test_the_settings_that_switch_content_on() -> None:
    assert "recordInputs: true" in content_switch("ai", "input")
    assert "recordOutputs: true" in content_switch("ai", "output")
    assert "recordInputs" not in content_switch("aiohttp 3.1", "input")


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({"ai.operationId": "ai.embed.doEmbed"}, "x"),
        ({"operation.name": "ai.embed.doEmbed index-documents"}, "index-documents"),
        ({}, "ai.embed.doEmbed index-documents"),
    ],
)
def test_an_embedding_is_known_by_its_operation_or_its_names(attributes: dict[str, Value], name: str) -> None:
    more: dict[str, Value] = {"ai.model.id": "e", "ai.values": ('"a"', '"b"'), "ai.embeddings": ("[0.5, 1]", "[0, 2]")}

    found = read(View(make_span(attributes | more, scope="ai", name=name)))

    assert (found.kind, found.fields["operation"], found.input.state) == ("llm", "embeddings", "whole")
    assert found.output.value == (
        {"role": "assistant", "parts": ({"type": "embeddings", "content": ((0.5, 1), (0, 2))},)},
    )


def test_a_vector_that_was_cut_is_said() -> None:
    attributes: dict[str, Value] = {"ai.operationId": "ai.embed.doEmbed", "ai.value": '"a"', "ai.embedding": "[0.5, 0."}

    assert read(View(make_span(attributes, scope="ai"))).output.state == "cut"


def test_other_spans_of_the_scope_are_no_steps() -> None:
    assert read(View(make_span({"ai.model.id": "m"}, scope="ai", name="fetch"))).kind == "other"
