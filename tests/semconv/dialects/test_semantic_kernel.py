import pytest

from runreel.semconv.reading import dialect_of, read
from runreel.semconv.switches import content_switch
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import counts, make_event, make_log, make_span, of_kind, runs_of, sample

SCOPE = "semantic_kernel.utils.telemetry.model_diagnostics.decorators"
CHAT: dict[str, Value] = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai"}


@pytest.mark.parametrize("scope", [SCOPE, "Microsoft.SemanticKernel.Connectors.OpenAI"])
def test_it_is_known_by_its_scopes(scope: str) -> None:
    assert dialect_of(View(make_span(CHAT, scope=scope))).name == "semantic_kernel"
    assert dialect_of(View(make_span({"sk.available_functions": "W-f"}))).name == "semantic_kernel"


def test_messages_come_from_log_events_whose_body_is_json_text() -> None:
    (run,) = runs_of(*sample("semantic-kernel/python-agent"))
    first, last = of_kind(run, "llm")
    (tool,) = of_kind(run, "tool")

    assert counts(run) == (2, 1)
    assert run.replayable == "full"
    assert [one["role"] for one in run.value(last.input)] == ["system", "user", "assistant", "tool"]
    assert first.fields["finish_reasons"] == ("tool_calls",)
    assert last.fields["finish_reasons"] == ("stop",)
    assert (tool.name, tool.fields["pairing"]) == ("W-get_weather", "call_id")
    assert run.value(run.user_input) == "Weather in Paris?"


def test_ordinary_log_lines_of_its_scopes_are_no_messages() -> None:
    line = make_log({"code.function.name": "store_usage"}, event_name="", body="Calling W-get_weather function")

    found = read(View(make_span(CHAT, scope=SCOPE), (line,)))

    assert (found.input.state, found.output.state) == ("absent", "absent")


def test_without_log_events_content_is_missing_and_the_setting_is_named() -> None:
    spans, _ = sample("semantic-kernel/python-agent")
    (run,) = runs_of(spans)

    assert run.replayable == "none"
    assert any("DIAGNOSTICS_SENSITIVE=true" in gap.fix for gap in run.gaps)
    assert "log events" in content_switch(SCOPE, "input")


@pytest.mark.parametrize(
    ("came", "wanted"), [("FinishReason.STOP", ("stop",)), ("FinishReason.TOOL_CALLS", ("tool_calls",)), ("", None)]
)
def test_the_finish_reason_is_the_name_of_an_enum(came: str, wanted: object) -> None:
    found = read(View(make_span(CHAT | {"gen_ai.response.finish_reason": came}, scope=SCOPE)))

    assert found.fields.get("finish_reasons") == wanted


def test_older_names_of_tokens() -> None:
    old: dict[str, Value] = {"gen_ai.response.prompt_tokens": 5, "gen_ai.response.completion_tokens": 2}

    assert read(View(make_span(CHAT | old, scope=SCOPE))).fields["usage"] == {"input_tokens": 5, "output_tokens": 2}


def test_dotnet_puts_messages_on_span_events() -> None:
    events = (
        make_event("gen_ai.user.message", content="hello"),
        make_event("gen_ai.choice", message="done", finish_reason="Stop"),
    )

    found = read(View(make_span(CHAT, scope="Microsoft.SemanticKernel.Connectors.OpenAI", events=events)))

    assert found.input.value == ({"role": "user", "parts": ({"type": "text", "content": "hello"},)},)
    assert isinstance(found.output.value, tuple)
    assert found.output.value[0]["parts"] == ({"type": "text", "content": "done"},)


def test_the_loop_around_calls_is_structure() -> None:
    assert read(View(make_span({"sk.available_functions": "W-f"}, scope=SCOPE))).kind == "other"
