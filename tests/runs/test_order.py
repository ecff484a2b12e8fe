from hypothesis import given, settings
from hypothesis import strategies as st

from otlp_build import ROOT, agent, answer, call, llm, msg, span, tool
from runreel.values import Run
from span_kit import captured_run, of_kind, runs_of, spans_of

B1, B2, C1, C2 = "00000000000000b1", "00000000000000b2", "00000000000000c1", "00000000000000c2"
USER = msg("user", "trip")
ASKED = msg("assistant", call("search", {"q": "flights"}, "call_1"), call("search", {"q": "hotels"}, "call_2"))
TOLD = [msg("tool", answer("F1", "call_1")), msg("tool", answer("H1", "call_2"))]


def names(run: Run) -> list[str]:
    return [f"{step.name}:{step.call_id}" if step.kind == "tool" else step.kind for step in run.steps]


def trip(first_at: int, second_at: int, last_at: int = 60) -> Run:
    (run,) = runs_of(
        spans_of(
            agent(),
            llm(B1, ROOT, [USER], [ASKED]),
            tool(C1, ROOT, "search", {"q": "flights"}, "F1", id="call_1", at=first_at),
            tool(C2, ROOT, "search", {"q": "hotels"}, "H1", id="call_2", at=second_at),
            llm(B2, ROOT, [USER, ASKED, *TOLD], [msg("assistant", "done")], at=last_at),
        )
    )
    return run


def test_steps_are_in_the_order_of_their_start() -> None:
    assert names(trip(21, 20)) == ["agent", "llm", "search:call_2", "search:call_1", "llm"]


def test_calls_of_one_answer_are_not_ordered_even_if_one_ended_before_the_other_began() -> None:
    run = trip(20, 40)

    assert names(run)[2:4] == ["search:call_1", "search:call_2"]
    assert [step.after for step in run.steps] == [frozenset(), frozenset(), {1}, {1}, {1, 2, 3}]


def test_an_answer_is_before_what_needs_it_even_if_clocks_say_otherwise() -> None:
    run = trip(-500, 30, last_at=5)

    assert names(run) == ["agent", "llm", "search:call_1", "search:call_2", "llm"]
    assert [step.after for step in run.steps] == [frozenset(), frozenset(), {1}, {1}, {1, 2, 3}]


def test_a_child_that_started_before_its_parent_stands_after_it() -> None:
    (run,) = runs_of(spans_of(agent(at=100), tool(C1, ROOT, "ping", {}, "ok", at=-5000)))

    assert names(run) == ["agent", "ping:call_1"]


def test_what_happens_inside_parallel_calls_is_not_ordered_either() -> None:
    inner_1, inner_2 = "00000000000000e1", "00000000000000e2"
    (run,) = runs_of(
        spans_of(
            agent(),
            llm(B1, ROOT, [USER], [ASKED]),
            tool(C1, ROOT, "search", {"q": "flights"}, "F1", id="call_1", at=20),
            tool(C2, ROOT, "search", {"q": "hotels"}, "H1", id="call_2", at=40),
            llm(inner_1, C1, [msg("user", "a")], [msg("assistant", "a")], at=20),
            llm(inner_2, C2, [msg("user", "b")], [msg("assistant", "b")], at=41),
        )
    )
    by_id = {step.keys[0].span_id: step for step in run.steps}

    assert by_id[inner_2].after == {by_id[B1].seq}
    assert by_id[C2].after == {by_id[B1].seq}


def test_turns_of_a_real_run_follow_each_other() -> None:
    run = captured_run("otel-genai-openai/scenario-poll")

    assert [step.kind for step in run.steps] == ["agent", "llm", "tool", "llm", "tool", "llm", "tool", "llm"]
    assert [sorted(step.after) for step in run.steps[1:]] == [list(range(1, seq)) for seq in range(1, 8)]


