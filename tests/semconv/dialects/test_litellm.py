import json

import pytest

from runreel.semconv.reading import read
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import counts, make_span, of_kind, runs_of, sample

CALL: dict[str, Value] = {
    "gen_ai.request.model": "gpt-4o-mini",
    "gen_ai.system": "openai",
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": "Rain?",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "Yes.",
    "gen_ai.completion.0.finish_reason": "stop",
    "gen_ai.usage.prompt_tokens": 3,
    "gen_ai.usage.completion_tokens": 1,
    "gen_ai.cost.total_cost": 0.00001,
    "llm.is_streaming": "False",
}


@pytest.mark.parametrize("name", ["agent", "agent-stream"])
def test_tool_calls_are_read_though_answers_lack_them(name: str) -> None:
    (run,) = runs_of(*sample(f"litellm/{name}"))

    first, second, _ = of_kind(run, "llm")
    assert counts(run) == (3, 3)
    assert run.replayable == "full"
    assert first.fields["tool_call_texts"] == ('{"city": "Lisbon"}', '{"city": "Oslo"}')
    assert [part["name"] for part in run.value(first.output)[0]["parts"] if part["type"] == "tool_call"] == [  # type: ignore[index,call-overload,union-attr]
        "get_weather",
        "get_weather",
    ]
    told = [message["parts"][0] for message in run.value(second.input) if message["role"] == "tool"]  # type: ignore[index,call-overload,union-attr]
    assert [part["type"] for part in told] == ["tool_call_response"] * 2
    assert told[1]["response"] == '{"city": "Oslo", "units": "metric", "temp_c": -3, "sky": "snow ❄️"}'
    assert [step.fields["pairing"] for step in of_kind(run, "tool")] == ["inferred"] * 3


def test_a_tools_message_that_lost_its_text_is_withheld() -> None:
    lost = json.dumps([{"role": "tool", "parts": [], "tool_call_id": "c1"}])

    found = read(View(make_span({"gen_ai.request.model": "m", "gen_ai.input.messages": lost}, scope="litellm")))

    assert found.input.state == "withheld"


def test_a_request_is_a_model_call_and_what_lies_around_it_is_structure() -> None:
    proxy = make_span(
        {"metadata.x": "y"}, name="Received Proxy Server Request", scope="litellm", span_id="00000000000000a1"
    )
    request = make_span(CALL, name="litellm_request", scope="litellm", parent_id="00000000000000a1")
    raw = make_span(
        {"llm.openai.messages": json.dumps([{"role": "user", "content": "Rain?"}])},
        name="raw_gen_ai_request",
        scope="litellm",
        span_id="00000000000000c1",
        parent_id="00000000000000b1",
    )

    (run,) = runs_of((proxy, request, raw))

    assert counts(run) == (1, 0)
    assert [step.dialect for step in run.steps] == ["litellm"]


def test_messages_and_usage_are_read() -> None:
    found = read(View(make_span(CALL, scope="litellm")))

    assert found.input.value == ({"role": "user", "parts": ({"type": "text", "content": "Rain?"},)},)
    assert found.output.value == (
        {"role": "assistant", "parts": ({"type": "text", "content": "Yes."},), "finish_reason": "stop"},
    )
    assert found.fields["usage"] == {"input_tokens": 3, "output_tokens": 1}
    assert found.fields["stream"] is False
    assert found.fields["finish_reasons"] == ("stop",)


def test_a_finish_reason_may_be_plain_text_and_tools_json() -> None:
    tools = [{"type": "function", "function": {"name": "rain"}}]
    more: dict[str, Value] = {"gen_ai.response.finish_reasons": "tool_calls", "llm.request.tools": json.dumps(tools)}

    found = read(View(make_span(CALL | more, scope="litellm")))

    assert found.fields["finish_reasons"] == ("tool_calls",)
    assert found.definitions.value == ({"type": "function", "name": "rain"},)


def test_tools_that_are_no_json_are_no_tools() -> None:
    assert read(View(make_span(CALL | {"llm.request.tools": "[{"}, scope="litellm"))).definitions.state == "absent"


def test_without_content_the_setting_is_named() -> None:
    (run,) = runs_of((make_span({"gen_ai.request.model": "m", "gen_ai.cost.total_cost": 1.0}, scope="litellm"),))

    assert all("turn_off_message_logging" in gap.fix for gap in run.gaps if gap.field in ("input", "output"))
