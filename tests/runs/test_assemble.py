import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otlp_build import T0, TID, agent, answer, call, llm, msg, span, tool
from runreel.runs.assemble import assemble
from runreel.runs.draft import parts_of
from runreel.runs.identity import group
from runreel.semconv import keys
from runreel.semconv.view import Found
from runreel.values import Ref, Run, Value
from span_kit import capture, captured_run, counts, make_log, make_span, of_kind, runs_of, spans_of

WEATHER = [
    "otel-genai-openai/content-span",
    "otel-genai-openai/content-event",
    "otel-genai-openai/content-both",
    "otel-genai-openai/content-off",
    "otel-genai-openai/content-true-is-invalid",
    "otel-genai-openai/http-json",
    "otel-genai-openai/retry-duplicate",
    "otel-genai-openai/stream",
    "otel-genai-openai/truncated-200",
    "otel-genai-openai/upload-hook",
    "openinference-openai/content-on",
    "openinference-openai/content-off",
    "openinference-openai/count-limit-40",
    "openinference-openai/stream",
]
WHOLE = [
    "otel-genai-openai/content-span",
    "otel-genai-openai/content-event",
    "otel-genai-openai/content-both",
    "otel-genai-openai/http-json",
    "otel-genai-openai/retry-duplicate",
    "openinference-openai/content-on",
]
USER = (
    "[scenario:weather] Hi, I'm Dana (dana.fields@example.com, +1 202-555-0143). "
    "Compare the weather in Lisbon and Oslo, then tell me how you will contact me. 🙂"
)


@pytest.mark.parametrize("name", WEATHER)
def test_every_weather_capture_is_one_run_with_three_model_calls_and_three_tool_calls(name: str) -> None:
    run = captured_run(name)

    assert counts(run) == (3, 3)
    assert [step.kind for step in run.steps] == ["agent", "llm", "tool", "tool", "llm", "tool", "llm"]
    assert run.agent_id == "weather-agent"
    assert (run.outcome, run.open) == ("ok", False)


@pytest.mark.parametrize("name", WHOLE)
def test_whatever_carried_the_content_the_run_is_the_same(name: str) -> None:
    run, first = captured_run(name), captured_run("otel-genai-openai/content-span")

    assert run.replayable == "full"
    assert run.gaps == ()
    assert [(step.input, step.output) for step in run.steps] == [(step.input, step.output) for step in first.steps]
    assert run.value(run.user_input) == USER
    assert str(run.value(run.final_output)).startswith("Lisbon is 21.5 C and sunny")
    assert run.value(run.steps[1].output) == run.payloads[run.steps[1].output.sha256]


@pytest.mark.parametrize("name", ["otel-genai-openai/stream-abandoned", "openinference-openai/stream-abandoned"])
def test_an_abandoned_stream_is_one_interrupted_model_call_that_asked_for_nothing(name: str) -> None:
    run = captured_run(name)

    assert counts(run) == (1, 0)
    (step,) = of_kind(run, "llm")
    assert step.status == "interrupted"
    assert step.fields["usage"] is None
    (part,) = parts_of(Found(run.value(step.output)), "tool_call")
    assert part["arguments"] == '{"city": "Lisb'
    assert run.replayable == "full"


def test_sub_agents_in_other_processes_join_by_trace_or_are_runs_of_their_own_by_link() -> None:
    parent, child = runs_of(*capture("otel-genai-openai/multi-process"))

    assert (counts(parent), counts(child)) == ((2, 1), (4, 3))
    assert (parent.agent_id, child.agent_id) == ("orchestrator", "weather-agent")
    assert parent.parent_run_id is None
    assert (child.parent_run_id, child.parent_relation) == (parent.run_id, "handoff")
    assert child.service["service.name"] == "child-b"


def test_broken_arguments_stay_exactly_as_the_model_wrote_them() -> None:
    for name in ("otel-genai-openai/scenario-badargs", "openinference-openai/scenario-badargs"):
        run = captured_run(name)
        broken, good = of_kind(run, "tool")

        assert run.value(broken.input) == '{"city": "Lis'
        assert broken.fields["arguments_text"] == '{"city": "Lis'
        assert run.value(good.input) == {"city": "Lisbon"}
        assert broken.status == "error"
        assert broken.error is not None
        assert broken.error.type == "json.decoder.JSONDecodeError"
        assert "Traceback" in broken.error.stack
        assert of_kind(run, "llm")[0].fields["tool_call_texts"] == ('{"city": "Lis',)


def test_numbers_keep_the_models_spelling_beside_their_value() -> None:
    run = captured_run("otel-genai-openai/scenario-numbers")

    (step,) = of_kind(run, "tool")
    assert step.fields["arguments_text"] == '{"amount": 1.0, "rate": 1e2, "note": "Cafe\\u0301"}'
    assert of_kind(run, "llm")[0].fields["tool_call_texts"] == (step.fields["arguments_text"],)


