import json

import pytest

from runreel.semconv.reading import Reading, dialect_of, read
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import captured_run, counts, make_span, of_kind

SCOPE = "openinference.instrumentation.smolagents"


def tool(wrapper: Value, **attributes: Value) -> Reading:
    known: dict[str, Value] = {"openinference.span.kind": "TOOL", "tool.name": "f", "input.value": json.dumps(wrapper)}
    return read(View(make_span(known | attributes, scope=SCOPE)))


def test_it_is_known_by_its_scope_or_its_keys() -> None:
    assert dialect_of(View(make_span({}, scope=SCOPE))).name == "openinference.smolagents"
    assert dialect_of(View(make_span({"smolagents.max_steps": 4}))).name == "openinference.smolagents"


def test_the_weather_is_three_model_calls_and_three_tool_calls() -> None:
    run = captured_run("smolagents/toolcalling")

    assert counts(run) == (3, 3)
    assert run.replayable == "full"
    assert [step.name for step in of_kind(run, "tool")] == ["get_weather", "get_weather", "lookup_customer"]
    assert {step.fields["pairing"] for step in of_kind(run, "tool")} == {"inferred"}
    assert sum(step.fields["usage"]["input_tokens"] for step in of_kind(run, "llm")) == 4008


def test_the_final_answer_is_no_call_of_a_tool() -> None:
    for name in ("toolcalling", "codeagent"):
        run = captured_run(f"smolagents/{name}")
        assert "final_answer" not in [step.name for step in run.steps]
        assert run.value(run.final_output)


def test_what_was_asked_is_the_task_and_not_what_stands_around_it() -> None:
    run = captured_run("smolagents/toolcalling")

    assert str(run.value(run.user_input)).startswith("[scenario:weather] Hi, I'm Dana")


def test_roles_of_its_own_are_those_that_reach_the_model() -> None:
    last = of_kind(captured_run("smolagents/toolcalling"), "llm")[-1]
    run = captured_run("smolagents/toolcalling")

    assert [one["role"] for one in run.value(last.input)] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]


def test_messages_of_one_role_that_follow_each_other_reach_the_model_as_one() -> None:
    text = {"message.contents.0.message_content.type": "text"}
    said = [("system", "s"), ("assistant", "I look."), ("tool-call", "Calling tools:"), ("tool-response", "cold")]
    spoken = {
        f"llm.input_messages.{place}.{key}": value
        for place, (role, content) in enumerate(said)
        for key, value in {
            "message.role": role,
            **text,
            "message.contents.0.message_content.text": content,
        }.items()
    }
    found = read(View(make_span({"openinference.span.kind": "LLM", **spoken}, scope=SCOPE)))

    assert found.input.value == (
        {"role": "system", "parts": ({"type": "text", "content": "s"},)},
        {"role": "assistant", "parts": ({"type": "text", "content": "I look.\nCalling tools:"},)},
        {"role": "user", "parts": ({"type": "text", "content": "cold"},)},
    )


def test_an_empty_answer_before_a_call_is_an_empty_line_before_it() -> None:
    spoken: dict[str, Value] = {
        "llm.input_messages.0.message.role": "assistant",
        "llm.input_messages.1.message.role": "tool-call",
        "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": "Calling tools:",
    }
    found = read(View(make_span({"openinference.span.kind": "LLM", **spoken}, scope=SCOPE)))

    assert found.input.value == ({"role": "assistant", "parts": ({"type": "text", "content": "\nCalling tools:"},)},)


def test_the_model_it_names_is_the_one_that_was_asked_for() -> None:
    step = of_kind(captured_run("smolagents/toolcalling"), "llm")[0]

    assert step.fields["model_requested"] == "gpt-4o-mini"
    assert "model" not in step.fields


@pytest.mark.parametrize(
    ("wrapper", "wanted"),
    [
        ({"args": [], "sanitize_inputs_outputs": True, "kwargs": {"a": 1}}, {"a": 1}),
        ({"args": [1], "sanitize_inputs_outputs": False, "kwargs": {"b": 2}}, {"a": 1, "b": 2}),
        ({"args": [1, 2], "kwargs": {}}, {"a": 1, "b": 2}),
    ],
)
def test_arguments_come_out_of_their_wrapper_by_name(wrapper: Value, wanted: Value) -> None:
    found = tool(wrapper, **{"tool.parameters": json.dumps({"a": {}, "b": {}})})

    assert found.input.value == wanted
    assert found.input.text is None


def test_a_wrapper_that_cannot_be_opened_stays_as_it_is() -> None:
    too_many = {"args": [1, 2, 3], "kwargs": {}}

    assert tool(too_many, **{"tool.parameters": '{"a": {}}'}).input.value == {"args": (1, 2, 3), "kwargs": {}}
    assert tool({"city": "Oslo"}).input.value == {"city": "Oslo"}
    assert tool("text").input.value == '"text"'
