import json

import pytest

from runreel.semconv.reading import Reading, read
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import capture, make_span, of_kind, runs_of, sample

LLM: dict[str, Value] = {"openinference.span.kind": "LLM"}
OUT = "llm.output_messages.0.message"


def llm(attributes: dict[str, Value]) -> Reading:
    return read(View(make_span(LLM | attributes)))


def captured(name: str) -> list[Reading]:
    spans, _ = capture(f"openinference-openai/{name}")
    return [one for one in (read(View(span)) for span in spans) if one.kind == "llm"]


def test_a_model_call_is_read_whole() -> None:
    first, second, _ = captured("content-on")

    assert first.fields["model"] == "gpt-4o-mini-2024-07-18"
    assert first.fields["model_requested"] == "gpt-4o-mini"
    assert first.fields["provider"] == "openai"
    assert first.fields["params"] == {"max_tokens": 256, "seed": 7, "temperature": 0, "top_p": 1}
    assert first.fields["usage"] == {"input_tokens": 72, "output_tokens": 85, "cache_read": 0, "reasoning": 0}
    assert first.fields["finish_reasons"] == ("tool_calls",)
    assert first.fields["response_id"] == "chatcmpl-dda6f6b3ffcc05d4dca181a9"
    assert first.fields["system_fingerprint"] == "fp_fake0001"
    assert first.fields["tool_call_texts"] == ('{"city": "Lisbon"}', '{"city": "Oslo"}')
    assert first.definitions.state == first.input.state == first.output.state == first.raw.state == "whole"
    assert isinstance(second.input.value, tuple)
    assert [one["role"] for one in second.input.value if isinstance(one, dict)] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]


def test_it_reads_the_same_messages_as_the_conventions_do() -> None:
    theirs = captured("content-on")
    spans, _ = capture("otel-genai-openai/content-span")
    ours = [one for one in (read(View(span)) for span in spans) if one.kind == "llm"]

    assert [one.input.value for one in theirs] == [one.input.value for one in ours]
    assert [one.output.value for one in theirs] == [one.output.value for one in ours]
    assert [one.definitions.value for one in theirs] == [one.definitions.value for one in ours]


def test_parts_of_a_message_keep_their_order_and_a_picture_is_a_blob() -> None:
    (found,) = captured("image")

    assert isinstance(found.input.value, tuple)
    user = found.input.value[1]
    assert isinstance(user, dict)
    assert [part["type"] for part in user["parts"]] == ["text", "blob"]
    assert user["parts"][1]["mime_type"] == "image/png"


def test_hidden_content_is_withheld_and_not_empty() -> None:
    found = captured("content-off")

    assert {(one.input.state, one.output.state) for one in found} == {("withheld", "withheld")}
    assert found[0].input.reason.startswith("placeholder")


def test_an_abandoned_stream_is_interrupted_with_what_came() -> None:
    (found,) = captured("stream-abandoned")

    assert found.fields["interrupted"] is True
    assert found.fields["usage"] is None
    assert found.fields["tool_call_texts"] == ('{"city": "Lisb',)


def test_the_first_chunk_of_a_stream_has_its_time() -> None:
    first = captured("stream")[0].fields["time_to_first_chunk"]

    assert isinstance(first, float)
    assert 0 < first < 1
    assert "time_to_first_chunk" not in captured("content-on")[0].fields


def test_a_hole_in_the_indexes_is_a_cut() -> None:
    found = llm(
        {
            f"{OUT}.content": "x",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.2.message.role": "user",
        }
    )

    assert (found.input.state, found.output.state) == ("cut", "whole")
    assert found.input.reason.startswith("missing_index")


