import json

import pytest

from runreel.semconv.reading import Reading, dialect_of, read
from runreel.semconv.switches import content_switch
from runreel.semconv.view import View
from runreel.values import LogEvent, Value
from span_kit import captured_run, counts, make_log, make_span, of_kind, runs_of, sample

OWN = "gcp.vertex.agent."


def reading(attributes: dict[str, Value], *logs: LogEvent, name: str = "call_llm") -> Reading:
    return read(View(make_span(attributes, scope="gcp.vertex.agent", name=name), logs))


def test_it_is_known_by_its_scope_or_its_keys() -> None:
    assert dialect_of(View(make_span({}, scope="gcp.vertex.agent"))).name == "google_adk"
    assert dialect_of(View(make_span({f"{OWN}event_id": "e"}))).name == "google_adk"


@pytest.mark.parametrize("name", ["content-span", "content-both", "legacy-schema"])
def test_each_schema_has_three_model_calls_and_three_tool_calls(name: str) -> None:
    run = captured_run(f"google-adk/{name}")

    assert counts(run) == (3, 3)
    assert run.replayable == "full"
    assert {step.fields["provider"] for step in of_kind(run, "llm")} == {"gcp.gemini"}
    assert all("merged" not in step.name for step in run.steps)


def test_both_schemas_say_the_same_of_calls_and_answers() -> None:
    old, new = captured_run("google-adk/legacy-schema"), captured_run("google-adk/content-span")

    for kind, name in (("llm", "output"), ("tool", "input"), ("tool", "output")):
        theirs = [old.value(getattr(step, name)) for step in of_kind(old, kind)]
        assert theirs == [new.value(getattr(step, name)) for step in of_kind(new, kind)]


def test_a_call_written_twice_is_counted_once_and_keeps_what_only_the_outer_span_has() -> None:
    run = captured_run("google-adk/legacy-schema")
    call = of_kind(run, "llm")[0]
    outer = next(step for step in run.steps if step.shadowed_by == call.seq)

    assert (outer.fields.get("operation"), call.fields["operation"]) == (None, "generate_content")
    assert call.fields["usage"] == {"input_tokens": 52, "output_tokens": 53}
    assert call.fields["params"] == {"temperature": 0.0, "seed": 7}
    assert call.fields["model"] == "gemini-2.5-flash-001"
    assert [tool["name"] for tool in call.fields["tool_definitions"]][:2] == ["get_weather", "lookup_customer"]


def test_schema_one_reads_log_events_too() -> None:
    (run,) = runs_of(*sample("google-adk/agent-v1"))
    spans, logs = sample("google-adk/agent-v1")
    (inner, *_) = [span for span in spans if span.name.startswith("generate_content")]

    found = read(View(inner, [log for log in logs if log.span_id == inner.key.span_id]))

    assert counts(run) == (2, 1)
    assert found.input.source == "logs"
    assert [one["role"] for one in found.input.value] == ["system", "user"]
    assert found.output.value == (
        {
            "role": "assistant",
            "parts": ({"type": "tool_call", "id": "fc-1", "name": "get_weather", "arguments": {"location": "Paris"}},),
            "finish_reason": "stop",
        },
    )
    assert (run.conversation_id, run.user_ref) == ("sess-1", "u-1")


def test_by_default_nothing_is_recorded_and_the_setting_is_named() -> None:
    run = captured_run("google-adk/default")

    assert counts(run) == (3, 3)
    assert run.replayable == "none"
    assert all("CAPTURE_MESSAGE_CONTENT=SPAN_ONLY" in gap.fix for gap in run.gaps if gap.field in ("input", "output"))
    assert "SPAN_ONLY" in content_switch("gcp.vertex.agent 2.13.0", "input")


def test_braces_and_elided_stand_where_content_would() -> None:
    request = reading({f"{OWN}llm_request": "{}", f"{OWN}llm_response": "{}"})
    tool = reading({"gen_ai.tool.name": "f", f"{OWN}tool_call_args": "{}", f"{OWN}tool_response": "{}"}, name="t")
    log = make_log({}, event_name="gen_ai.user.message", body={"content": "<elided>"})
    elided = reading({"gen_ai.operation.name": "generate_content"}, log, name="generate_content")

    assert {found.state for found in (request.input, request.output, tool.input, tool.output, elided.input)} == {
        "withheld"
    }


