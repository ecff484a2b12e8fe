from dataclasses import replace

from otlp_build import ROOT, agent, answer, call, llm, msg, tool
from runreel.runs.missing import missing_model_calls, missing_tool_calls
from runreel.values import Run
from span_kit import captured_run, runs_of, spans_of

B1, B2, B3 = "00000000000000b1", "00000000000000b2", "00000000000000b3"
USER = msg("user", "trip")
FIRST, SECOND = msg("assistant", call("f", {}, "c1")), msg("assistant", call("g", {}, "c2"))
TOLD_1, TOLD_2 = msg("tool", answer("F", "c1")), msg("tool", answer("G", "c2"))


def run_of(*spans: object) -> Run:
    (run,) = runs_of(spans_of(agent(), *spans))
    return run


TURN_1 = llm(B1, ROOT, [USER], [FIRST])
TURN_2 = llm(B2, ROOT, [USER, FIRST, TOLD_1], [SECOND], at=40)
TURN_3 = llm(B3, ROOT, [USER, FIRST, TOLD_1, SECOND, TOLD_2], [msg("assistant", "done")], at=80)


def test_a_turn_that_only_a_later_request_shows_is_missing() -> None:
    run = run_of(TURN_1, TURN_3)

    (gap,) = [gap for gap in run.gaps if gap.field == "model_call"]
    assert gap.cause == "missing_model_call: its request holds the tool call c2, which no recorded answer asked for"
    assert gap.needed_for == "frozen"
    assert run.replayable == "partial"


def test_a_run_with_all_its_turns_lacks_none() -> None:
    assert list(missing_model_calls(run_of(TURN_1, TURN_2, TURN_3))) == []
    assert list(missing_model_calls(captured_run("otel-genai-openai/content-span"))) == []


def test_history_from_before_the_run_is_no_missing_call() -> None:
    assert list(missing_model_calls(run_of(TURN_3))) == []


def test_where_answers_are_not_known_nothing_can_be_said() -> None:
    silent = llm(B2, ROOT, [USER, FIRST, TOLD_1], [], at=40)

    assert list(missing_model_calls(run_of(TURN_1, silent, TURN_3))) == []


def test_a_tool_call_below_a_span_that_never_came_and_that_nobody_asked_for() -> None:
    orphan = tool("00000000000000c1", "00000000000000b9", "get_weather", {"city": "Lisbon"}, "21.5", id="call_9")

    run = run_of(llm(B1, ROOT, [USER], [msg("assistant", "hm")]), orphan)

    assert {gap.field for gap in run.gaps if gap.needed_for == "frozen"} == {"model_call", "parent"}
    assert len([step for step in run.steps if step.kind == "tool"]) == 1
    assert run.replayable == "partial"


def test_an_answer_that_left_the_ids_out_is_known_by_the_names_of_its_calls() -> None:
    same, other = (llm(B2, ROOT, [USER, FIRST, TOLD_1], [msg("assistant", call(name, {}, ""))], at=40) for name in "gh")

    assert list(missing_model_calls(run_of(TURN_1, same, TURN_3))) == []
    assert len(list(missing_model_calls(run_of(TURN_1, other, TURN_3)))) == 1


SMOLAGENTS = "opentelemetry.instrumentation.genai.smolagents"
PROMPT = msg("system", "You write code.\ndef look_up(city: string) -> dict:\n    ...\ndef final_answer(answer: any):")


def told(run: Run) -> list[tuple[int | None, str]]:
    return [(gap.step, gap.needed_for) for gap in missing_tool_calls(run)]


def smolagents(*answered: object, scope: str = SMOLAGENTS, more: tuple[object, ...] = ()) -> Run:
    turn = llm(B1, ROOT, [PROMPT, USER], [msg("assistant", *answered)])
    spans = spans_of(agent(), turn, *more)
    (run,) = runs_of([replace(one, scope=replace(one.scope, name=scope)) for one in spans])
    return run


def test_a_tool_that_smolagents_called_and_its_instrumentation_left_out_is_missing() -> None:
    run = smolagents(call("look_up", {}, "c1"), call("final_answer", {}, "c2"))

    (gap,) = missing_tool_calls(run)
    assert gap.cause == "missing_tool_call: the model asked for look_up, and no span tells what came of it"
    assert "OpenInference" in gap.fix
    assert (gap.needed_for, run.replayable) == ("frozen", "none")


def test_a_tool_that_generated_code_calls_is_missing_as_well() -> None:
    assert told(smolagents("I look.\n<code>\nfinal_answer(look_up(city='Oslo'))\n</code>")) == [(1, "frozen")]
    assert told(smolagents("<code>\nfinal_answer(1 + 1)\n</code>")) == []


def test_calls_that_are_steps_and_instrumentations_that_record_them_lack_none() -> None:
    step = tool("00000000000000c1", ROOT, "look_up", {}, "F", at=40)

    assert told(smolagents(call("look_up", {}, "c1"), more=(step,))) == []
    assert told(smolagents(call("look_up", {}, "c1"), scope="something.else")) == []