def test_what_a_replay_needs_to_write_the_wire_answer_again() -> None:
    step = of_kind(captured_run("otel-genai-openai/content-span"), "llm")[0]

    assert step.fields["finish_reasons"] == ("tool_calls",)
    assert step.fields["response_id"] == "chatcmpl-dda6f6b3ffcc05d4dca181a9"
    assert step.fields["system_fingerprint"] == "fp_fake0001"
    assert (step.fields["model"], step.fields["model_requested"]) == ("gpt-4o-mini-2024-07-18", "gpt-4o-mini")
    assert step.fields["params"] == {"temperature": 0, "top_p": 1, "max_tokens": 256, "seed": 7}
    assert step.fields["usage"] == {"input_tokens": 72, "output_tokens": 85}
    tools = step.fields["tool_definitions"]
    assert isinstance(tools, tuple)
    assert [one["name"] for one in tools if isinstance(one, dict)][:2] == ["get_weather", "lookup_customer"]


def test_a_raw_answer_is_kept_behind_a_ref() -> None:
    run = captured_run("openinference-openai/content-on")

    ref = of_kind(run, "llm")[0].fields["response_raw"]

    assert isinstance(ref, str)
    raw = run.payloads[ref.removeprefix("sha256:")]
    assert isinstance(raw, dict)
    assert raw["object"] == "chat.completion"


def test_versions_service_and_environment_come_from_the_resource() -> None:
    run = captured_run("otel-genai-openai/content-span")

    assert run.versions == {
        "tool_definitions": (run.steps[1].fields["tool_definitions_hash"],),
        "service_version": "0.1.0+gitabc1234",
        "code_version": "abc1234",
        "code_version_source": "service.version",
    }
    assert run.env == "lab"
    assert run.conversation_id == "conv-0001"
    assert run.service["service.name"] == "weather-agent"
    assert isinstance(run.prompt_versions["fingerprints"], tuple)


@cache
def scene(name: str) -> tuple[tuple[object, ...], tuple[object, ...], Run]:
    spans, logs = capture(name)
    run_id, (members, events) = next(iter(group(spans, logs).items()))
    return members, events, assemble(members, events, run_id=run_id)


@pytest.mark.parametrize(
    "name",
    [
        "otel-genai-openai/content-both",
        "otel-genai-openai/multi-process",
        "otel-genai-openai/scenario-poll",
        "openinference-openai/scenario-badargs",
    ],
)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), extra=st.integers(0, 6))
def test_order_grouping_and_repetition_of_arrival_change_nothing(name: str, seed: int, extra: int) -> None:
    spans, logs, expected = scene(name)
    rng = random.Random(seed)
    shuffled, events = list(spans), list(logs)
    shuffled += [rng.choice(spans) for _ in range(extra)]
    events += [rng.choice(logs) for _ in range(extra if logs else 0)]
    rng.shuffle(shuffled)
    rng.shuffle(events)

    ((run_id, (members, found)),) = group(shuffled, events).items()  # type: ignore[arg-type]

    assert assemble(members, found, run_id=run_id) == expected


def test_synthesised_steps_do_not_depend_on_the_order_of_arrival_either() -> None:
    spans, _ = capture("openinference-openai/content-on")
    models = [one for one in spans if "execute_tool" not in one.name]

    first, second = assemble(models), assemble(models[::-1])

    assert first == second
    assert [step.synthesised for step in of_kind(first, "tool")] == [True, True, True]


def test_a_lone_model_call_is_a_run_of_one_step() -> None:
    (run,) = runs_of(spans_of(llm("00000000000000b1", "", [msg("user", "hi")], [msg("assistant", "hello")])))

    assert [step.kind for step in run.steps] == ["llm"]
    assert (run.run_id, run.agent_id, run.replayable) == (TID, "case", "full")
    assert (run.value(run.user_input), run.value(run.final_output)) == ("hi", "hello")


def test_a_run_whose_root_has_not_come_is_open_until_it_is_quiet() -> None:
    spans = spans_of(llm("00000000000000b1", "00000000000000a0", [msg("user", "hi")], [msg("assistant", "hello")]))

    waiting, over = assemble(spans, quiet=False), assemble(spans, quiet=True)

    assert (waiting.open, waiting.outcome) == (True, "ok")
    assert (over.open, over.outcome) == (False, "aborted")


def test_a_run_with_its_root_is_not_open_before_it_is_quiet_either() -> None:
    spans = spans_of(agent(), llm("00000000000000b1", "00000000000000a0", [msg("user", "hi")], [msg("assistant", "x")]))

    assert assemble(spans, quiet=False).open is False


