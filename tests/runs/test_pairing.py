import pytest

from otlp_build import ROOT, agent, answer, call, llm, msg, span, tool
from runreel.values import Run, Step
from span_kit import captured_run, of_kind, runs_of, spans_of

B1, B2, B3 = "00000000000000b1", "00000000000000b2", "00000000000000b3"
C1, C2 = "00000000000000c1", "00000000000000c2"
USER = msg("user", "trip")


def run_of(*spans: object) -> Run:
    (run,) = runs_of(spans_of(agent(), *spans))
    return run


def pairings(run: Run) -> list[tuple[str, object, object]]:
    return [(step.call_id, step.fields.get("pairing"), step.fields.get("asked_by")) for step in of_kind(run, "tool")]


def search(sid: str, q: str, result: str, id: str, at: int) -> object:  # noqa: A002
    return tool(sid, ROOT, "search", {"q": q}, result, id=id, at=at)


ASKED = msg("assistant", call("search", {"q": "flights"}, "call_1"), call("search", {"q": "hotels"}, "call_2"))


def test_ids_that_the_model_gave_pair_first() -> None:
    run = run_of(
        llm(B1, ROOT, [USER], [ASKED]),
        search(C2, "hotels", "H1", "call_2", 20),
        search(C1, "flights", "F1", "call_1", 21),
    )

    assert pairings(run) == [("call_2", "call_id", 1), ("call_1", "call_id", 1)]


def test_without_ids_names_and_arguments_pair_and_say_so() -> None:
    run = run_of(
        llm(B1, ROOT, [USER], [ASKED]), search(C2, "hotels", "H1", "", 20), search(C1, "flights", "F1", "", 21)
    )

    assert pairings(run) == [("call_2", "inferred", 1), ("call_1", "inferred", 1)]
    assert run.gaps == tuple(gap for gap in run.gaps if gap.needed_for == "diagnose")


def test_twins_without_ids_are_ambiguous_and_the_run_says_so() -> None:
    twins = msg("assistant", call("roll", {}, "call_1"), call("roll", {}, "call_2"))

    run = run_of(
        llm(B1, ROOT, [USER], [twins]),
        tool(C1, ROOT, "roll", {}, "3", id="", at=20),
        tool(C2, ROOT, "roll", {}, "5", id="", at=21),
    )

    assert [how for _, how, _ in pairings(run)] == ["ambiguous", "ambiguous"]
    assert [gap.step for gap in run.gaps if gap.cause.startswith("ambiguous")] == [2, 3]


def test_twins_with_ids_are_clear() -> None:
    twins = msg("assistant", call("roll", {}, "call_1"), call("roll", {}, "call_2"))

    run = run_of(
        llm(B1, ROOT, [USER], [twins]),
        tool(C2, ROOT, "roll", {}, "5", id="call_2", at=20),
        tool(C1, ROOT, "roll", {}, "3", id="call_1", at=21),
    )

    assert pairings(run) == [("call_2", "call_id", 1), ("call_1", "call_id", 1)]


def test_an_id_used_at_every_turn_pairs_turn_by_turn() -> None:
    def turn(sid: str, n: int) -> object:
        history = [USER, *[one for k in range(n) for one in (ask(k), msg("tool", answer(f"r{k}", "call_1")))]]
        return llm(sid, ROOT, history, [ask(n)], at=n * 100)

    def ask(n: int) -> dict[str, object]:
        return msg("assistant", call("poll", {"n": n} if n < 2 else {}, "call_1"))

    run = run_of(
        turn(B1, 0),
        tool(C1, ROOT, "poll", {"n": 0}, "r0", id="call_1", at=50),
        turn(B2, 1),
        tool(C2, ROOT, "poll", {"n": 1}, "r1", id="call_1", at=150),
    )

    assert [step.fields["asked_by"] for step in of_kind(run, "tool")] == [1, 3]


def test_arguments_of_another_spelling_still_pair_by_name_and_order() -> None:
    run = run_of(
        llm(B1, ROOT, [USER], [msg("assistant", call("search", {"q": "flights"}, "call_1"))]),
        tool(C1, ROOT, "search", "{'q': 'flights'}", "F1", id="", at=20),
    )

    assert pairings(run) == [("call_1", "inferred", 1)]
    assert run.value(of_kind(run, "tool")[0].input) == "{'q': 'flights'}"


def test_a_tool_that_the_code_called_by_itself_was_asked_for_by_nobody() -> None:
    run = run_of(
        tool(C1, ROOT, "load_profile", {"id": 1}, "x", id="", at=0),
        llm(B1, ROOT, [USER], [msg("assistant", call("search", {"q": "a"}, "call_1"))], at=20),
    )

    assert pairings(run) == [("", None, None)]


def test_a_turn_inside_a_tool_did_not_ask_for_that_tool() -> None:
    run = run_of(
        tool(C1, ROOT, "delegate", {}, "x", id="", at=30),
        llm(B1, C1, [USER], [msg("assistant", call("delegate", {}, "call_1"))], at=0),
    )

    assert pairings(run) == [("", None, None)]
    assert [step.kind for step in run.steps] == ["agent", "tool", "llm"]


