import json
from typing import Any

import pytest

from runreel.semconv.reading import Reading, read
from runreel.semconv.view import View
from runreel.values import Event, Value
from span_kit import make_span, of_kind, runs_of, sample

SCOPE = "llamaindex.opentelemetry.tracer"
ASKED = json.dumps([{"role": "user", "blocks": [{"block_type": "text", "text": "Rain?"}]}])


def event(name: str, **fields: Value) -> Event:
    return Event(name, attributes={key.replace("__", "."): value for key, value in fields.items()})


def one(*events: Event, **fields: Any) -> Reading:
    return read(View(make_span(fields.pop("attributes", {}), scope=SCOPE, events=events, **fields)))


def test_an_agents_run_is_read_whole_from_its_events() -> None:
    (run,) = runs_of(*sample("llamaindex-native/agent"))

    first, second = of_kind(run, "llm")
    (tool,) = of_kind(run, "tool")
    assert run.replayable == "full"
    assert (first.fields["model"], first.fields["model_requested"]) == ("gpt-4o-mini-2024-07-18", "gpt-4o-mini")
    assert first.fields["usage"] == {"input_tokens": 50, "output_tokens": 10}
    assert first.fields["finish_reasons"] == ("tool_calls",)
    assert (tool.name, tool.call_id, tool.fields["pairing"]) == ("get_weather", "call_abc123", "call_id")
    assert run.value(tool.input) == {"location": "Paris"}
    assert run.value(tool.output) == '{"temp_f": 57, "sky": "rain"}'
    assert [message["role"] for message in run.value(second.input)] == ["system", "user", "assistant", "tool"]  # type: ignore[union-attr,index,call-overload]
    assert [step.name for step in of_kind(run, "agent")] == ["FunctionAgent"]
    assert run.value(run.final_output) == "It is rainy and 57F in Paris."


def test_a_query_has_its_retrieval_and_counts_its_model_call_once() -> None:
    *_, run = runs_of(*sample("llamaindex-native/llamaindex-rag"))

    (retrieval,) = of_kind(run, "retrieval")
    assert run.value(retrieval.input) == "Weather in Paris?"
    documents = run.value(retrieval.output)
    assert isinstance(documents, tuple)
    assert [sorted(one) for one in documents if isinstance(one, dict)] == [["content", "id", "metadata", "score"]] * 2
    assert [step.fields["operation"] for step in of_kind(run, "llm")] == ["embeddings", "text_completion"]
    assert run.value(run.user_input) == "Weather in Paris?"
    assert str(run.value(run.final_output)).startswith("text text")


def test_a_streamed_answer_never_arrives_and_that_is_said() -> None:
    run, _ = runs_of(*sample("llamaindex-native/agent-stream"))

    gaps = [gap for gap in run.gaps if gap.field == "output" and gap.step == 1]
    assert [gap.cause.partition(":")[0] for gap in gaps] == ["content_off"]
    assert "streaming=False" in gaps[0].fix


def test_older_messages_have_bare_content_and_calls_among_other_arguments() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "rain", "arguments": '{"city": "Oslo"}'}}]
    history = [
        {"role": "chatbot", "content": "", "additional_kwargs": {"tool_calls": calls}},
        {"role": "tool", "content": "yes", "additional_kwargs": {"tool_call_id": "c1"}},
    ]
    found = one(
        event("LLMChatStartEvent", messages=json.dumps(history)),
        event("LLMChatEndEvent", response__message__role="assistant", response__message__content="It rains."),
    )

    assert found.input.value == (
        {
            "role": "assistant",
            "parts": (
                {"type": "text", "content": ""},
                {"type": "tool_call", "id": "c1", "name": "rain", "arguments": {"city": "Oslo"}},
            ),
        },
        {"role": "tool", "parts": ({"type": "tool_call_response", "id": "c1", "response": "yes"},)},
    )
    assert found.output.value == ({"role": "assistant", "parts": ({"type": "text", "content": "It rains."},)},)


def test_blocks_of_every_type_become_parts() -> None:
    blocks = [
        {"block_type": "thinking", "content": "Hm."},
        {"block_type": "image", "image": "aGk=", "image_mimetype": "image/png"},
        {"block_type": "image", "url": "https://x.test/i.png"},
        {"block_type": "document", "title": "d"},
        "bare",
    ]
    found = one(event("LLMChatStartEvent", messages=json.dumps([{"role": "user", "blocks": blocks}])))

    assert isinstance(found.input.value, tuple)
    parts = found.input.value[0]["parts"]  # type: ignore[index,call-overload]
    assert [part["type"] for part in parts] == ["reasoning", "blob", "uri", "document", "text"]


def test_messages_that_were_cut_are_a_cut() -> None:
    assert one(event("LLMChatStartEvent", messages=ASKED[:20])).input.state == "cut"


def test_parameters_are_what_the_call_was_given() -> None:
    found = one(
        event(
            "LLMChatStartEvent",
            messages=ASKED,
            model_dict__temperature=0.5,
            model_dict__model="m",
            additional_kwargs__tool_choice="auto",
            additional_kwargs__parallel="null",
        )
    )

    assert found.fields["params"] == {"temperature": 0.5, "tool_choice": "auto"}
    assert found.fields["model_requested"] == "m"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("LLMPredictStartEvent", "other"), ("ReRankEndEvent", "retrieval"), ("SynthesizeStartEvent", "agent")],
)
def test_events_say_the_kind_of_a_span(name: str, kind: str) -> None:
    assert one(event(name)).kind == kind


def test_a_span_with_no_events_is_structure() -> None:
    assert one(name="TokenTextSplitter.split_text").kind == "other"


def test_a_tool_step_whose_summary_was_cut_has_its_name() -> None:
    attributes: dict[str, Value] = {
        "llamaindex.step.input_event": "ToolCall",
        "llamaindex.step.input_summary": "ToolCall(tool_name='rain', tool_kwargs={'city': 'Osl...",
    }

    found = one(name="BaseWorkflowAgent.call_tool", attributes=attributes)

    assert (found.kind, found.name, found.call_id, found.input.state) == ("tool", "rain", "", "absent")