def test_the_request_of_gemini_becomes_messages_parameters_and_tools() -> None:
    request = {
        "model": "gemini-2.5-flash",
        "config": {
            "system_instruction": "Be brief.",
            "temperature": 0.5,
            "max_output_tokens": 9,
            "stop_sequences": ["END"],
            "response_schema": {"type": "OBJECT"},
            "http_options": {},
            "tools": [{"function_declarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}],
        },
        "contents": [
            {"role": "user", "parts": [{"text": "hello"}]},
            {"role": "model", "parts": [{"text": "hm", "thought": True}, {"function_call": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"function_response": {"name": "f", "response": {"a": 1}}}]},
        ],
    }
    found = reading({f"{OWN}llm_request": json.dumps(request)})

    assert found.input.value == (
        {"role": "system", "parts": ({"type": "text", "content": "Be brief."},)},
        {"role": "user", "parts": ({"type": "text", "content": "hello"},)},
        {
            "role": "assistant",
            "parts": (
                {"type": "reasoning", "content": "hm"},
                {"type": "tool_call", "id": "", "name": "f", "arguments": {}},
            ),
        },
        {"role": "tool", "parts": ({"type": "tool_call_response", "id": "", "response": {"a": 1}, "name": "f"},)},
    )
    assert found.fields["params"] == {
        "temperature": 0.5,
        "max_tokens": 9,
        "stop": ("END",),
        "response_schema": {"type": "OBJECT"},
    }
    assert found.definitions.value == ({"type": "function", "name": "f", "parameters": {"type": "OBJECT"}},)


def test_a_cut_request_is_kept_as_text_and_marked() -> None:
    found = reading({f"{OWN}llm_request": '{"model": "gemini-2.5-fl'})

    assert (found.kind, found.input.state, found.input.value) == ("llm", "cut", '{"model": "gemini-2.5-fl')
    assert "llm_request" in found.input.reason


def test_the_transfer_to_another_agent_is_a_decision() -> None:
    found = reading(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "transfer_to_agent",
            "gen_ai.tool.call.arguments": '{"agent_name": "billing"}',
        },
        name="execute_tool transfer_to_agent",
    )

    assert (found.kind, found.fields["type"], found.output.value) == ("decision", "handoff", "billing")


@pytest.mark.parametrize(
    ("name", "kind"), [("invocation", "agent"), ("agent_run [a]", "agent"), ("call_llm", "llm"), ("else", "other")]
)
def test_spans_without_an_operation_are_known_by_their_name(name: str, kind: str) -> None:
    assert reading({}, name=name).kind == kind


def test_the_pieces_of_a_stream_are_one_message() -> None:
    def piece(part: Value, reason: str) -> Value:
        return {"role": "assistant", "parts": [part], "finish_reason": reason}

    call = {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}
    said = [
        piece({"type": "text", "content": "Let me "}, ""),
        piece({"type": "text", "content": "look."}, ""),
        piece(call, "stop"),
        piece({"type": "text", "content": "Another answer."}, "stop"),
    ]
    found = reading({"gen_ai.operation.name": "generate_content", "gen_ai.output.messages": json.dumps(said)})

    first, second = found.output.value
    assert first == {
        "role": "assistant",
        "parts": ({"type": "text", "content": "Let me look."}, call),
        "finish_reason": "stop",
    }
    assert second["parts"] == ({"type": "text", "content": "Another answer."},)


@pytest.mark.parametrize(
    ("tool", "kind"), [("transfer_to_agent", "decision"), ("exit_loop", "decision"), ("set_model_response", "other")]
)
def test_tools_that_steer_the_agent_are_no_tool_calls(tool: str, kind: str) -> None:
    given: dict[str, Value] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}

    assert reading(given, name=f"execute_tool {tool}").kind == kind
