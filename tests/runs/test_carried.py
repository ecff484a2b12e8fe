"""Log events go to the span that they are about, which is not always the one that they name."""

from typing import Any

from runreel.values import LogEvent, Run, Value
from span_kit import capture, make_log, make_span, of_kind, runs_of

ROOT, CALL, OTHER = "00000000000000a1", "00000000000000b1", "00000000000000b2"
SAID = ({"role": "assistant", "parts": ({"type": "text", "content": "Rain."},)},)


def details(place: str = ROOT, operation: Value = "chat", answer: Value = "r1", **more: Any) -> LogEvent:
    attributes = {"gen_ai.operation.name": operation, "gen_ai.response.id": answer, "gen_ai.output.messages": SAID}
    return make_log(attributes, place, **more)


def run_of(*logs: LogEvent, answers: tuple[Value, Value] = ("r1", "r2"), agent: Value = "invoke_agent") -> Run:
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    spans = [make_span({"gen_ai.operation.name": agent, "gen_ai.agent.name": "a"}, span_id=ROOT)]
    for place, answer in zip((CALL, OTHER), answers, strict=True):
        spans.append(make_span({**chat, "gen_ai.response.id": answer}, span_id=place, parent_id=ROOT))
    (run,) = runs_of(spans, logs)
    return run


def outputs(run: Run) -> list[str]:
    return [step.output.state for step in (*of_kind(run, "agent"), *of_kind(run, "llm"))]


def test_the_details_of_a_call_that_name_its_caller_go_to_the_call_that_has_their_answer() -> None:
    assert outputs(run_of(details())) == ["absent", "whole", "absent"]
    assert outputs(run_of(details(answer="r2"))) == ["absent", "absent", "whole"]


def test_where_nothing_says_whose_they_are_they_are_not_the_callers() -> None:
    assert outputs(run_of(details(answer="r9"))) == ["absent"] * 3
    assert outputs(run_of(details(answer=7))) == ["absent"] * 3
    assert outputs(run_of(details(), answers=("r1", "r1"))) == ["absent"] * 3


def test_details_of_a_span_of_their_own_kind_or_of_an_unknown_one_stay_where_they_are() -> None:
    assert outputs(run_of(details(CALL, answer="r2"))) == ["absent", "whole", "absent"]
    assert outputs(run_of(details(ROOT, operation="invoke_workflow"))) == ["whole", "absent", "absent"]
    assert outputs(run_of(details(ROOT, operation="converse"))) == ["whole", "absent", "absent"]
    assert outputs(run_of(details(ROOT, operation=3))) == ["whole", "absent", "absent"]


def test_openlit_names_the_caller_when_it_streams_and_the_run_ends_with_its_last_answer() -> None:
    (run,) = runs_of(*capture("openlit/stream"))

    final = run.value(run.final_output)
    assert isinstance(final, str)
    assert final.startswith("Lisbon is 21.5 C")
    assert all(step.fields["tool_definitions"] for step in of_kind(run, "llm"))
