import pytest

from otlp_build import ROOT, agent, answer, call, llm, msg, span, tool
from runreel.replay.tape import build
from runreel.values import Run, Step, Value
from span_kit import captured_run, counts, make_span, of_kind, runs_of, spans_of

ASKED = msg("user", "q")
PIECE = {"gen_ai.operation.name": "invoke_agent"}


def one_call(name: str, arguments: dict[str, Value], *more: object, result: Value = "ok", **attrs: Value) -> Run:
    """A model asks for one tool, which runs, and answers."""
    asked = msg("assistant", call(name, arguments, "c1"))
    (run,) = runs_of(
        spans_of(
            agent(),
            llm("00000000000000b1", ROOT, [ASKED], [asked]),
            tool("00000000000000c1", ROOT, name, arguments, result, id="c1", at=20, **attrs),
            llm(
                "00000000000000b2",
                ROOT,
                [ASKED, asked, msg("tool", answer(result, "c1"))],
                [msg("assistant", "done")],
                at=60,
            ),
            *more,
        )
    )
    return run


def chosen(run: Run, step: Step) -> tuple[Value, Value]:
    return step.fields.get("type"), run.value(step.output)


def test_a_hand_off_that_the_framework_dresses_up_as_a_tool_is_a_decision() -> None:
    other = span("invoke_agent", "00000000000000a2", ROOT, at=40, attrs=PIECE | {"gen_ai.agent.name": "Refund Desk"})

    run = one_call("transfer_to_refund_desk", {}, other)

    (step,) = of_kind(run, "decision")
    assert counts(run) == (2, 0)
    assert chosen(run, step) == ("handoff", "Refund Desk")
    assert of_kind(run, "llm")[0].fields["decision"] == {"type": "handoff", "chosen": ("transfer_to_refund_desk",)}


def test_a_tool_with_such_a_name_and_no_agent_behind_it_stays_a_tool() -> None:
    run = one_call("transfer_to_savings", {"cents": 100})

    assert counts(run) == (2, 1)
    assert of_kind(run, "decision") == []


def test_adks_transfer_names_its_agent_in_the_arguments() -> None:
    other = span("invoke_agent", "00000000000000a2", ROOT, at=40, attrs=PIECE | {"gen_ai.agent.name": "desk"})

    assert counts(one_call("transfer_to_agent", {"agent_name": "desk"}, other)) == (2, 0)
    assert counts(one_call("transfer_to_agent", {"agent_name": "nobody"}, other)) == (2, 1)
    assert counts(one_call("transfer_to_agent", {"agent_name": 3}, other)) == (2, 1)


def test_a_hand_off_without_a_span_is_a_decision_too() -> None:
    run = captured_run("openai-agents/otel-genai-handoff")

    (step,) = of_kind(run, "decision")
    assert counts(run) == (3, 1)
    assert step.synthesised
    assert chosen(run, step) == ("handoff", "weather-agent")


def test_a_hand_off_span_takes_the_models_call_that_it_carries_out() -> None:
    run = captured_run("openai-agents/openinference-handoff")

    (step,) = of_kind(run, "decision")
    assert counts(run) == (3, 1)
    assert chosen(run, step) == ("handoff", "weather-agent")
    assert run.steps[int(str(step.fields["asked_by"]))].kind == "llm"


def test_the_final_answer_of_smolagents_is_no_tool_call() -> None:
    run = captured_run("smolagents/toolcalling")

    assert counts(run) == (3, 3)
    assert counts(one_call("final_answer", {"answer": "x"})) == (2, 1)


def test_a_span_that_sums_up_parallel_tools_is_no_step() -> None:
    summary = tool("00000000000000c9", ROOT, "(merged tools)", {}, "", id="", at=20)

    run = one_call("f", {"a": 1}, summary)

    assert counts(run) == (2, 1)
    assert "(merged tools)" not in [step.name for step in run.steps]


def test_a_router_leads_to_a_step_beside_it() -> None:
    def node(span_id: str, name: str, at: int, output: str) -> object:
        attrs = {"openinference.span.kind": "CHAIN", "output.value": output}
        return span(name, span_id, ROOT, at=at, ms=5, attrs=attrs)

    spans = spans_of(
        agent(),
        node("00000000000000a1", "should_continue", 10, "tools"),
        node("00000000000000a2", "tools", 20, "anything"),
        node("00000000000000a3", "should_continue", 30, "__end__"),
        node("00000000000000a4", "says", 40, "tools"),
        llm("00000000000000b1", ROOT, [ASKED], [msg("assistant", "a")]),
    )

    (run,) = runs_of(spans)

    routes = of_kind(run, "decision")
    assert [chosen(run, step) for step in routes] == [("route", "tools"), ("route", "__end__")]


@pytest.mark.parametrize(("operation", "type_"), [("handoff", "handoff"), ("goto", "route"), ("decide", "route")])
def test_decision_spans_of_the_conventions_have_a_type(operation: str, type_: str) -> None:
    (run,) = runs_of([make_span({"gen_ai.operation.name": operation})])

    assert run.steps[0].fields["type"] == type_


@pytest.mark.parametrize("type_", ["route", "handoff", "tool_choice", "retry", "give_up", "escalate"])
def test_whoever_names_a_decision_is_believed(type_: str) -> None:
    said: dict[str, Value] = {"replay.decision.type": type_, "replay.decision.chosen": "b"}
    said |= {"replay.decision.options": '["a", "b"]', "replay.decision.reason": "because"}

    (run,) = runs_of([make_span(said)])

    assert chosen(run, run.steps[0]) == (type_, "b")
    assert run.steps[0].fields["options"] == ("a", "b")
    assert run.steps[0].fields["reason"] == "because"


def test_each_answer_of_a_model_is_a_decision() -> None:
    run = captured_run("otel-genai-openai/content-span")

    assert [step.fields.get("decision") for step in of_kind(run, "llm")] == [
        {"type": "tool_choice", "chosen": ("get_weather", "get_weather")},
        {"type": "tool_choice", "chosen": ("lookup_customer",)},
        None,
    ]


def test_asking_again_for_what_failed_is_a_retry() -> None:
    run = captured_run("otel-genai-openai/scenario-badargs")

    assert [step.fields.get("decision") for step in of_kind(run, "llm")] == [
        {"type": "tool_choice", "chosen": ("get_weather",)},
        {"type": "retry", "chosen": ("get_weather",)},
        None,
    ]


def test_answering_after_nothing_but_failures_is_giving_up() -> None:
    run = one_call("f", {"a": 1}, result="no", **{"error.type": "Timeout"})

    assert of_kind(run, "llm")[1].fields["decision"] == {"type": "give_up"}


def test_decisions_are_nothing_that_a_replay_answers_for() -> None:
    run = captured_run("openai-agents/otel-genai-handoff")

    tape = build(run)

    assert [entry.name for entry in tape.entries if entry.kind == "tool"] == ["get_weather"]
    assert len(tape.entries) == 4
