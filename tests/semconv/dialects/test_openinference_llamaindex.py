import json

from runreel.semconv.reading import Reading, dialect_of, read
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import make_span

SCOPE = "openinference.instrumentation.llama_index"
WEATHER = {"city": "Oslo", "temp_c": -3, "sky": "snow ❄️", "wind": [1.5, True, None]}


def reading(kind: str, name: str, **attributes: Value) -> Reading:
    given = {key.replace("__", "."): value for key, value in attributes.items()}
    return read(View(make_span({"openinference.span.kind": kind, **given}, scope=SCOPE, name=name)))


def output(text: str, raw: object) -> str:
    blocks = [{"text": text}]
    return json.dumps({"blocks": blocks, "tool_name": "get_weather", "raw_output": raw, "is_error": False})


def tool(called: object, answered: str, **more: Value) -> Reading:
    given: dict[str, Value] = {"input__value": json.dumps(called), "output__value": answered, **more}
    return reading("TOOL", "FunctionTool.acall", tool__name="get_weather", **given)


def test_it_is_known_by_its_scope_before_openinference() -> None:
    assert dialect_of(View(make_span({"openinference.span.kind": "LLM"}, scope=SCOPE))).name == (
        "openinference.llamaindex"
    )


def test_arguments_are_those_of_the_method_by_name_without_the_workflows_context() -> None:
    context = "<workflows.context.context.Context object at 0x7ff88bd61b10>"

    assert tool({"kwargs": {"city": "Oslo", "ctx": context}}, "").input.value == {"city": "Oslo"}
    assert tool({"args": ["Oslo"], "kwargs": {}}, "").input.value == "Oslo"
    assert tool({"args": ["Oslo", 1], "kwargs": {"units": "metric"}}, "").input.value == {
        "args": ("Oslo", 1),
        "units": "metric",
    }
    assert tool({"query": "Oslo"}, "").input.value == {"query": "Oslo"}


def test_a_result_is_what_was_returned_where_its_text_is_what_the_model_was_told() -> None:
    found = tool({"kwargs": {}}, output(str(WEATHER), WEATHER)).output

    assert (found.state, found.value) == ("whole", {**WEATHER, "wind": (1.5, True, None)})


def test_a_result_is_the_text_where_the_value_says_less_or_something_else() -> None:
    assert tool({"kwargs": {}}, output("14 days.", {"source_nodes": []})).output.value == "14 days."
    assert tool({"kwargs": {}}, output("None", None)).output.value is None
    assert tool({"kwargs": {}}, "cold").output.value == "cold"


def test_what_puts_a_request_together_is_no_model_call() -> None:
    assert reading("LLM", "OpenAI._prepare_chat_with_tools").kind == "other"
    assert reading("LLM", "OpenAI.achat").kind == "llm"


def test_what_the_library_knows_of_a_model_is_no_parameter_of_a_request() -> None:
    told = json.dumps({"context_window": 128000, "num_output": -1, "is_chat_model": True, "temperature": 0.5})

    found = reading("LLM", "OpenAI.achat", llm__model_name="gpt-4o-mini", llm__invocation_parameters=told)

    assert found.fields["params"] == {"temperature": 0.5}
    assert found.fields["model_requested"] == "gpt-4o-mini"


def test_a_hand_over_is_a_decision_and_a_tool_that_is_only_named_so_is_a_tool() -> None:
    declared = json.dumps({"properties": {"to_agent": {}, "reason": {}}})
    called = json.dumps({"kwargs": {"to_agent": "weather-agent", "reason": "It knows."}})
    named: dict[str, Value] = {"tool__name": "handoff", "input__value": called}

    found = reading("TOOL", "FunctionTool.acall", tool__parameters=declared, **named)

    assert (found.kind, found.fields["type"]) == ("decision", "handoff")
    assert found.output.value == "weather-agent"
    assert reading("TOOL", "FunctionTool.acall", tool__parameters='{"properties": {"to": {}}}', **named).kind == "tool"


def test_a_retriever_has_its_class_as_its_name_however_it_was_called() -> None:
    names = [reading("RETRIEVER", f"Keyword.{how}").name for how in ("retrieve", "aretrieve")]

    assert names == ["Keyword", "Keyword"]
