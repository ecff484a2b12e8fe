import json

import pytest

from runreel.semconv.reading import Reading, read
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import make_span

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
