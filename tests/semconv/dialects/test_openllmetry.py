import json
from typing import Any

import pytest

from runreel.semconv.reading import Reading, dialect_of, read
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import captured_run, counts, make_event, make_span, of_kind, runs_of, sample

SCOPE = "opentelemetry.instrumentation.openai.v1"
LANGCHAIN = "opentelemetry.instrumentation.langchain"
OLD: dict[str, Value] = {"llm.request.type": "chat", "gen_ai.system": "OpenAI"}
TOOL: dict[str, Value] = {"traceloop.span.kind": "tool", "traceloop.entity.name": "get_weather"}
MESSAGE = {"lc": 1, "id": ["ToolMessage"], "kwargs": {"content": "rain", "type": "tool", "tool_call_id": "c1"}}


def one(attributes: dict[str, Value], scope: str = SCOPE, **fields: Any) -> Reading:
    return read(View(make_span(attributes, scope=scope, **fields)))


def test_todays_messages_are_those_of_the_conventions() -> None:
    theirs, ours = captured_run("traceloop-openai/content-on"), captured_run("otel-genai-openai/content-span")

    assert counts(theirs) == (3, 3)
    assert theirs.replayable == "full"
    for a, b in zip(of_kind(theirs, "llm"), of_kind(ours, "llm"), strict=True):
        assert a.dialect == "openllmetry"
        assert theirs.value(a.input) == ours.value(b.input)
        assert a.fields["usage"] == {**b.fields["usage"], "cache_read": 0, "reasoning": 0}
        assert a.fields["stream"] is False


def test_messages_of_old_releases_are_read_from_indexed_keys() -> None:
    spans, _ = sample("openllmetry-legacy/openai-0.52.0")
    first, second, _ = (read(View(span)) for span in sorted(spans, key=lambda span: span.start_ns))

    assert (first.dialect, first.fields["provider"], first.fields["model"]) == (
        "openllmetry",
        "openai",
        "gpt-4o-mini-2024-07-18",
    )
    assert first.output.value == (
        {
            "role": "assistant",
            "parts": (
                {"type": "tool_call", "id": "call_abc123", "name": "get_weather", "arguments": {"location": "Paris"}},
            ),
            "finish_reason": "tool_call",
        },
    )
    assert first.fields["finish_reasons"] == ("tool_calls",)
    assert first.fields["tool_call_texts"] == ('{"location":"Paris"}',)
    assert first.fields["usage"] == {"input_tokens": 50, "output_tokens": 10, "cache_read": 16, "reasoning": 4}
    assert first.fields["params"] == {"temperature": 0.2, "max_tokens": 128, "frequency_penalty": 0.1}
    assert first.fields["system_fingerprint"] == "fp_1"
    assert first.definitions.value[0]["parameters"]["required"] == ("location",)  # type: ignore[index,call-overload]
    assert isinstance(second.input.value, tuple)
    assert second.input.value[3] == {
        "role": "tool",
        "parts": ({"type": "tool_call_response", "id": "call_abc123", "response": '{"temp_f": 57}'},),
    }