def test_a_named_run_below_another_ones_span_has_its_root_when_its_agent_is_there() -> None:
    attributes: dict[str, Value] = {"gen_ai.operation.name": "invoke_agent", keys.RUN_ID: "run-2"}
    root = make_span(attributes, parent_id="00000000000000ff")

    run = assemble([root], quiet=False)

    assert (run.run_id, run.open) == ("run-2", False)


def test_a_retrieval_is_a_step_with_query_and_documents() -> None:
    attributes = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "kb",
        "gen_ai.retrieval.query.text": "opening hours",
        "gen_ai.retrieval.top_k": 2,
        "gen_ai.retrieval.documents": '[{"id": "d1", "score": 0.9, "content": "9 to 5"}]',
        keys.INDEX_VERSION: "e5",
    }
    spans = spans_of(agent(), span("retrieval kb", "00000000000000c1", "00000000000000a0", attrs=attributes))

    (run,) = runs_of(spans)

    (step,) = of_kind(run, "retrieval")
    assert run.value(step.input) == "opening hours"
    assert run.value(step.output) == ({"id": "d1", "score": 0.9, "content": "9 to 5"},)
    assert (step.name, step.fields["index_version"], step.fields["top_k"]) == ("kb", "e5", 2)
    assert run.replayable == "full"


def test_structural_spans_keep_the_tree_and_are_no_steps() -> None:
    spans = spans_of(
        agent(),
        span("middleware", "00000000000000d1", "00000000000000a0"),
        llm("00000000000000b1", "00000000000000d1", [msg("user", "hi")], [msg("assistant", "hello")]),
    )

    (run,) = runs_of(spans)

    assert [(step.kind, step.parent) for step in run.steps] == [("agent", None), ("llm", 0)]


def test_content_without_value_has_a_ref_without_hash() -> None:
    run = captured_run("otel-genai-openai/content-off")

    assert of_kind(run, "llm")[0].input == Ref()
    assert captured_run("otel-genai-openai/upload-hook").steps[1].input.state == "external"


def test_a_cut_value_is_kept_as_text_with_its_state() -> None:
    run = captured_run("otel-genai-openai/truncated-200")
    step = of_kind(run, "llm")[0]

    assert (step.input.state, step.output.state) == ("cut", "cut")
    assert str(run.value(step.input)).endswith("(dana.")
    assert of_kind(run, "tool")[2].output.state == "cut"


def test_bad_clocks_neither_stretch_the_run_nor_fail() -> None:
    back = span("x", "00000000000000c1", "00000000000000a0", at=100, ms=-40)
    far = span("x", "00000000000000c4", "00000000000000a0")
    far.start_time_unix_nano = far.end_time_unix_nano = 2**64 - 1
    old = span("x", "00000000000000c5", "00000000000000a0")
    old.start_time_unix_nano = old.end_time_unix_nano = 1
    early = tool("00000000000000c6", "00000000000000a0", "ping", {}, "ok", at=-5000)
    same = [tool(f"00000000000000d{i}", "00000000000000a0", "t", {"i": i}, str(i), id=f"c{i}", at=20) for i in range(3)]

    (run,) = runs_of(spans_of(agent(), back, far, old, early, *same))

    assert (run.started_ns, run.ended_ns) == (T0, T0 + 1_000_000_000)
    assert [step.name for step in run.steps] == ["demo", "ping", "t", "t", "t"]
    assert [run.value(step.output) for step in run.steps[2:]] == ["0", "1", "2"]
    assert all(step.end_ns >= step.start_ns for step in run.steps)


def test_a_log_event_of_an_unknown_span_changes_no_step() -> None:
    spans, logs = capture("otel-genai-openai/content-event")
    stray = make_log({"gen_ai.input.messages": ()}, "00000000000000ff", trace_id=spans[0].key.trace_id)

    (run,) = runs_of(spans, (*logs, stray))

    assert run.replayable == "full"


def test_a_run_needs_a_span() -> None:
    with pytest.raises(ValueError, match="at least one span"):
        assemble([])


def test_the_result_that_only_the_next_request_holds_is_the_tools_result() -> None:
    asked = msg("assistant", call("f", {"a": 1}, "c1"))
    bare = span(
        "execute_tool f",
        "00000000000000c1",
        "00000000000000a0",
        at=20,
        attrs={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c1"},
    )
    (run,) = runs_of(
        spans_of(
            agent(),
            llm("00000000000000b1", "00000000000000a0", [msg("user", "hi")], [asked]),
            bare,
            llm(
                "00000000000000b2",
                "00000000000000a0",
                [msg("user", "hi"), asked, msg("tool", answer("done", "c1"))],
                [msg("assistant", "ok")],
                at=40,
            ),
        )
    )

    (step,) = of_kind(run, "tool")
    assert (run.value(step.input), run.value(step.output)) == ({"a": 1}, "done")
    assert (step.fields["input_source"], step.fields["output_source"]) == ("model_call", "next_model_call")
    assert (step.synthesised, run.replayable) == (False, "full")
