"""A recorded run becomes a tape, or is refused with what it lacks."""

from dataclasses import replace

import pytest

from otlp_build import ROOT, answer, call, msg, span
from recorded_runs import model_step, run_of, run_of_capture, tool_step
from runreel.errors import RefusedError
from runreel.replay.tape import build, parts_of, tool_call_ids
from runreel.replay.values import Raised, Returned, Streamed

ASKED = [msg("system", "s"), msg("user", "q")]


def test_the_calls_of_a_real_run_are_on_the_tape_with_what_they_asked_and_got():
    tape = build(run_of_capture("otel-genai-openai/content-span"))

    assert [(e.kind, e.name) for e in tape.entries] == [
        ("llm", "gpt-4o-mini"),
        ("tool", "get_weather"),
        ("tool", "get_weather"),
        ("llm", "gpt-4o-mini"),
        ("tool", "lookup_customer"),
        ("llm", "gpt-4o-mini"),
    ]
    first, lisbon = tape.entries[:2]
    assert first.request["model"] == "gpt-4o-mini"
    assert [m["role"] for m in first.request["messages"]] == ["system", "user"]
    assert (first.request["params"]["seed"], len(first.request["tools"])) == (7, 5)
    assert first.calls == tuple(e.call_id for e in tape.entries[1:3])
    assert first.answer.fields["model"] == "gpt-4o-mini-2024-07-18"
    assert first.answer.fields["tool_call_texts"] == ('{"city": "Lisbon"}', '{"city": "Oslo"}')
    assert first.answer.fields["created_ns"] == first.start_ns
    assert lisbon.request == {"city": "Lisbon"}
    assert isinstance(lisbon.answer, Returned)
    assert lisbon.answer.value.startswith('{"city": "Lisbon", "units"')
    assert lisbon.key.startswith("rr-json-1:")
    assert tape.named() == {"get_weather": "tool", "lookup_customer": "tool"}


def test_a_streamed_answer_is_one():
    tape = build(run_of_capture("otel-genai-openai/stream"))

    assert {type(e.answer) for e in tape.entries if e.kind == "llm"} == {Streamed}


def test_a_recorded_failure_is_raised_again():
    tape = build(run_of_capture("otel-genai-openai/scenario-toolerror"))

    (failed,) = [e for e in tape.entries if e.kind == "tool"]
    assert failed.answer == Raised("KeyError", "\"unknown city 'Atlantis'\"")
    assert "Atlantis" not in repr(failed)


def test_arguments_that_do_not_parse_stay_the_text_that_they_are():
    tape = build(run_of_capture("otel-genai-openai/scenario-badargs"))

    assert [e.request for e in tape.entries if e.kind == "tool"] == ['{"city": "Lis', {"city": "Lisbon"}]


@pytest.mark.parametrize("capture", ["otel-genai-openai/content-off", "openinference-openai/content-off"])
def test_a_run_without_content_is_refused_with_the_gaps_and_the_setting(capture):
    with pytest.raises(RefusedError) as caught:
        build(run_of_capture(capture))

    text = str(caught.value)
    assert "cannot be replayed frozen, its record lacks:" in text
    assert "input" in text
    assert ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in text) or ("OPENINFERENCE_HIDE" in text)
    assert text.count("\n") < 8  # one cause is said once


def test_a_run_that_was_cut_is_refused():
    with pytest.raises(RefusedError, match="cut"):
        build(run_of_capture("otel-genai-openai/truncated-200"))


