from dataclasses import replace

import pytest

from otlp_build import ROOT, agent, call, llm, msg, span, tool
from runreel.runs.assemble import assemble
from runreel.runs.verdict import judge
from runreel.semconv import keys
from runreel.values import Replayable, Run, Value
from span_kit import capture, captured_run, make_span, of_kind, runs_of, spans_of

SPAN_ONLY = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"


def run_of(*spans: object) -> Run:
    (run,) = runs_of(spans_of(*spans))
    return run


def causes(run: Run, needed_for: str = "frozen") -> set[str]:
    return {gap.cause.partition(":")[0] for gap in run.gaps if gap.needed_for == needed_for}


@pytest.mark.parametrize(
    ("name", "verdict", "cause", "setting"),
    [
        ("otel-genai-openai/content-off", "none", "content_off", SPAN_ONLY),
        ("otel-genai-openai/content-true-is-invalid", "none", "content_off", SPAN_ONLY),
        ("otel-genai-openai/truncated-200", "none", "cut", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
        ("otel-genai-openai/upload-hook", "none", "external", "OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK"),
        ("openinference-openai/content-off", "none", "withheld", "OPENINFERENCE_HIDE_INPUTS=false"),
        ("openinference-openai/count-limit-40", "partial", "dropped_attributes", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"),
    ],
)
def test_what_real_clients_left_out_is_named_with_the_setting_that_brings_it(
    name: str, verdict: Replayable, cause: str, setting: str
) -> None:
    run = captured_run(name)

    assert run.replayable == verdict
    assert causes(run) == {cause}
    assert any(setting in gap.fix for gap in run.gaps)
    assert all(gap.step is not None and gap.fix for gap in run.gaps if gap.needed_for == "frozen")


def test_with_content_off_each_model_call_lacks_request_and_answer_and_the_tools_lack_nothing() -> None:
    run = captured_run("otel-genai-openai/content-off")

    models = {step.seq for step in of_kind(run, "llm")}
    assert {(gap.step, gap.field) for gap in run.gaps} == {
        (seq, name) for seq in models for name in ("input", "output")
    }
    assert all("`true` is not valid" in gap.fix for gap in run.gaps)


def test_no_gap_holds_text_of_a_payload() -> None:
    names = ("otel-genai-openai/truncated-200", "otel-genai-openai/upload-hook", "openinference-openai/count-limit-40")
    for name in names:
        said = " ".join(gap.cause + gap.fix for gap in captured_run(name).gaps)

        assert "dana" not in said.lower()
        assert "lisbon" not in said.lower()


@pytest.mark.parametrize("gone", ["input", "output"])
def test_a_run_that_can_answer_some_model_calls_is_partial(gone: str) -> None:
    key = f"gen_ai.{gone}.messages"
    spans, _ = capture("otel-genai-openai/content-span")
    bare = replace(spans[0], attributes={name: value for name, value in spans[0].attributes.items() if name != key})

    run = assemble([bare, *spans[1:]])

    assert run.replayable == "partial"
    assert {gap.field for gap in run.gaps if gap.needed_for == "frozen"} == {gone}


def test_a_tool_without_result_is_a_gap_unless_it_failed() -> None:
    attrs = {"gen_ai.tool.name": "f", "gen_ai.tool.call.arguments": "{}"}
    model = llm("00000000000000b1", ROOT, [msg("user", "q")], [msg("assistant", "a")])
    silent = span("execute_tool f", "00000000000000c1", ROOT, attrs=attrs)
    failed = span("execute_tool f", "00000000000000c1", ROOT, attrs={**attrs, "error.type": "ValueError"})

    assert causes(run_of(agent(), model, silent)) == {"content_off"}
    assert run_of(agent(), model, failed).replayable == "full"


def test_documents_without_text_name_what_sends_it() -> None:
    attrs = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "q",
        "gen_ai.retrieval.documents": '[{"id": null, "score": 0.91}]',
    }

    run = run_of(agent(), span("retrieval", "00000000000000c1", ROOT, attrs=attrs))

    (gap,) = [gap for gap in run.gaps if gap.needed_for == "frozen"]
    assert (gap.field, run.replayable) == ("output", "none")
    assert "no_document_text" in gap.cause
    assert "runreel.record" in gap.fix


def test_a_run_without_any_call_can_answer_nothing() -> None:
    run = run_of(agent())

    assert (run.replayable, causes(run)) == ("none", {"no_calls"})


def test_tools_without_any_model_call_are_noted_and_no_obstacle() -> None:
    run = run_of(agent(), tool("00000000000000c1", ROOT, "f", {}, "ok"))

    assert run.replayable == "full"
    assert "no_model_calls" in causes(run, "diagnose")


def test_a_model_that_is_only_an_alias_is_a_gap_for_live_replay_alone() -> None:
    alias = llm("00000000000000b1", "", [msg("user", "q")], [msg("assistant", "a")], **{"gen_ai.response.model": ""})

    run = run_of(alias)

    assert (run.replayable, causes(run, "live")) == ("full", {"model_alias"})


def test_a_commit_that_nobody_names_is_a_gap_for_diagnosis_alone() -> None:
    run = run_of(llm("00000000000000b1", "", [msg("user", "q")], [msg("assistant", "a")]))

    assert run.replayable == "full"
    assert [(gap.step, gap.field, gap.needed_for) for gap in run.gaps] == [(None, "code_version", "diagnose")]


def test_an_open_run_says_that_it_is() -> None:
    spans = spans_of(llm("00000000000000b1", ROOT, [msg("user", "q")], [msg("assistant", "a")]))

    assert "open" in causes(assemble(spans, quiet=False), "diagnose")
    assert "open" not in causes(assemble(spans), "diagnose")


def test_a_missing_parent_matters_where_it_may_have_been_the_model_call() -> None:
    model = llm("00000000000000b1", ROOT, [msg("user", "q")], [msg("assistant", call("f", {}, "c1"))])
    asked = tool("00000000000000c1", "00000000000000b9", "f", {}, "x", id="c1", at=20)
    unasked = tool("00000000000000c2", "00000000000000b9", "g", {}, "x", id="", at=20)

    assert "missing_parent" in causes(run_of(agent(), model, asked), "diagnose")
    assert "missing_parent" in causes(run_of(agent(), model, unasked), "frozen")


def test_what_the_recorder_could_not_record_is_a_gap_where_a_replay_has_no_stand_in() -> None:
    attributes: dict[str, Value] = {
        "gen_ai.tool.name": "f",
        "gen_ai.tool.call.arguments": "{}",
        "gen_ai.tool.call.result": "x",
        keys.UNRECORDED: ("arguments: db.Session", "result: db.Cursor"),
        "replay.recorder.losses": '{"span": 1}',
    }

    (run,) = runs_of([make_span(attributes)])

    assert [(gap.field, gap.needed_for) for gap in run.gaps if "unrecorded" in gap.cause] == [
        ("arguments", "diagnose"),
        ("result", "frozen"),
    ]
    assert 'recorder_losses: {"span": 1}' in {gap.cause for gap in run.gaps}


def test_a_doubled_span_has_no_gaps_of_its_own() -> None:
    outer = {"gen_ai.operation.name": "chat", "gen_ai.response.id": "r1"}
    inner = llm("00000000000000b2", "00000000000000b1", [msg("user", "q")], [msg("assistant", "a")], at=1)
    inner.attributes.extend(span("x", "00000000000000b3", attrs={"gen_ai.response.id": "r1"}).attributes)

    run = run_of(agent(), span("chat", "00000000000000b1", ROOT, ms=20, attrs=outer), inner)

    assert run.replayable == "full"


def test_a_stream_left_before_anything_came_lacks_nothing() -> None:
    left = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.stream": True,
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "q"}]}]',
    }

    run = run_of(span("chat", "00000000000000b1", attrs=left))

    assert (run.steps[0].status, run.steps[0].output.state, run.replayable) == ("interrupted", "absent", "full")


def test_a_required_scalar_that_is_missing_is_named() -> None:
    (run,) = runs_of([make_span({keys.STEP_KIND: "memory"})])

    assert [(gap.field, gap.cause) for gap in run.gaps if gap.field == "op"] == [("op", "absent: the span has no op")]


def test_judging_again_says_the_same() -> None:
    for name in ("otel-genai-openai/content-off", "openinference-openai/content-on"):
        run = captured_run(name)

        assert judge(run) == (run.replayable, run.gaps)


def test_gaps_stand_in_the_order_of_the_steps_and_those_of_the_run_last() -> None:
    spans, _ = capture("otel-genai-openai/content-off")
    run = assemble([replace(one, resource=make_span().resource) for one in spans])

    steps = [gap.step for gap in run.gaps]
    assert steps == [*sorted(step for step in steps if step is not None), None]


def test_embeddings_of_the_conventions_have_no_content_and_the_fix_does_not_name_a_switch() -> None:
    span = make_span({"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e"})

    (run,) = runs_of([span])

    fixes = {gap.fix for gap in run.gaps if gap.field in ("input", "output")}
    assert len(fixes) == 1
    assert fixes.pop().startswith("nothing to switch on")
