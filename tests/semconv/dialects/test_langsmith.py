import json

import pytest

from runreel.semconv.reading import Reading, read
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import make_span, of_kind, runs_of, sample

KIND = "langsmith.span.kind"
ASKED = {"messages": [{"role": "user", "content": "Rain?"}], "model": "m", "temperature": 0.5, "tools": [{"name": "f"}]}
CHOICE = {"finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}
YES = {"role": "assistant", "parts": ({"type": "text", "content": "Yes."},)}


def one(kind: str, given: object = None, answer: object = None, **attributes: Value) -> Reading:
    made: dict[str, Value] = {KIND: kind, **{key.replace("__", "."): value for key, value in attributes.items()}}
    if given is not None:
        made["gen_ai.prompt"] = json.dumps(given)
    if answer is not None:
        made["gen_ai.completion"] = json.dumps(answer)
    return read(View(make_span(made, scope="langsmith")))


def test_a_langgraph_run_is_read_whole() -> None:
    (run,) = runs_of(*sample("langsmith-otel/langgraph"))

    first, second = of_kind(run, "llm")
    (tool,), (retrieval,) = of_kind(run, "tool"), of_kind(run, "retrieval")
    assert run.replayable == "full"
    assert {step.dialect for step in run.steps} == {"langsmith"}
    assert (first.fields["model"], first.fields["response_id"]) == ("gpt-4o-mini-2024-07-18", "chatcmpl-1")
    assert first.fields["usage"] == {"input_tokens": 50, "output_tokens": 10, "cache_read": 16, "reasoning": 4}
    assert first.fields["params"] == {"temperature": 0.2}
    assert first.fields["finish_reasons"] == ("tool_calls",)
    assert [message["role"] for message in run.value(second.input)] == ["system", "user", "assistant", "tool"]  # type: ignore[union-attr,index,call-overload]
    assert (tool.call_id, tool.fields["pairing"], run.value(tool.input)) == (
        "call_abc123",
        "call_id",
        {"location": "Paris"},
    )
    assert run.value(tool.output) == '{"temp_f": 57, "sky": "rain"}'
    assert run.value(retrieval.input) == "Weather in Paris?"
    assert [doc["id"] for doc in run.value(retrieval.output)] == ["doc-1", "doc-2"]  # type: ignore[union-attr,index,call-overload]
    assert [run.value(step.output) for step in of_kind(run, "decision")] == ["tools", "__end__"]
    assert (run.conversation_id, run.value(run.final_output)) == ("thread-42", "It is rainy and 57F in Paris.")


def test_the_operation_name_of_a_retriever_lies_and_is_not_believed() -> None:
    assert one("retriever", gen_ai__operation__name="embeddings").kind == "retrieval"
    assert one("chain", gen_ai__operation__name="chat").kind == "agent"
    assert one("embedding").fields["operation"] == "embeddings"


def test_a_wrapped_openai_client_writes_its_request_and_answer() -> None:
    answer = {"id": "r1", "model": "m-2026", "system_fingerprint": "fp", "choices": [CHOICE]}

    found = one("llm", ASKED, answer)

    assert found.input.value == ({"role": "user", "parts": ({"type": "text", "content": "Rain?"},)},)
    assert found.output.value == ({**YES, "finish_reason": "stop"},)
    assert (found.fields["model"], found.fields["response_id"], found.fields["finish_reasons"]) == (
        "m-2026",
        "r1",
        ("stop",),
    )
    assert found.fields["params"] == {"temperature": 0.5}
    assert found.definitions.value == ({"type": "function", "name": "f"},)


@pytest.mark.parametrize("answer", [{"output": "Yes."}, {"role": "assistant", "content": "Yes."}, {"content": "Yes."}])
def test_an_answer_of_another_shape_is_still_an_answer(answer: object) -> None:
    assert one("llm", ASKED, answer).output.value == (YES,)


def test_hidden_content_is_withheld_and_a_cut_one_is_cut() -> None:
    hidden = one("llm", {}, {})
    cut = read(View(make_span({KIND: "llm", "gen_ai.prompt": '{"messages": [['}, scope="langsmith")))

    assert (hidden.input.state, hidden.output.state, cut.input.state) == ("withheld", "withheld", "cut")


def test_the_setting_is_named() -> None:
    (run,) = runs_of((make_span({KIND: "llm"}, scope="langsmith"),))

    assert [gap.fix.split()[1] for gap in run.gaps if gap.field in ("input", "output")] == [
        "LANGSMITH_HIDE_INPUTS=false",
        "LANGSMITH_HIDE_OUTPUTS=false",
    ]


def test_a_tool_takes_bare_text_python_or_an_object() -> None:
    assert one("tool", {"input": "Oslo"}).input.value == "Oslo"
    assert one("tool", {"input": "{'city': 'Oslo'}"}).input.value == {"city": "Oslo"}
    assert one("tool", {"city": "Oslo"}, {"output": "rain"}).output.value == "rain"
    assert one("tool", {"city": "Oslo"}, {"sky": "rain"}).output.value == {"sky": "rain"}


def test_documents_may_stand_in_the_output_and_what_is_no_list_is_absent() -> None:
    assert one("retriever", {"query": "q"}, {"output": [{"id": "1", "page_content": "a"}]}).output.value == (
        {"id": "1", "content": "a"},
    )
    assert one("retriever", {"query": "q"}, {"output": 3}).output.state == "absent"


def test_a_chains_single_value_is_bare() -> None:
    assert one("chain", {"input": "q"}, {"output": "a b"}).output.value == "a b"
    assert one("chain", {"input": "q"}, {"output": "a b"}).input.value == "q"
