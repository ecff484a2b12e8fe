import json

import pytest

from otlp_build import call, msg
from runreel.semconv.reading import read
from runreel.semconv.recognise import recognise
from runreel.semconv.unusual import KIND_MISMATCH, marks
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import make_span, runs_of

CHAT: dict[str, Value] = {"gen_ai.operation.name": "chat"}


def text_part(text: str) -> Value:
    return {"type": "text", "content": text}


def test_system_instructions_stand_first_as_the_message_that_they_are() -> None:
    attributes = {
        "gen_ai.input.messages": json.dumps([msg("user", "hi")]),
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
    }

    found = read(View(make_span(CHAT | attributes))).input

    assert found.state == "whole"
    assert found.value == (
        {"role": "system", "parts": (text_part("Be brief."),)},
        {"role": "user", "parts": (text_part("hi"),)},
    )


def test_system_instructions_as_bare_text_are_one_part() -> None:
    attributes = {"gen_ai.input.messages": json.dumps([msg("user", "hi")]), "gen_ai.system_instructions": "Be brief."}

    found = read(View(make_span(CHAT | attributes))).input

    assert isinstance(found.value, tuple)
    assert found.value[0] == {"role": "system", "parts": (text_part("Be brief."),)}


def test_system_instructions_alone_are_no_request() -> None:
    found = read(View(make_span(CHAT | {"gen_ai.system_instructions": "Be brief."}))).input

    assert found.state == "withheld"


def test_a_missing_finish_reason_is_taken_from_the_list() -> None:
    attributes: dict[str, Value] = {
        "gen_ai.output.messages": json.dumps([msg("assistant", "a"), msg("assistant", "b", finish_reason="length")]),
        "gen_ai.response.finish_reasons": ("tool_calls", "stop"),
    }

    found = read(View(make_span(CHAT | attributes)))

    assert isinstance(found.output.value, tuple)
    assert [one["finish_reason"] for one in found.output.value if isinstance(one, dict)] == ["tool_call", "length"]
    assert found.fields["finish_reasons"] == ("tool_calls", "stop")


def test_openais_instrumentation_writes_calls_first_and_the_wire_has_prose_first() -> None:
    output = json.dumps([msg("assistant", call("f", {}), "Let me check.")])
    kinds = {}
    for scope in ("opentelemetry.instrumentation.genai.openai", "opentelemetry.instrumentation.genai.anthropic"):
        found = read(View(make_span(CHAT | {"gen_ai.output.messages": output}, scope=scope))).output.value
        assert isinstance(found, tuple)
        assert isinstance(found[0], dict)
        kinds[scope.rsplit(".", 1)[1]] = [part["type"] for part in found[0]["parts"]]

    assert kinds == {"openai": ["text", "tool_call"], "anthropic": ["tool_call", "text"]}


def test_what_a_memory_operation_read_or_wrote() -> None:
    records = '[{"content": "likes tea"}]'
    search = {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.memory.query.text": "tea",
        "gen_ai.memory.records": records,
    }
    create = {"gen_ai.operation.name": "create_memory", "gen_ai.memory.records": records}

    searched, created = read(View(make_span(search))), read(View(make_span(create)))

    assert (searched.fields["op"], searched.input.value) == ("search", "tea")
    assert searched.output.value == ({"content": "likes tea"},)
    assert (created.fields["op"], created.input.value) == ("create", ({"content": "likes tea"},))


def test_retrieved_documents_without_text_are_withheld_with_their_ids() -> None:
    attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": '[{"id": "d1", "score": 0.9}]'}

    found = read(View(make_span(attributes))).output

    assert (found.state, found.value) == ("withheld", ({"id": "d1", "score": 0.9},))
    assert found.reason.startswith("no_document_text")


def test_structured_retrieved_documents_are_read_as_their_text_is() -> None:
    documents: Value = ({"id": "d1", "score": 0.9, "content": "text", "updated_at": "2026-01-01"},)
    spans = [
        make_span({"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": value})
        for value in (documents, json.dumps([dict(documents[0])]))  # type: ignore[index,call-overload]
    ]

    found = [read(View(span)).output for span in spans]

    assert [one.state for one in found] == ["whole", "whole"]
    assert found[0].value == found[1].value == documents


@pytest.mark.parametrize("raw", ["null", '""', "0", "false", "", 0, False, (), None])
def test_answers_that_say_nothing_are_absent_and_the_run_says_what_to_set(raw: Value) -> None:
    asked = json.dumps([msg("user", "hi")])
    (run,) = runs_of([make_span(CHAT | {"gen_ai.input.messages": asked, "gen_ai.output.messages": raw})])

    (gap,) = [gap for gap in run.gaps if gap.needed_for == "frozen"]
    assert (run.steps[0].output.state, gap.field) == ("absent", "output")
    assert gap.cause.partition(":")[0] in ("empty", "content_off")
    assert "gen_ai.output.messages" in gap.fix


def test_an_empty_object_for_an_answer_is_withheld() -> None:
    (run,) = runs_of([make_span(CHAT | {"gen_ai.output.messages": "{}"})])

    assert [gap.cause.partition(":")[0] for gap in run.gaps if gap.field == "output"] == ["withheld"]


@pytest.mark.parametrize("raw", ["null", 0, {}])
def test_instructions_that_say_nothing_are_left_out(raw: Value) -> None:
    attributes = {"gen_ai.input.messages": json.dumps([msg("user", "hi")]), "gen_ai.system_instructions": raw}

    assert [one["role"] for one in read(View(make_span(CHAT | attributes))).input.value] == ["user"]  # type: ignore[union-attr,index,call-overload]


@pytest.mark.parametrize("raw", ["null", '""', "{}", "0", "false", "", 0, False, (), {}, None])
def test_a_tools_result_is_what_it_returned_be_it_nothing(raw: Value) -> None:
    attributes = {"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": raw}
    (run,) = runs_of([make_span({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"} | attributes)])

    assert run.steps[0].output.state == "whole"
    assert run.value(run.steps[0].output) == raw
    assert [gap.field for gap in run.gaps if gap.needed_for == "frozen"] == []


TOOL: dict[str, Value] = {"gen_ai.tool.name": "f", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "x"}
MODEL: dict[str, Value] = {"gen_ai.request.model": "m", "gen_ai.output.messages": json.dumps([msg("assistant", "a")])}


@pytest.mark.parametrize(
    ("operation", "attributes", "kind"),
    [
        ("chat", TOOL, "tool"),
        ("execute_tool", MODEL, "llm"),
        ("chat", TOOL | MODEL, "llm"),  # some note the calls of an answer on it
        ("execute_tool", TOOL | MODEL, "tool"),
        ("chat", {"gen_ai.tool.name": "f"}, "llm"),
        ("execute_tool", {"gen_ai.tool.name": "f", "gen_ai.request.model": "m"}, "tool"),
        ("execute_tool", {}, "tool"),
        ("invoke_agent", TOOL, "agent"),
    ],
)
def test_an_operation_is_not_believed_where_everything_else_speaks_against_it(
    operation: str, attributes: dict[str, Value], kind: str
) -> None:
    span = make_span({"gen_ai.operation.name": operation, **attributes})
    facts = recognise(span)

    assert (facts.kind, read(View(span)).kind) == (kind, kind)
    assert (KIND_MISMATCH in marks(span, facts)) == ((operation, kind) in (("chat", "tool"), ("execute_tool", "llm")))