def test_parallel_calls_without_ids_and_parameters_that_are_no_scalars_are_kept() -> None:
    params = {
        "temperature": 0,
        "tools": [{"x": 1}],
        "tool_choice": {"type": "function"},
        "stop": ["\n"],
        "response_format": None,
    }
    found = llm(
        {
            "llm.invocation_parameters": json.dumps(params),
            f"{OUT}.role": "assistant",
            f"{OUT}.content": "",
            f"{OUT}.tool_calls.0.tool_call.function.name": "get_weather",
            f"{OUT}.tool_calls.0.tool_call.function.arguments": '{"city": "Lisbon"}',
            f"{OUT}.tool_calls.1.tool_call.function.name": "get_weather",
            f"{OUT}.tool_calls.1.tool_call.function.arguments": '{"city": "Oslo"}',
        }
    )

    assert found.fields["params"] == {"temperature": 0, "tool_choice": {"type": "function"}, "stop": ("\n",)}
    assert isinstance(found.output.value, tuple)
    assert found.output.value[0]["parts"] == (  # type: ignore[index,call-overload]
        {"type": "text", "content": ""},
        {"type": "tool_call", "id": "", "name": "get_weather", "arguments": {"city": "Lisbon"}},
        {"type": "tool_call", "id": "", "name": "get_weather", "arguments": {"city": "Oslo"}},
    )


def test_several_answers_have_each_their_finish_reason() -> None:
    raw = json.dumps({"choices": [{"finish_reason": "stop"}, {"finish_reason": "max_tokens"}]})
    found = llm({f"{OUT}.content": "a", "llm.output_messages.1.message.content": "b", "output.value": raw})

    assert isinstance(found.output.value, tuple)
    assert [one["finish_reason"] for one in found.output.value if isinstance(one, dict)] == ["stop", "length"]


def test_a_text_completion_is_read_from_its_prompts() -> None:
    found = llm({"llm.prompts.0.prompt.text": "Once upon"})

    assert found.input.value == ({"role": "user", "parts": ({"type": "text", "content": "Once upon"},)},)


def test_a_tool_is_read_with_the_text_of_its_arguments() -> None:
    attributes: dict[str, Value] = {
        "openinference.span.kind": "TOOL",
        "tool.name": "convert",
        "tool.id": "call_1",
        "input.value": '{"rate": 1e2}',
        "output.value": "100.0",
    }

    found = read(View(make_span(attributes)))

    assert (found.kind, found.name, found.call_id) == ("tool", "convert", "call_1")
    assert (found.input.value, found.input.text, found.output.value) == ({"rate": 100.0}, '{"rate": 1e2}', "100.0")


@pytest.mark.parametrize(
    "value",
    [
        "weather in Lisbon",
        '{"query": "weather in Lisbon"}',
        '{"query_bundle": {"query_str": "weather in Lisbon", "embedding": null}}',
    ],
)
def test_a_retrieval_has_its_query_and_the_text_of_its_documents(value: str) -> None:
    attributes: dict[str, Value] = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": value,
        "retrieval.documents.0.document.id": "d1",
        "retrieval.documents.0.document.content": "sunny",
        "retrieval.documents.0.document.score": 0.5,
        "retrieval.documents.0.document.metadata": '{"source": "kb"}',
    }

    found = read(View(make_span(attributes)))

    assert found.input.value == "weather in Lisbon"
    assert found.output.value == ({"id": "d1", "score": 0.5, "content": "sunny", "metadata": {"source": "kb"}},)


def test_documents_with_a_hole_or_hidden_are_not_whole() -> None:
    kind: dict[str, Value] = {"openinference.span.kind": "RETRIEVER"}
    holed = read(View(make_span(kind | {"retrieval.documents.1.document.content": "b"})))
    hidden = read(View(make_span(kind | {"output.value": "__REDACTED__"})))

    assert (holed.output.state, hidden.output.state) == ("cut", "withheld")


def test_standard_attributes_beside_it_fill_what_it_lacks() -> None:
    found = llm({"gen_ai.response.id": "resp_1", "gen_ai.request.seed": 7, "llm.model_name": "m"})

    assert found.dialect == "openinference"
    assert (found.fields["response_id"], found.fields["model"]) == ("resp_1", "m")
    assert found.fields["params"] == {"seed": 7}


