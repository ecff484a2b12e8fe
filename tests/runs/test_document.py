"""The JSON documents of runs."""

import json

import pytest

from runreel.runs.document import (
    count,
    iso,
    plain,
    run_document,
    summarise,
    summary_document,
    summary_from_document,
    usage_of,
)
from runreel.values import Gap, ModelUsage, Ref, Run, Step, StepError
from span_kit import captured_run

RUN = Run(
    tenant="default",
    run_id="a" * 32,
    revision="r1",
    trace_ids=("a" * 32,),
    agent_id="desk",
    steps=(
        Step(0, (), None, "agent", "desk"),
        Step(
            1, (), 0, "llm", "model", output=Ref("b" * 64, 12, "whole"), fields={"tool_definitions": ("big",), "n": 1}
        ),
        Step(2, (), 0, "llm", "model", shadowed_by=1),
        Step(3, (), 0, "tool", "refund", status="error", error=StepError("KeyError", "no")),
        Step(4, (), 0, "retrieval", "kb", after=frozenset({3, 1})),
    ),
    gaps=(Gap(3, "output", "frozen", "not recorded", "switch it on"),),
    replayable="partial",
    started_ns=1_767_225_600_000_000_001,
    payloads={"b" * 64: ({"role": "assistant", "raw": b"\x00\xff"},)},
)


def test_a_summary_counts_each_call_once() -> None:
    summary = summarise(RUN)

    assert (summary.model_calls, summary.tool_calls, summary.retrievals) == (1, 1, 1)
    assert count(RUN.steps, "agent") == 1


def test_a_list_entry_has_the_stable_fields() -> None:
    document = summary_document(summarise(RUN))

    promised = {
        "run_id", "trace_ids", "agent_id", "started_at", "outcome", "open", "model_calls", "tool_calls", "retrievals",
        "replayable",
    }  # fmt: skip
    assert promised <= document.keys()
    assert document["started_at"] == "2026-01-01T00:00:00.000000001Z"
    assert document["ended_at"] is None


def test_a_summary_survives_its_document() -> None:
    summary = summarise(RUN)

    assert summary_from_document(json.loads(json.dumps(summary_document(summary)))) == summary


def test_a_run_document_has_steps_and_gaps_and_is_json() -> None:
    document = json.loads(json.dumps(run_document(RUN)))

    assert [step["kind"] for step in document["steps"]] == ["agent", "llm", "llm", "tool", "retrieval"]
    assert {"kind", "name", "seq", "status", "refs"} <= document["steps"][0].keys()
    assert document["steps"][1]["refs"]["output"]["ref"] == "sha256:" + "b" * 64
    assert document["steps"][1]["fields"] == {"n": 1}
    assert document["steps"][3]["error"]["type"] == "KeyError"
    assert document["steps"][4]["after"] == [[1, 1], [3, 3]]
    assert document["gaps"] == [
        {"step": 3, "field": "output", "needed_for": "frozen", "cause": "not recorded", "fix": "switch it on"}
    ]
    assert "payloads" not in document


def test_payloads_come_on_request_with_bytes_as_base64() -> None:
    document = json.loads(json.dumps(run_document(RUN, payloads=True)))

    assert document["payloads"]["b" * 64] == [{"role": "assistant", "raw": {"$bytes": "AP8="}}]


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, None), (1, "1970-01-01T00:00:00.000000001Z"), (2**64 - 1, "2554-07-21T23:34:33.709551615Z"), (2**80, None)],
)
def test_times_keep_their_nanoseconds_and_never_fail(ns: int, text: str | None) -> None:
    assert iso(ns) == text


@pytest.mark.parametrize(("value", "text"), [(float("nan"), "nan"), (float("-inf"), "-inf"), (1.5, 1.5)])
def test_numbers_that_json_lacks_become_text(value: float, text: object) -> None:
    assert plain((value,)) == [text]


def test_what_a_step_could_have_seen_takes_no_more_room_in_a_long_run() -> None:
    steps = tuple(Step(seq, (), None, "tool", "t", after=frozenset(range(seq))) for seq in range(1000))

    document = run_document(Run("default", "r", "", ("a" * 32,), "", steps))

    assert [step["after"] for step in document["steps"][:3]] == [[], [[0, 0]], [[0, 1]]]
    assert len(json.dumps([step["after"] for step in document["steps"]])) < 20_000


def test_tokens_are_summed_by_model_and_counted_once_however_often_a_call_was_seen() -> None:
    once = summarise(captured_run("langgraph/openinference")).usage
    twice = summarise(captured_run("langgraph/openinference-double")).usage

    assert [one.calls for one in once] == [one.calls for one in twice] == [3]
    assert [one.input_tokens for one in once] == [one.input_tokens for one in twice] != [0]


def test_what_is_no_count_of_tokens_is_none() -> None:
    steps = [
        Step(number, (), None, "llm", "m", fields={"model": "m", "usage": {"input_tokens": claimed}})
        for number, claimed in enumerate((5, -1, True, 2**60, "7", None))
    ]

    assert usage_of(steps) == (ModelUsage("m", 6, 5, 0),)
