"""Which content a run lacks of what a policy wants: with real clients' captures, and field by field."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from otlp_build import ROOT, agent, call, llm, msg, span
from run_kit import run, step
from runreel.processors.required import OF_CONTENT
from runreel.runs import lacking as looked_at
from runreel.values import Gap, Ref, Run
from span_kit import captured_run, runs_of, spans_of

ALL = ("input", "output")
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "a", "gen_ai.tool.call.arguments": "{}"}


def lacking(run: Run, fields: Sequence[str]) -> list[str]:
    return [name for _, name in looked_at.lacking(run, fields)]


def run_of(*spans: object) -> Run:
    (found,) = runs_of(spans_of(*spans))
    return found


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("otel-genai-openai/content-off", {"llm.input", "llm.output"}),
        ("openinference-openai/content-off", {"llm.input", "llm.output"}),
        ("otel-genai-openai/upload-hook", {"llm.input", "llm.output"}),
        ("otel-genai-openai/truncated-200", set()),  # it came, and was cut
    ],
)
def test_what_real_clients_did_not_send_is_lacking_and_what_they_cut_is_not(name: str, lacks: set[str]) -> None:
    found = captured_run(name)

    told = set(lacking(found, [one for one in OF_CONTENT if "." in one]))

    assert told >= lacks if lacks else told == set()
    assert set(lacking(found, ALL)) == {one.partition(".")[2] for one in told}
    assert set(lacking(found, ())) == set()


def test_each_step_that_lacks_a_field_counts_and_only_the_kinds_that_are_meant() -> None:
    found = run_of(
        agent(),
        llm("00000000000000b1", ROOT, [msg("user", "hi")], [msg("assistant", call("a", {}))], at=1),
        span("execute_tool a", "00000000000000c1", ROOT, at=50, attrs=TOOL),
        span("execute_tool b", "00000000000000c2", ROOT, at=60, attrs=TOOL),
    )

    assert lacking(found, ["output"]) == ["output", "output"]
    assert lacking(found, ["tool.output", "output"]) == ["tool.output", "tool.output"]
    assert lacking(found, ["input", "llm.output", "retrieval.output"]) == []


def test_documents_without_their_text_are_lacking() -> None:
    found = _with_gap("retrieval", Ref(state="withheld", reason="no_document_text: -"))

    assert lacking(found, ["retrieval.output"]) == ["retrieval.output"]


@pytest.mark.parametrize(
    ("ref", "is_lacking"),
    [
        (Ref(), True),
        (Ref(state="external", reason="external: elsewhere"), True),
        (Ref(state="withheld", reason="placeholder: the sender put - in its place"), True),
        (Ref(state="withheld", reason="redaction_failed: withheld when it was taken in"), False),
        (Ref(state="cut", reason="not_json"), False),
        (Ref("0" * 64, 1, "whole"), False),
    ],
)
def test_what_came_in_part_or_was_lost_here_is_not_lacking(ref: Ref, is_lacking: bool) -> None:
    assert lacking(_with_gap("tool", ref), ["output"]) == ["output"] * is_lacking


def test_what_is_no_gap_is_not_lacking_and_a_step_without_a_span_lacks_nothing() -> None:
    failed = run(step("tool", "a", {}, None, error=("ValueError", "no")))
    made = _with_gap("tool", Ref())
    made = replace(made, steps=tuple(replace(one, synthesised=True) for one in made.steps))

    assert lacking(failed, ALL) == []
    assert lacking(made, ALL) == []


def _with_gap(kind: str, ref: Ref) -> Run:
    made = run(step(kind, "a", {"q": 1}, None))
    (only,) = made.steps
    return replace(made, steps=(replace(only, output=ref),), gaps=(Gap(0, "output", "frozen", "x", "y"),))
