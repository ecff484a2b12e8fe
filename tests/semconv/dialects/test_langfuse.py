import json

import pytest

from runreel.semconv.reading import Reading, dialect_of, read
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import make_span, of_kind, runs_of, sample

OBSERVATION = "langfuse.observation."


def one(type_: str, **attributes: object) -> Reading:
    made: dict[str, Value] = {OBSERVATION + "type": type_}
    for key, value in attributes.items():
        made[OBSERVATION + key.replace("__", ".")] = value if isinstance(value, str) else json.dumps(value)
    return read(View(make_span(made, scope="langfuse-sdk")))


def test_a_run_of_the_sdk_is_read_whole() -> None:
    (run,) = runs_of(*sample("langfuse-sdk/python-sdk"))

    (llm,), (tool,), (retrieval,) = of_kind(run, "llm"), of_kind(run, "tool"), of_kind(run, "retrieval")
    assert run.replayable == "full"
    assert {step.dialect for step in run.steps} == {"langfuse"}
    assert llm.fields["model"] == "gpt-4o-mini-2024-07-18"
    assert llm.fields["params"] == {"temperature": 0.2, "max_tokens": 128}
    assert llm.fields["tool_call_texts"] == ('{"location":"Paris"}',)
    assert (tool.name, run.value(tool.input), run.value(tool.output)) == (
        "get_weather",
        {"location": "Paris"},
        '{"temp_f": 57}',
    )
    assert run.value(retrieval.output) == ({"id": "doc-1", "score": 0.91, "content": "Paris is often rainy."},)
    assert (run.user_ref, run.conversation_id, run.env) == ("u-1", "sess-1", "dev")
    assert run.versions["agent_version"] == "git-abc123"
    assert run.value(run.final_output) == "It is rainy"


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"input": 34, "output": 6, "cache_read_input_tokens": 16, "total": 56}, (50, 6, 16)),
        ({"input": 50, "output": 6, "cache_read_input_tokens": 16, "total": 56}, (50, 6, 16)),
        ({"input": 34, "input_cached_tokens": 16, "output": 2, "output_reasoning_tokens": 4}, (50, 6, 16)),
        ({"prompt_tokens": 50, "completion_tokens": 6}, (50, 6, None)),
        ({}, (None, None, None)),
    ],
)
def test_usage_includes_cached_and_reasoning_tokens(details: object, expected: tuple[int | None, ...]) -> None:
    usage = one("generation", usage_details=details).fields["usage"] or {}

    assert isinstance(usage, dict)
    assert (usage.get("input_tokens"), usage.get("output_tokens"), usage.get("cache_read")) == expected


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("generation", "llm"),
        ("embedding", "llm"),
        ("tool", "tool"),
        ("retriever", "retrieval"),
        ("span", "agent"),
        ("guardrail", "decision"),
        ("event", "other"),
    ],
)
def test_the_type_says_the_kind(type_: str, kind: str) -> None:
    assert one(type_, input="x").kind == kind


def test_an_observation_without_a_type_is_a_plain_one_and_a_model_makes_it_a_call() -> None:
    plain = make_span({OBSERVATION + "input": "x"}, scope="langfuse-sdk")
    model = make_span({OBSERVATION + "model.name": "m"}, scope="langfuse-sdk")

    assert (read(View(plain)).kind, read(View(model)).kind) == ("agent", "llm")


def test_a_trace_attribute_on_another_senders_span_does_not_claim_it() -> None:
    attributes: dict[str, Value] = {"langfuse.trace.name": "t", "openinference.span.kind": "LLM"}

    assert dialect_of(View(make_span(attributes, scope="openinference.instrumentation.openai"))).name == "openinference"


def test_a_wrapped_client_writes_messages_and_tools_together() -> None:
    found = one(
        "generation",
        input={
            "messages": [{"role": "user", "content": "Rain?"}],
            "tools": [{"type": "function", "function": {"name": "f"}}],
        },
        output="Yes.",
        prompt__name="weather",
        prompt__version="3",
    )

    assert found.input.value == ({"role": "user", "parts": ({"type": "text", "content": "Rain?"},)},)
    assert found.output.value == ({"role": "assistant", "parts": ({"type": "text", "content": "Yes."},)},)
    assert found.definitions.value == ({"type": "function", "name": "f"},)
    assert (found.fields["prompt_name"], found.fields["prompt_version"]) == ("weather", "3")


def test_the_arguments_of_a_decorated_function_are_its_keywords() -> None:
    assert one("tool", input={"args": [], "kwargs": {"city": "Oslo"}}).input.value == {"city": "Oslo"}
    assert one("tool", input={"args": ["Oslo"], "kwargs": {}}).input.value == {"args": ("Oslo",), "kwargs": {}}
    assert one("tool").input.state == "absent"


def test_documents_may_stand_in_an_object_and_a_cut_text_is_cut() -> None:
    assert one("retriever", output={"documents": [{"id": "1", "content": "a"}]}).output.value == (
        {"id": "1", "content": "a"},
    )
    assert one("retriever", output='[{"id": "1", "con').output.state == "cut"
