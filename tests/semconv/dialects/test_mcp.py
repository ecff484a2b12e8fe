import json

import pytest

from otlp_build import msg
from runreel.semconv.reading import dialect_of, read
from runreel.semconv.view import View
from runreel.values import Span, Value
from span_kit import counts, make_span, of_kind, runs_of, sample

T0 = 1_790_000_000_000_000_000
CALL: dict[str, Value] = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "get_weather"}


def at(number: int, attributes: dict[str, Value], parent: int | None = None, **fields: object) -> Span:
    ids = {"span_id": f"{number:016x}", "parent_id": f"{parent:016x}" if parent else None}
    return make_span(attributes, start_ns=T0 + number * 10, end_ns=T0 + number * 10 + 5, **ids, **fields)


def test_three_spans_of_one_call_are_one_tool_call() -> None:
    runs = runs_of(*sample("mcp/fastmcp"))

    calls = [(step.name, step.status) for run in runs for step in of_kind(run, "tool")]
    assert calls == [("get_weather", "ok"), ("broken", "error")]
    assert sum(len([step for step in run.steps if step.kind == "tool"]) for run in runs) == 6
    assert {step.dialect for run in runs for step in run.steps} == {"mcp"}


def test_what_went_wrong_inside_is_kept() -> None:
    error = of_kind(runs_of(*sample("mcp/fastmcp"))[-1], "tool")[0].error

    assert error is not None
    assert error.type == "tool_error"


def test_content_never_comes_and_the_gap_says_what_to_do() -> None:
    run = runs_of(*sample("mcp/fastmcp"))[0]

    assert {gap.field for gap in run.gaps if gap.needed_for == "frozen"} == {"input", "output"}
    assert all("never hold content" in gap.fix for gap in run.gaps if gap.needed_for == "frozen")


@pytest.mark.parametrize("method", ["tools/list", "resources/read", "prompts/get", "server/discover"])
def test_other_methods_are_structure(method: str) -> None:
    assert read(View(make_span({"mcp.method.name": method}))).kind == "other"


def test_the_tools_name_may_stand_in_the_spans_name_only() -> None:
    found = read(View(make_span({"mcp.method.name": "tools/call"}, name="MCP send tools/call get_weather")))

    assert (found.kind, found.name) == ("tool", "get_weather")


def test_a_frameworks_span_around_it_stands_for_the_call() -> None:
    framework: dict[str, Value] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": '{"city": "Oslo"}',
        "gen_ai.tool.call.result": "rain",
    }

    outer = at(1, framework)
    (run,) = runs_of((outer, make_span(CALL, span_id=f"{2:016x}", parent_id=f"{1:016x}", start_ns=outer.start_ns)))

    assert counts(run) == (0, 1)
    assert of_kind(run, "tool")[0].dialect == "otel"


def test_arguments_and_result_come_from_the_models_side() -> None:
    asked = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}],
    }
    told = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rain"}]}
    chat: dict[str, Value] = {"gen_ai.operation.name": "chat", "gen_ai.response.model": "m"}
    turns: list[tuple[list[object], list[object]]] = [
        ([msg("user", "Rain?")], [asked]),
        ([msg("user", "Rain?"), asked, told], [msg("assistant", "Yes.")]),
    ]
    first, second = (
        chat | {"gen_ai.input.messages": json.dumps(given), "gen_ai.output.messages": json.dumps(answer)}
        for given, answer in turns
    )

    spans = (at(1, {"gen_ai.operation.name": "invoke_agent"}), at(2, first, 1), at(3, CALL, 1), at(4, second, 1))
    (run,) = runs_of(spans)

    (tool,) = of_kind(run, "tool")
    assert (tool.call_id, run.value(tool.input), run.value(tool.output)) == ("c1", {"city": "Oslo"}, "rain")
    assert run.replayable == "full"


def test_openllmetrys_own_instrumentation_of_it_stays_its_own() -> None:
    attributes: dict[str, Value] = {"traceloop.span.kind": "tool", "mcp.method.name": "tools/call"}

    assert dialect_of(View(make_span(attributes, scope="opentelemetry.instrumentation.mcp"))).name == "openllmetry"


def test_openllmetrys_arguments_and_result_of_a_call_are_taken_out_of_what_it_puts_around_them() -> None:
    attributes: dict[str, Value] = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "get_weather",
        "traceloop.entity.input": '{"tool_name": "get_weather", "arguments": {"city": "Oslo"}}',
        "traceloop.entity.output": '{"result": "snow"}',
    }
    (run,) = runs_of([make_span(attributes, scope="opentelemetry.instrumentation.mcp.instrumentation")])
    (other,) = runs_of([make_span(attributes, scope="opentelemetry.instrumentation.langchain")])

    (tool,), (kept,) = of_kind(run, "tool"), of_kind(other, "tool")
    assert (run.value(tool.input), run.value(tool.output)) == ({"city": "Oslo"}, "snow")
    assert other.value(kept.output) == '{"result": "snow"}'