def test_a_langgraph_run_has_its_calls_with_ids_and_bare_results() -> None:
    (run,) = runs_of(*capture("langgraph/openinference"))

    assert run.replayable == "full"
    assert {step.fields["pairing"] for step in of_kind(run, "tool")} == {"call_id"}
    results = [run.value(step.output) for step in of_kind(run, "tool")]
    assert results[2] == (
        '{"name": "Dana Fields", "email": "dana.fields@example.com", "phone": "+1 202-555-0143", '
        '"card": "4242 4242 4242 4242", "ip": "203.0.113.7", "client_version": "10.4.2.1", '
        '"order": "123e4567-e89b-12d3-a456-426614174000"}'
    )
    assert all(str(step.fields["response_id"]).startswith("chatcmpl-") for step in of_kind(run, "llm"))
    assert str(run.value(run.user_input)).startswith("[scenario:weather] Hi, I'm Dana")
    assert str(run.value(run.final_output)).startswith("Lisbon is 21.5 C and sunny")


def test_a_conditional_edge_is_a_decision_with_the_node_that_was_chosen() -> None:
    (run,) = runs_of(*sample("openinference/langgraph"))

    routes = [(step.name, step.fields["type"], run.value(step.output)) for step in of_kind(run, "decision")]
    assert routes == [("router", "route", "tools"), ("router", "route", "__end__")]


def test_langchains_documents_have_the_ids_of_the_whole_answer_else_the_hash_of_their_text() -> None:
    (named,) = runs_of(*sample("openinference/langgraph"))
    (unnamed,) = runs_of(*capture("langgraph/rag-openinference"))

    with_ids, without = (run.value(of_kind(run, "retrieval")[0].output) for run in (named, unnamed))
    assert [one["id"] for one in with_ids] == ["doc-1", "doc-2"]  # type: ignore[union-attr,index,call-overload]
    assert [one["score"] for one in without] == [0.91, 0.42]  # type: ignore[union-attr,index,call-overload]
    assert all(str(one["id"]).startswith("sha256:") for one in without)  # type: ignore[union-attr,index,call-overload]
    assert of_kind(unnamed, "retrieval")[0].fields["index_name"] == "keyword"


def test_arguments_that_langchain_wrote_as_python_are_an_object_again() -> None:
    attributes: dict[str, Value] = {"openinference.span.kind": "TOOL", "input.value": "{'city': 'Oslo', 'days': 2}"}

    assert read(View(make_span(attributes))).input.value == {"city": "Oslo", "days": 2}


def test_an_embedding_has_the_texts_that_were_embedded() -> None:
    attributes: dict[str, Value] = {
        "openinference.span.kind": "EMBEDDING",
        "embedding.embeddings.0.embedding.text": "one",
        "embedding.embeddings.1.embedding.text": "two",
    }

    found = read(View(make_span(attributes)))

    assert isinstance(found.input.value, tuple)
    assert [one["parts"][0]["content"] for one in found.input.value] == ["one", "two"]  # type: ignore[index,call-overload]


def test_a_span_whose_kind_was_dropped_is_still_a_model_call() -> None:
    scope = "openinference.instrumentation.agno"

    assert read(View(make_span({"llm.token_count.prompt": 7}, scope=scope))).kind == "llm"


def test_an_embedding_answers_with_its_vectors_and_holes_are_said() -> None:
    flat: dict[str, Value] = {"openinference.span.kind": "EMBEDDING", "embedding.embeddings.0.embedding.text": "a"}
    flat["embedding.embeddings.0.embedding.vector"] = (0.5, 1.0)

    whole = read(View(make_span(flat)))
    holed = read(View(make_span(flat | {"embedding.embeddings.2.embedding.vector": (1.0,)})))
    without = read(View(make_span(flat | {"embedding.embeddings.1.embedding.text": "b"})))

    assert whole.output.value == ({"role": "assistant", "parts": ({"type": "embeddings", "content": ((0.5, 1.0),)},)},)
    assert holed.output.state == "cut"
    assert without.output.state == "absent"
