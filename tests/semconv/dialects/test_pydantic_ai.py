import json

import pytest

from runreel.semconv.reading import Reading, dialect_of, read
from runreel.semconv.switches import content_switch
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import captured_run, counts, make_span, of_kind, runs_of, sample


def reading(attributes: dict[str, Value], scope: str = "pydantic-ai") -> Reading:
    return read(View(make_span(attributes, scope=scope)))


@pytest.mark.parametrize("name", ["content-on", "format-v2", "stream"])
def test_each_format_has_three_model_calls_and_three_tool_calls(name: str) -> None:
    run = captured_run(f"pydantic-ai/{name}")

    assert counts(run) == (3, 3)
    assert run.replayable == "full"
    assert {step.dialect for step in run.steps} == {"pydantic_ai"}


def test_both_formats_are_the_same_run() -> None:
    run, current = captured_run("pydantic-ai/format-v2"), captured_run("pydantic-ai/content-on")

    for kind in ("llm", "tool"):
        for ours, theirs in zip(of_kind(run, kind), of_kind(current, kind), strict=True):
            assert (run.value(ours.input), run.value(ours.output)) == (
                current.value(theirs.input),
                current.value(theirs.output),
            )


@pytest.mark.parametrize("version", [2, 5, 6])
def test_every_version_tells_one_story(version: int) -> None:
    (run,) = runs_of(*sample(f"pydantic-ai/agent-v{version}"))
    tool = of_kind(run, "tool")[0]

    assert counts(run) == (2, 1)
    assert run.value(tool.input) == {"location": "Paris"}
    assert run.value(tool.output) == '{"temp_f":57,"sky":"rain"}'
    assert run.value(run.user_input) == "Weather in Paris?"
    assert run.value(run.final_output) == "It is rainy and 57F in Paris."


def test_the_agents_own_sum_of_usage_is_never_added() -> None:
    run = captured_run("pydantic-ai/content-on")

    assert sum(step.fields["usage"]["input_tokens"] for step in of_kind(run, "llm")) == 674
    assert all("usage" not in step.fields for step in of_kind(run, "agent"))


def test_parts_without_content_are_withheld_and_the_setting_is_named() -> None:
    run = captured_run("pydantic-ai/content-off")

    assert counts(run) == (3, 3)
    assert run.replayable == "none"
    assert {step.input.state for step in of_kind(run, "llm")} == {"withheld"}
    assert all("include_content=True" in gap.fix for gap in run.gaps if gap.field in ("input", "output"))


def test_the_setting_that_switches_content_on() -> None:
    assert "InstrumentationSettings" in content_switch("pydantic-ai 2.68.0", "input")


@pytest.mark.parametrize(
    "attributes",
    [{"gen_ai.agent.call.id": "c"}, {"model_request_parameters": "{}"}, {"pydantic_ai.all_messages": "[]"}],
)
def test_it_is_known_by_its_scope_or_its_keys(attributes: dict[str, Value]) -> None:
    assert dialect_of(View(make_span({}, scope="pydantic-ai"))).name == "pydantic_ai"
    assert dialect_of(View(make_span(attributes, scope="logfire"))).name == "pydantic_ai"


def test_the_agents_question_is_what_stands_before_its_first_new_answer() -> None:
    def text(role: str, content: str) -> dict[str, object]:
        return {"role": role, "parts": [{"type": "text", "content": content}]}

    history = [text("user", "old"), text("assistant", "answered"), text("user", "new"), text("assistant", "done")]
    found = reading({"pydantic_ai.all_messages": json.dumps(history), "pydantic_ai.new_message_index": 2})

    assert found.kind == "agent"
    assert isinstance(found.input.value, tuple)
    assert [one["role"] for one in found.input.value] == ["user", "assistant", "user"]


def test_tools_come_from_the_requests_parameters_where_nothing_else_says_them() -> None:
    asked = {
        "function_tools": [{"name": "f", "parameters_json_schema": {"type": "object"}, "strict": True}],
        "output_mode": "tool",
        "output_tools": [{"name": "final_result", "description": "The answer", "parameters_json_schema": {}}],
        "allow_text_output": True,
    }
    chat: dict[str, Value] = {"gen_ai.operation.name": "chat", "model_request_parameters": json.dumps(asked)}
    standard = json.dumps([{"type": "function", "name": "g"}])

    assert reading(chat).definitions.value == (
        {"type": "function", "name": "f", "parameters": {"type": "object"}},
        {"type": "function", "name": "final_result", "description": "The answer", "parameters": {}},
    )
    assert reading(chat).fields["params"] == {"output_mode": "tool"}
    assert reading(chat | {"gen_ai.tool.definitions": standard}).definitions.value == (
        {"type": "function", "name": "g"},
    )


def test_a_route_is_a_decision() -> None:
    found = reading({"pydantic_ai.decision.route": "refund", "pydantic_ai.decision.route_options": '["refund"]'})

    assert (found.kind, found.output.value, found.fields["type"], found.fields["options"]) == (
        "decision",
        "refund",
        "route",
        ("refund",),
    )


def test_a_rejected_call_is_the_models_next_turn_and_no_tool_step() -> None:
    run = captured_run("pydantic-ai/scenario-badargs")

    assert counts(run) == (3, 2)
    assert run.replayable == "full"


def test_the_call_id_of_the_root_is_the_runs_id() -> None:
    assert captured_run("pydantic-ai/content-on").run_id == "01a2275e-f9a6-7567-91e9-cf5115bd59c0"