def test_what_never_ended_was_before_nothing() -> None:
    endless = span("execute_tool f", C1, ROOT, at=1, attrs={"gen_ai.tool.name": "f"})
    endless.end_time_unix_nano = 0

    (run,) = runs_of(spans_of(agent(), endless, tool(C2, ROOT, "g", {}, "ok", at=500)))

    assert [step.after for step in run.steps] == [frozenset(), frozenset(), frozenset()]


def test_steps_of_equal_time_keep_a_stable_order_by_the_senders_number_then_id() -> None:
    tools = [tool(f"00000000000000d{i}", ROOT, f"t{i}", {}, "ok", id=f"c{i}", at=20) for i in range(3)]
    numbered = [
        tool(f"00000000000000d{i}", ROOT, f"t{i}", {}, "ok", id=f"c{i}", at=20, **{"replay.seq": 9 - i})
        for i in range(3)
    ]

    (plain,), (given_,) = runs_of(spans_of(agent(), *reversed(tools))), runs_of(spans_of(agent(), *numbered))

    assert [step.name for step in plain.steps[1:]] == ["t0", "t1", "t2"]
    assert [step.name for step in given_.steps[1:]] == ["t2", "t1", "t0"]


def test_ids_used_twice_make_no_circle() -> None:
    asked = msg("assistant", call("poll", {}, "call_1"))
    told = msg("tool", answer("x", "call_1"))
    (run,) = runs_of(
        spans_of(
            agent(),
            llm(B1, ROOT, [USER], [asked]),
            tool(C1, ROOT, "poll", {}, "x", id="call_1", at=20),
            llm(B2, ROOT, [USER, asked, told], [asked], at=40),
            tool(C2, ROOT, "poll", {}, "y", id="call_1", at=60),
            llm("00000000000000b3", ROOT, [USER, asked, told, asked, told], [msg("assistant", "ok")], at=80),
        )
    )

    assert [step.kind for step in run.steps] == ["agent", "llm", "tool", "llm", "tool", "llm"]
    assert [step.fields["asked_by"] for step in of_kind(run, "tool")] == [1, 3]


def test_a_circle_of_causes_is_cut_and_every_step_is_kept() -> None:
    first, second = msg("assistant", call("f", {}, "c1")), msg("assistant", call("g", {}, "c2"))
    (run,) = runs_of(
        spans_of(
            agent(),
            llm(B1, ROOT, [USER, second, msg("tool", answer("G", "c2"))], [first]),
            llm(B2, ROOT, [USER, first, msg("tool", answer("F", "c1"))], [second], at=40),
        )
    )

    assert names(run) == ["agent", "llm", "f:c1", "llm", "g:c2"]
    assert all(earlier < step.seq for step in run.steps for earlier in step.after)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-50, 50), st.integers(-5, 30), st.integers(0, 8), st.sampled_from("ltr")),
        min_size=1,
        max_size=9,
    )
)
def test_causal_order_is_an_order_that_agrees_with_the_places_of_the_steps(
    shape: list[tuple[int, int, int, str]],
) -> None:
    spans = [agent(ms=50)]
    for index, (at, ms, parent, kind) in enumerate(shape):
        above = f"{0xA0 + parent:016x}" if parent <= index else ROOT
        sid = f"{0xA1 + index:016x}"
        operation = {"l": "chat", "t": "execute_tool", "r": "retrieval"}[kind]
        attrs = {"gen_ai.operation.name": operation, "gen_ai.tool.name": "t"}
        if kind == "l":
            attrs["gen_ai.output.messages"] = '[{"role": "assistant", "parts": [{"type": "tool_call", "name": "t"}]}]'
        spans.append(span("s", sid, above, at=at, ms=ms, attrs=attrs))
    (run,) = runs_of(spans_of(*spans))

    ancestors: dict[int, set[int]] = {}
    for step in run.steps:
        above_all = set() if step.parent is None else {step.parent, *ancestors[step.parent]}
        ancestors[step.seq] = above_all
        assert all(earlier < step.seq for earlier in step.after)
        assert not above_all & step.after
        assert step.parent is None or step.parent < step.seq
        for earlier in step.after:
            assert not (run.steps[earlier].after - step.after - above_all), "what a cause could see is seen"
