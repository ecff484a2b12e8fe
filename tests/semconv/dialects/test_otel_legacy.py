from typing import Any

import pytest

from runreel.semconv.reading import Reading, read
from runreel.semconv.switches import content_switch
from runreel.semconv.view import View
from runreel.values import LogEvent, Value
from span_kit import capture, captured_run, counts, make_event, make_log, make_span, of_kind

SPAN: dict[str, Value] = {"gen_ai.system": "openai", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
MESSAGE = {"role": "assistant", "content": "It rains."}


def event(name: str, body: Value, **fields: Any) -> LogEvent:
    return make_log({}, event_name=f"gen_ai.{name}", body=body, **fields)


def llm(*logs: LogEvent, **fields: Any) -> Reading:
    return read(View(make_span(SPAN, **fields), logs))


@pytest.mark.parametrize("name", ["2.1b0-content-on", "2.4b0-legacy-true"])
def test_messages_in_log_events_are_what_the_conventions_have_on_spans(name: str) -> None:
    legacy = captured_run(f"otel-openai-v2/{name}")
    current = captured_run("otel-genai-openai/content-span")

    assert counts(legacy) == (3, 3)
    assert legacy.replayable == "full"
    for theirs, ours in zip(of_kind(legacy, "llm"), of_kind(current, "llm"), strict=True):
        assert theirs.dialect == "otel_legacy"
        assert legacy.value(theirs.input) == current.value(ours.input)
        assert legacy.value(theirs.output) == current.value(ours.output)
        assert theirs.fields["params"]["seed"] == 7


@pytest.mark.parametrize("name", ["2.1b0-content-off", "2.4b0-legacy-default"])
def test_events_without_bodies_are_withheld_content_and_the_setting_is_named(name: str) -> None:
    run = captured_run(f"otel-openai-v2/{name}")

    assert counts(run) == (3, 3)
    assert run.replayable == "none"
    assert {step.input.state for step in of_kind(run, "llm")} == {"withheld"}
    assert {step.output.state for step in of_kind(run, "llm")} == {"withheld"}
    assert all("CAPTURE_MESSAGE_CONTENT=true" in gap.fix for gap in run.gaps if gap.field in ("input", "output"))


def test_in_its_latest_mode_the_same_package_speaks_the_current_conventions() -> None:
    run = captured_run("otel-openai-v2/2.4b0-latest-stream")

    assert {step.dialect for step in of_kind(run, "llm")} == {"otel"}
    assert run.replayable == "full"


def test_arguments_are_kept_as_the_model_wrote_them() -> None:
    spans, logs = capture("otel-openai-v2/2.4b0-legacy-true")
    (first, *_) = sorted((span for span in spans if "gen_ai.system" in span.attributes), key=lambda one: one.start_ns)

    found = read(View(first, [log for log in logs if log.span_id == first.key.span_id]))

    assert found.fields["tool_call_texts"] == ('{"city": "Lisbon"}', '{"city": "Oslo"}')
    assert found.fields["finish_reasons"] == ("tool_calls",)


def test_the_events_name_may_be_an_attribute_and_its_body_a_text() -> None:
    found = llm(
        make_log({"event.name": "gen_ai.user.message"}, event_name="", body='{"role": "user", "content": "Rain?"}'),
        make_log({"event.name": "gen_ai.choice"}, event_name="", body={"finish_reason": "stop", "message": MESSAGE}),
    )

    assert found.input.value == ({"role": "user", "parts": ({"type": "text", "content": "Rain?"},)},)
    assert found.output.value == (
        {"role": "assistant", "parts": ({"type": "text", "content": "It rains."},), "finish_reason": "stop"},
    )


def test_the_events_may_stand_on_the_span() -> None:
    events = (
        make_event("gen_ai.user.message", content="Rain?"),
        make_event("gen_ai.choice", index=0, finish_reason="stop", message=MESSAGE),
    )

    found = llm(events=events)

    assert (found.input.state, found.output.state, found.input.source) == ("whole", "whole", "events")
    assert found.fields["finish_reasons"] == ("stop",)


def test_an_empty_answer_is_told_from_one_that_was_not_captured() -> None:
    empty = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}

    captured = llm(event("user.message", {"content": "Say nothing."}), event("choice", empty))
    not_captured = llm(event("user.message", None), event("choice", empty))

    assert (captured.output.state, not_captured.output.state) == ("whole", "withheld")
    assert captured.output.value == (
        {"role": "assistant", "parts": ({"type": "text", "content": ""},), "finish_reason": "stop"},
    )


def test_a_tools_result_has_the_id_of_its_call() -> None:
    found = llm(event("tool.message", {"id": "call_1", "content": "rain"}))

    assert found.input.value == (
        {"role": "tool", "parts": ({"type": "tool_call_response", "id": "call_1", "response": "rain"},)},
    )


def test_the_oldest_form_holds_all_messages_in_one_attribute() -> None:
    events = (
        make_event("gen_ai.content.prompt", gen_ai__prompt='[{"role": "user", "content": "Rain?"}]'),
        make_event("gen_ai.content.completion", gen_ai__completion='[{"role": "assistant", "content": "Yes."}]'),
    )

    found = read(View(make_span({**SPAN, "gen_ai.response.finish_reasons": ("stop",)}, events=events)))
    on_span = read(View(make_span({**SPAN, "gen_ai.prompt": "Rain?", "gen_ai.completion": "Yes."})))

    assert found.output.value == (
        {"role": "assistant", "parts": ({"type": "text", "content": "Yes."},), "finish_reason": "stop"},
    )
    assert found.input.value == on_span.input.value
    assert on_span.output.value == ({"role": "assistant", "parts": ({"type": "text", "content": "Yes."},)},)


def test_the_setting_of_each_instrumentation_is_its_own() -> None:
    assert "log events" in content_switch("opentelemetry.instrumentation.openai_v2 2.4b0", "input")
    assert "STABILITY_OPT_IN" in content_switch("opentelemetry.util.genai.handler 0.4b0", "input")