def test_what_a_server_did_for_a_call_is_inside_of_it_behind_the_spans_that_are_its_views():
    of_server = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "research"}
    looked_up = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "kb",
        "gen_ai.retrieval.query.text": "x",
        "gen_ai.retrieval.documents": '[{"id": "1", "content": "found"}]',
    }
    run = run_of(
        model_step(1, ASKED, [call("research", {"q": "x"})], at=0),
        tool_step(1, "research", {"q": "x"}, "found", at=20, call_id="call_1"),
        span("tools/call research", "00000000000000d1", "00000000000000c1", at=21, ms=4, attrs=of_server),
        span("retrieval kb", "00000000000000d2", "00000000000000d1", at=22, ms=2, attrs=looked_up),
        model_step(2, [*ASKED, msg("tool", answer("found"))], ["done"], at=40),
    )
    assert [step.shadowed_by for step in run.steps if step.name == "research"] == [None, 2]

    tape = build(run)

    assert [(one.kind, one.name) for one in tape.entries][1:2] == [("tool", "research")]
    assert (len(tape.entries), tape.inside) == (3, 1)


def test_steps_inside_a_tool_are_not_on_the_tape():
    run = run_of(
        model_step(1, ASKED, [call("research", {"q": "x"})], at=0),
        tool_step(1, "research", {"q": "x"}, "found", at=20, call_id="call_1"),
        span(
            "retrieval kb",
            "00000000000000d1",
            "00000000000000c1",
            at=22,
            ms=2,
            attrs={
                "gen_ai.operation.name": "retrieval",
                "gen_ai.data_source.id": "kb",
                "gen_ai.retrieval.query.text": "x",
                "gen_ai.retrieval.documents": '[{"id": "1", "content": "found"}]',
            },
        ),
        model_step(2, [*ASKED, msg("tool", answer("found"))], ["done"], at=40),
    )

    tape = build(run)

    assert [e.kind for e in tape.entries] == ["llm", "tool", "llm"]
    assert tape.inside == 1
    assert "not replayed" in tape.notes[0]


def test_a_run_that_was_still_going_on_is_noted():
    run = replace(run_of(model_step(1, ASKED, ["done"], at=0)), open=True)

    assert "still going on" in build(run).notes[0]


def test_one_name_for_a_tool_and_a_retrieval_is_refused():
    run = run_of(
        tool_step(1, "kb", {}, "x", at=0),
        span(
            "retrieval kb",
            "00000000000000d1",
            ROOT,
            at=22,
            attrs={
                "gen_ai.operation.name": "retrieval",
                "gen_ai.data_source.id": "kb",
                "gen_ai.retrieval.query.text": "x",
                "gen_ai.retrieval.documents": '[{"id": "1", "content": "found"}]',
            },
        ),
    )
    run = replace(run, replayable="full", gaps=())

    with pytest.raises(RefusedError, match="kb is recorded as a tool and as a retrieval"):
        build(run)


def test_a_memory_is_refused_by_its_name():
    run = run_of(model_step(1, ASKED, ["done"], at=0))
    memory = replace(run.steps[1], seq=2, kind="memory", name="profile")
    run = replace(run, steps=(*run.steps, memory))

    with pytest.raises(RefusedError, match="unstubbed memory profile"):
        build(run)


def test_a_run_without_any_step_to_answer_is_refused():
    run = replace(run_of(model_step(1, ASKED, ["done"], at=0)), replayable="none", gaps=())

    with pytest.raises(RefusedError, match="no step that could be answered for"):
        build(run)


def test_a_refused_model_call_is_a_failure_with_what_had_come_by_then():
    run = run_of(model_step(1, ASKED, ["par"], at=0, **{"error.type": "RateLimitError"}))

    (entry,) = build(replace(run, gaps=(), replayable="full")).entries

    assert isinstance(entry.answer, Raised)
    assert entry.answer.type == "RateLimitError"
    assert [part["content"] for part in parts_of(entry.answer.fields["partial"], "text")] == ["par"]


def test_parts_and_call_ids_are_read_from_messages_and_from_nothing_else():
    messages = ({"role": "assistant", "parts": ({"type": "tool_call", "id": "a"}, {"type": "tool_call"}, "x")}, "y", {})

    assert list(tool_call_ids(messages)) == ["a"]
    assert list(parts_of("text", "tool_call")) == []
    assert list(parts_of(None, "tool_call")) == []
