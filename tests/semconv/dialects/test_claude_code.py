import json

import pytest

from runreel.semconv.dialects import claude_code
from runreel.semconv.reading import Reading, dialect_of, read
from runreel.semconv.switches import content_switch
from runreel.semconv.view import View
from runreel.values import Kind, LogEvent, Value
from span_kit import counts, make_event, make_log, make_span, of_kind, runs_of, sample

SCOPE = "com.anthropic.claude_code.tracing"
REQUEST = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "stop_sequences": ["END"],
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
    "messages": [{"role": "user", "content": "list the files"}],
}
ANSWER = {
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
    ],
    "stop_reason": "tool_use",
}


def reading(name: str, *logs: LogEvent, attributes: dict[str, Value] | None = None, **fields: object) -> Reading:
    span = make_span(attributes or {}, scope=SCOPE, name=f"claude_code.{name}", **fields)
    return read(View(span, logs))


def log(name: str, **attributes: Value) -> LogEvent:
    return make_log({"event.name": name, **attributes}, event_name="", body=f"claude_code.{name}")


def test_it_is_known_by_its_scope_or_its_names_and_not_yet_verified() -> None:
    assert dialect_of(View(make_span({}, scope=SCOPE))).name == "claude_code"
    assert dialect_of(View(make_span({}, name="claude_code.tool"))).name == "claude_code"
    assert not claude_code.DIALECT.verified


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("interaction", "agent"),
        ("llm_request", "llm"),
        ("tool", "tool"),
        ("tool.blocked_on_user", "decision"),
        ("tool.execution", "other"),
        ("hook", "decision"),
        ("something_new", "other"),
    ],
)
def test_the_name_says_what_a_span_is(name: str, kind: Kind) -> None:
    assert reading(name).kind == kind


def test_input_tokens_leave_out_the_cache_and_are_made_whole() -> None:
    (run,) = runs_of(*sample("claude-code/SYNTHETIC"))
    (call,) = of_kind(run, "llm")

    assert counts(run) == (1, 1)
    assert call.fields["usage"] == {
        "input_tokens": 12 + 15000 + 240,
        "output_tokens": 57,
        "cache_read": 15000,
        "cache_write": 240,
    }
    assert call.fields["time_to_first_chunk"] == 0.812
    assert run.value(run.user_input) == "list the files"


def test_numbers_may_come_as_text() -> None:
    texts: dict[str, Value] = {"input_tokens": "12", "cache_read_tokens": "3", "output_tokens": "4"}

    assert reading("llm_request", attributes=texts).fields["usage"] == {
        "input_tokens": 15,
        "output_tokens": 4,
        "cache_read": 3,
    }


def test_raw_bodies_hold_messages_tools_and_parameters() -> None:
    found = reading(
        "llm_request",
        log("api_request_body", body=json.dumps(REQUEST)),
        log("api_response_body", body=json.dumps(ANSWER)),
    )

    assert found.input.value == (
        {"role": "system", "parts": ({"type": "text", "content": "Be brief."},)},
        {"role": "user", "parts": ({"type": "text", "content": "list the files"},)},
    )
    assert found.output.value == (
        {
            "role": "assistant",
            "parts": (
                {"type": "reasoning", "content": "hm", "signature": "c2ln"},
                {"type": "tool_call", "id": "toolu_1", "name": "Bash", "arguments": {"command": "ls"}},
            ),
            "finish_reason": "tool_call",
        },
    )
    assert found.definitions.value == ({"type": "function", "name": "Bash", "parameters": {"type": "object"}},)
    assert found.fields["params"] == {"max_tokens": 100, "stop": ("END",)}


def test_a_body_elsewhere_is_external_and_a_cut_one_is_cut() -> None:
    elsewhere = reading("llm_request", log("api_request_body", body_ref="file:///var/x"))
    cut = reading("llm_request", log("api_request_body", body='{"messages": [', body_truncated="true"))

    assert (elsewhere.input.state, cut.input.state) == ("external", "cut")


def test_a_tools_arguments_and_output() -> None:
    event = make_event("tool.output", output="total 0\n")
    found = reading("tool", log("tool_result", tool_input='{"command": "ls -la"}'), events=(event,))
    known = reading("tool", attributes={"tool_name": "Bash", "full_command": "ls -la"})

    assert (found.input.value, found.output.value) == ({"command": "ls -la"}, "total 0\n")
    assert (known.name, known.input.value) == ("Bash", "ls -la")


def test_the_settings_that_switch_content_on() -> None:
    assert "OTEL_LOG_RAW_API_BODIES=1" in content_switch(f"{SCOPE} 2.1.0", "input")
    assert "OTEL_LOG_TOOL_CONTENT=1" in content_switch(f"{SCOPE} 2.1.0", "output")
