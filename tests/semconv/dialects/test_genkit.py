import json

import pytest

from runreel.semconv.reading import Reading, read
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import capture, make_span, runs_of

ASKED = {
    "messages": [
        {"role": "system", "content": [{"text": "Be brief."}]},
        {
            "role": "user",
            "content": [{"text": "Rain?"}, {"media": {"url": "https://x.test/i.png", "contentType": "image/png"}}],
        },
        {"role": "model", "content": [{"toolRequest": {"ref": "c1", "name": "rain", "input": {"city": "Oslo"}}}]},
        {"role": "tool", "content": [{"toolResponse": {"ref": "c1", "name": "rain", "output": "yes"}}]},
    ],
    "config": {"temperature": 0.5, "maxOutputTokens": 64, "apiKey": "k"},
    "tools": [{"name": "rain", "description": "Does it rain?", "inputSchema": {"type": "object"}}],
}
ANSWERED = {
    "message": {"role": "model", "content": [{"reasoning": "Hm."}, {"text": "Yes."}]},
    "finishReason": "stop",
    "usage": {"inputTokens": 9, "outputTokens": 2, "thoughtsTokens": 3},
}


def one(subtype: str, given: object = None, answer: object = None, name: str = "x", **more: Value) -> Reading:
    attributes: dict[str, Value] = {"genkit:name": name, "genkit:metadata:subtype": subtype, **more}
    attributes |= {"genkit:input": json.dumps(given)} if given is not None else {}
    attributes |= {"genkit:output": json.dumps(answer)} if answer is not None else {}
    return read(View(make_span(attributes, scope="genkit-tracer")))


def test_a_model_call_is_read_whole() -> None:
    found = one("model", ASKED, ANSWERED, "googleai/gemini-2.5-flash")

    assert (found.kind, found.dialect, found.fields["model_requested"]) == ("llm", "genkit", "gemini-2.5-flash")
    assert isinstance(found.input.value, tuple)
    assert [[part["type"] for part in message["parts"]] for message in found.input.value] == [  # type: ignore[index,call-overload,union-attr]
        ["text"],
        ["text", "uri"],
        ["tool_call"],
        ["tool_call_response"],
    ]
    assert found.output.value == (
        {
            "role": "assistant",
            "parts": ({"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "Yes."}),
            "finish_reason": "stop",
        },
    )
    assert found.fields["params"] == {"temperature": 0.5, "max_tokens": 64}
    assert found.fields["usage"] == {"input_tokens": 9, "output_tokens": 5, "reasoning": 3}
    assert found.definitions.value == (
        {"type": "function", "name": "rain", "description": "Does it rain?", "parameters": {"type": "object"}},
    )


def test_a_retrieval_has_its_query_and_the_text_of_its_documents() -> None:
    documents = [{"content": [{"text": "sun"}, {"text": "ny"}], "metadata": {"k": 1}}]

    found = one("retriever", {"query": {"content": [{"text": "weather"}]}}, {"documents": documents})

    assert found.input.value == "weather"
    assert isinstance(found.output.value, tuple)
    assert found.output.value[0]["content"] == "sunny"  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("subtype", "kind"),
    [("tool", "tool"), ("flow", "agent"), ("embedder", "llm"), ("reranker", "retrieval"), ("util", "other")],
)
def test_the_subtype_says_the_kind(subtype: str, kind: str) -> None:
    assert one(subtype).kind == kind


def test_a_tool_has_its_arguments_and_result() -> None:
    found = one("tool", {"city": "Oslo"}, "rain", "get_weather")

    assert (found.name, found.input.value) == ("get_weather", {"city": "Oslo"})
    assert found.output.value == "rain"


def test_what_is_of_another_shape_is_absent_and_what_was_cut_is_cut() -> None:
    odd = one("model", {"messages": 3}, {"message": "x"})
    cut = read(View(make_span({"genkit:metadata:subtype": "model", "genkit:input": '{"messages": ['})))

    assert (odd.input.state, odd.output.state, cut.input.state) == ("absent", "absent", "cut")


def test_a_newer_tools_result_stands_under_its_output() -> None:
    found = one("tool.v2", {"city": "Oslo"}, {"output": "rain", "content": []}, "rain")

    assert (found.kind, found.name, found.input.value, found.output.value) == ("tool", "rain", {"city": "Oslo"}, "rain")
    assert one("tool", {}, {"output": "rain"}).output.value == {"output": "rain"}
    assert one("tool.v2", "Oslo", [1]).output.value == (1,)


def test_texts_that_flows_are_given_and_give_come_without_the_quotes_of_their_json() -> None:
    found = one("flow", "hello", "bye")

    assert (found.kind, found.input.value, found.output.value) == ("agent", "hello", "bye")


def test_pythons_genkit_counts_in_floats_and_names_the_model_that_answered() -> None:
    usage = {"inputTokens": 72.0, "outputTokens": 85.0, "thoughtsTokens": 5.0}
    raw = {"model": "m-2025", "id": "r1", "systemFingerprint": "fp"}

    fields = one("model", ASKED, {**ANSWERED, "usage": usage, "raw": raw}, "openai/m").fields

    assert fields["usage"] == {"input_tokens": 72, "output_tokens": 90, "reasoning": 5}
    assert (fields["model"], fields["response_id"], fields["system_fingerprint"]) == ("m-2025", "r1", "fp")


def test_a_real_export_is_a_run_of_three_calls_of_each_sort() -> None:
    (run,) = runs_of(*capture("genkit/flow"))

    assert [step.kind for step in run.steps] == ["agent", "llm", "tool", "tool", "llm", "tool", "llm"]
    assert not any(step.synthesised for step in run.steps)
    assert str(run.value(run.user_input)).startswith("[scenario:weather] Hi")


def test_an_embedding_answers_with_its_vectors() -> None:
    given = {"input": [{"content": [{"text": "Rain?"}]}]}

    found = one("embedder", given, {"embeddings": [{"embedding": [0.5, 1]}]}, "googleai/e")

    assert (found.kind, found.fields["operation"], found.input.state) == ("llm", "embeddings", "whole")
    assert found.output.value == ({"role": "assistant", "parts": ({"type": "embeddings", "content": ((0.5, 1),)},)},)