def test_content_of_several_parts_is_json_text_in_an_indexed_key() -> None:
    parts = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "https://x.test/i.png"}},
    ]
    found = one(OLD | {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": json.dumps(parts)})
    told = one(OLD | {"gen_ai.prompt.0.role": "tool", "gen_ai.prompt.0.content": '[{"type": "a"}]'})

    assert isinstance(found.input.value, tuple)
    assert [part["type"] for part in found.input.value[0]["parts"]] == ["text", "uri"]  # type: ignore[index,call-overload,union-attr]
    assert '\'[{"type": "a"}]\'' in repr(told.input.value)


def test_holes_in_indexes_are_a_cut_and_missing_contents_are_withheld() -> None:
    holed = one(
        OLD | {"gen_ai.prompt.0.content": "a", "gen_ai.prompt.2.content": "b", "gen_ai.completion.0.role": "assistant"}
    )
    functions = one(OLD | {"llm.request.functions.1.name": "f"})

    assert (holed.input.state, holed.output.state) == ("cut", "withheld")
    assert functions.definitions.state == "cut"


def test_without_content_the_setting_is_named() -> None:
    run = captured_run("traceloop-openai/content-off")

    assert counts(run) == (3, 3)
    assert run.replayable == "none"
    assert all("TRACELOOP_TRACE_CONTENT=true" in gap.fix for gap in run.gaps if gap.field in ("input", "output"))


def test_a_request_with_an_image_is_left_out_and_that_is_said() -> None:
    run = captured_run("traceloop-openai/image")

    (gap,) = [gap for gap in run.gaps if gap.needed_for == "frozen"]
    assert gap.field == "input"
    assert "image" in gap.cause


def test_an_abandoned_stream_is_interrupted() -> None:
    run = captured_run("traceloop-openai/stream-abandoned")

    assert [step.status for step in of_kind(run, "llm")] == ["interrupted"]
    assert counts(run) == (1, 0)


def test_a_langgraph_run_has_its_calls_with_ids_and_bare_results() -> None:
    run = next(run for run in runs_of(*sample("openllmetry/langgraph")))

    (tool,) = of_kind(run, "tool")
    (retrieval,) = of_kind(run, "retrieval")
    assert (tool.name, tool.call_id, tool.fields["pairing"]) == ("get_weather", "call_abc123", "call_id")
    assert run.value(tool.input) == {"location": "Paris"}
    assert run.value(tool.output) == '{"temp_f": 57, "sky": "rain"}'
    assert run.value(retrieval.input) == "Weather in Paris?"
    documents = run.value(retrieval.output)
    assert isinstance(documents, tuple)
    assert documents[0]["score"] == 0.91  # type: ignore[index,call-overload]
    assert str(documents[0]["id"]).startswith("sha256:")  # type: ignore[index,call-overload]
    routes = [(step.name, step.fields["type"], run.value(step.output)) for step in of_kind(run, "decision")]
    assert routes == [("router", "route", "tools"), ("router", "route", "__end__")]
    assert run.conversation_id == "thread-42"


def test_the_agents_sdks_own_item_ids_are_replaced_by_those_of_the_results() -> None:
    (run,) = runs_of(*sample("openllmetry/openai-agents"))

    assert run.replayable == "full"
    assert [gap.field for gap in run.gaps] == ["code_version"]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"inputs": {"city": "Oslo"}, "input_str": "{}", "kwargs": {}}, {"city": "Oslo"}),
        ({"input_str": "{'city': 'Oslo'}", "kwargs": {}}, {"city": "Oslo"}),
        ({"args": [], "kwargs": {"city": "Oslo"}}, {"city": "Oslo"}),
        ({"args": ["Oslo"], "kwargs": {}}, {"args": ("Oslo",), "kwargs": {}}),
        ({"city": "Oslo"}, {"city": "Oslo"}),
    ],
)
def test_arguments_are_taken_out_of_their_wrappers(raw: object, value: Value) -> None:
    assert one(TOOL | {"traceloop.entity.input": json.dumps(raw)}, LANGCHAIN).input.value == value


def test_a_tools_result_and_id_are_taken_out_of_the_message_that_holds_them() -> None:
    found = one(TOOL | {"traceloop.entity.output": json.dumps({"output": MESSAGE, "kwargs": {}})}, LANGCHAIN)

    assert (found.name, found.output.value, found.call_id) == ("get_weather", "rain", "c1")


def test_a_wrapper_that_was_cut_is_cut_and_broken_arguments_of_a_model_are_not() -> None:
    cut = one(TOOL | {"traceloop.entity.input": '{"inputs": {"city": "Os'}, LANGCHAIN)
    broken = one(TOOL | {"gen_ai.tool.call.arguments": '{"city": "Os'})

    assert (cut.input.state, broken.input.state, broken.input.value) == ("cut", "whole", '{"city": "Os')


def test_a_vector_store_answers_with_an_event_for_each_document() -> None:
    event = make_event("db.query.result", db__query__result__id="d1", db__query__result__document="sunny")
    found = one(
        {"db.system": "chroma", "db.vector.query.top_k": 3}, "opentelemetry.instrumentation.chromadb", events=(event,)
    )

    assert found.kind == "retrieval"
    assert found.output.value == ({"id": "d1", "content": "sunny"},)
    assert found.fields["top_k"] == 3


@pytest.mark.parametrize(
    ("scope", "attributes", "dialect"),
    [
        (SCOPE, {"gen_ai.provider.name": "openai"}, "openllmetry"),
        ("my.agent", {"traceloop.entity.name": "x"}, "openllmetry"),
        ("my.agent", {"traceloop.association.properties.user_id": "u", "gen_ai.provider.name": "openai"}, "otel"),
        ("opentelemetry.instrumentation.genai.openai", {"traceloop.entity.path": "x", "gen_ai.system": "a"}, "otel"),
        ("opentelemetry.instrumentation.openai_v2", {"gen_ai.system": "openai"}, "otel_legacy"),
        ("opentelemetry.instrumentation.langchain", {"http.route": "/"}, "structural"),
    ],
)
def test_it_is_told_from_those_that_look_like_it(scope: str, attributes: dict[str, Value], dialect: str) -> None:
    assert dialect_of(View(make_span(attributes, scope=scope))).name == dialect


def test_user_conversation_and_prompt_come_from_association_properties() -> None:
    attributes: dict[str, Value] = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.name": "desk",
        "traceloop.association.properties.user_id": "u-1",
        "traceloop.association.properties.chat_id": "chat-1",
    }
    called = OLD | {"traceloop.prompt.key": "planner", "traceloop.prompt.version": "7", "gen_ai.request.model": "m"}
    child = make_span(called, scope=SCOPE, span_id="00000000000000c1", parent_id="00000000000000b1")

    (run,) = runs_of((make_span(attributes), child))

    assert (run.user_ref, run.conversation_id) == ("u-1", "chat-1")
    assert run.prompt_versions["templates"] == {"planner": ("7",)}