def test_an_interrupted_answer_asked_for_nothing() -> None:
    partial = llm(
        B1,
        ROOT,
        [USER],
        [msg("assistant", call("search", '{"q": "fli', "call_1"), finish_reason="error")],
        **{"gen_ai.response.finish_reasons": ["error"], "gen_ai.request.stream": True},
    )
    for key in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"):
        partial.attributes.remove(next(one for one in partial.attributes if one.key == key))

    run = run_of(partial, search(C1, "flights", "F1", "call_1", 20))

    assert pairings(run) == [("call_1", None, None)]


@pytest.mark.parametrize("arguments", ['{"city": "Lis', "", "null", "[1,2]"])
def test_broken_arguments_pair_by_their_text(arguments: str) -> None:
    run = run_of(
        llm(B1, ROOT, [USER], [msg("assistant", call("q", '{"other": 1}', "x"), call("q", arguments, "y"))]),
        tool(C1, ROOT, "q", arguments, "error", id="", at=20),
    )

    assert pairings(run)[0][:2] == ("y", "inferred")


def test_the_order_of_parallel_answers_in_a_real_run() -> None:
    run = captured_run("otel-genai-openai/content-span")
    llms, tools = of_kind(run, "llm"), of_kind(run, "tool")

    assert [step.fields["asked_by"] for step in tools] == [llms[0].seq, llms[0].seq, llms[1].seq]


def only_tool(run: Run) -> Step:
    (step,) = of_kind(run, "tool")
    return step


def told(result: str, said: str, cut: bool = True) -> Run:
    asked = msg("assistant", call("read", {"p": "a"}, "call_1"))
    return run_of(
        llm(B1, ROOT, [USER], [asked]),
        tool(C1, ROOT, "read", {"p": "a"}, result, at=20),
        llm(B2, ROOT, [USER, asked, msg("tool", answer(said))], [msg("assistant", "ok")], at=40),
    )


def test_a_result_that_the_tool_itself_cut_is_whole_since_the_model_was_told_just_that() -> None:
    text = "first part... [truncated, original 11534336 bytes]"
    run = told(text, text)

    assert only_tool(run).output.state == "whole"
    assert "output_source" not in only_tool(run).fields
    assert run.replayable == "full"


def test_a_result_that_the_sender_cut_is_taken_from_the_next_request() -> None:
    run = told("first part... [truncated, original 40 bytes]", "first part and all the rest of it")

    assert run.value(only_tool(run).output) == "first part and all the rest of it"
    assert only_tool(run).fields["output_source"] == "next_model_call"


def test_an_empty_result_gives_way_to_what_the_model_was_told() -> None:
    asked = msg("assistant", call("f", {}, "call_1"))
    turn, later = llm(B1, ROOT, [USER], [asked]), [USER, asked, msg("tool", answer("22 degrees", "call_1"))]
    empty = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.id": "call_1"}
    called = span("execute_tool f", C1, ROOT, at=20, attrs={**empty, "gen_ai.tool.call.result": None})

    alone, told = run_of(turn, called), run_of(turn, called, llm(B2, ROOT, later, [msg("assistant", "ok")], at=50))

    assert (alone.value(only_tool(alone).output), only_tool(alone).output.state) == (None, "whole")
    assert told.value(only_tool(told).output) == "22 degrees"


def test_a_failed_tool_keeps_its_error_and_takes_no_result() -> None:
    asked = msg("assistant", call("f", {}, "call_1"))
    failed = span(
        "execute_tool f",
        C1,
        ROOT,
        at=20,
        attrs={"gen_ai.tool.name": "f", "gen_ai.tool.call.id": "call_1", "error.type": "ValueError"},
    )
    run = run_of(
        llm(B1, ROOT, [USER], [asked]),
        failed,
        llm(B2, ROOT, [USER, asked, msg("tool", answer("Error!"))], [msg("assistant", "ok")], at=40),
    )

    step = only_tool(run)
    assert (step.status, step.output.state) == ("error", "absent")
    assert step.error is not None
    assert step.error.type == "ValueError"
    assert run.replayable == "full"


def test_the_one_argument_without_its_name_is_given_its_name_back() -> None:
    asked = llm(
        "00000000000000b1", ROOT, [msg("user", "?")], [msg("assistant", call("get_weather", {"city": "Oslo"}, "c1"))]
    )
    named = tool("00000000000000c1", ROOT, "get_weather", "Oslo", "-3", id="c1", at=40)
    other = tool("00000000000000c1", ROOT, "get_weather", "Bergen", "-3", id="c1", at=40)

    inputs = [run.value(only_tool(run).input) for run in (run_of(asked, one) for one in (named, other))]

    assert inputs == [{"city": "Oslo"}, "Bergen"]
