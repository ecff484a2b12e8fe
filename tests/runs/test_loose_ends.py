"""A run that is a piece of something longer says so, and keeps its verdict."""

import pytest

from otlp_build import ROOT, agent, answer, call, llm, msg, tool
from runreel.runs.loose_ends import LOOSE, loose_ends
from runreel.values import Run
from span_kit import captured_run, runs_of, spans_of

B1, B2 = "00000000000000b1", "00000000000000b2"
USER = msg("user", "trip")
ASKS, TOLD, DONE = msg("assistant", call("f", {}, "c1")), msg("tool", answer("F", "c1")), msg("assistant", "done")


def run_of(*spans: object) -> Run:
    (run,) = runs_of(spans_of(agent(), *spans))
    return run


def test_a_run_that_begins_with_tool_results_names_what_to_do() -> None:
    run = run_of(llm(B1, ROOT, [USER, ASKS, TOLD], [DONE]))

    (gap,) = [gap for gap in run.gaps if gap.field == LOOSE]
    assert gap.cause.startswith("loose_beginning: it is told tool results")
    assert "start one span around the agent's whole loop" in gap.fix
    assert (gap.needed_for, run.replayable) == ("diagnose", "full")


def test_a_run_that_ends_with_a_tool_call_names_the_tool() -> None:
    run = run_of(llm(B1, ROOT, [USER], [ASKS]))

    (gap,) = [gap for gap in run.gaps if gap.field == LOOSE]
    assert gap.cause == "loose_end: it asks for f, and nothing says what came of that"
    assert (gap.needed_for, run.replayable) == ("diagnose", "full")


def test_the_answer_that_an_agent_of_smolagents_gives_by_a_tool_is_no_loose_end() -> None:
    ends = msg("assistant", call("final_answer", {"answer": "done"}, "c1"))

    assert list(loose_ends(run_of(llm(B1, ROOT, [USER], [ends])))) == []


def test_a_tool_span_is_what_came_of_the_last_call() -> None:
    run = run_of(llm(B1, ROOT, [USER], [ASKS]), tool("00000000000000c1", ROOT, "f", {}, "F", id="c1", at=40))

    assert list(loose_ends(run)) == []


def test_a_tool_span_without_an_id_may_be_what_came_of_the_last_call() -> None:
    run = run_of(llm(B1, ROOT, [USER], [ASKS]), tool("00000000000000c1", ROOT, "f", {}, "F", id="", at=40))

    assert list(loose_ends(run)) == []


def test_history_that_a_conversation_brings_along_is_no_loose_beginning() -> None:
    run = run_of(llm(B1, ROOT, [USER, ASKS, TOLD, DONE, msg("user", "and back?")], [DONE]))

    assert list(loose_ends(run)) == []


@pytest.mark.parametrize("capture", ["otel-genai-openai/content-span", "openinference-openai/content-on"])
def test_a_whole_run_has_no_loose_ends(capture: str) -> None:
    assert list(loose_ends(captured_run(capture))) == []
