import itertools
from dataclasses import replace

import pytest

from otlp_build import ROOT, TID, agent, answer, call, llm, msg, span, tool
from runreel.runs.assemble import assemble
from runreel.runs.identity import group
from runreel.values import Run, Span, Value
from span_kit import capture, captured_run, counts, make_span, of_kind, runs_of, spans_of

T2 = "11111111111111111111111111111111"
T3 = "22222222222222222222222222222222"
HERE = {"service.name": "demo", "service.instance.id": "process-1"}


def model(text: str = "hello", asked: str = "hi", **more: Value) -> dict[str, Value]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m-1",
        "gen_ai.input.messages": ({"role": "user", "parts": ({"type": "text", "content": asked},)},),
        "gen_ai.output.messages": ({"role": "assistant", "parts": ({"type": "text", "content": text},)},),
        **more,
    }


def framework(resource: dict[str, str] | None = None, **more: Value) -> list[Span]:
    """An agent and its model call, as a framework's instrumentation sees them."""
    where = HERE if resource is None else resource
    root = make_span(
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "demo"},
        span_id="00000000000000a1",
        start_ns=1_000,
        end_ns=9_000,
        scope="framework",
        resource=where,
    )
    outer = make_span(
        model(**more),
        span_id="00000000000000b1",
        parent_id="00000000000000a1",
        start_ns=2_000,
        end_ns=8_000,
        scope="framework",
        resource=where,
    )
    return [root, outer]


def client(trace_id: str = T2, resource: dict[str, str] | None = None, **more: object) -> Span:
    """The same model call, as the instrumentation of the client sees it: a trace of its own."""
    known = {"start_ns": 3_000, "end_ns": 7_000, "scope": "client"} | {k: v for k, v in more.items() if "." not in k}
    return make_span(
        model(**{key: value for key, value in more.items() if "." in key}),  # type: ignore[arg-type]
        trace_id=trace_id,
        resource=HERE if resource is None else resource,
        **known,
    )


def test_a_run_that_two_instrumentations_tore_into_four_traces_is_one_run_of_three_model_calls() -> None:
    run = captured_run("langgraph/openinference-double")

    assert counts(run) == (3, 3)
    assert len(run.trace_ids) == 4
    assert run.replayable == "full"
    assert [step.fields["response_id"] is not None for step in of_kind(run, "llm")] == [True] * 3
    assert [run.steps[step.parent or 0].shadowed_by for step in of_kind(run, "llm")] == [
        step.seq for step in of_kind(run, "llm")
    ]


def test_the_torn_run_is_the_same_in_whatever_order_its_traces_come() -> None:
    spans, logs = capture("langgraph/openinference-double")
    traces: dict[str, list[Span]] = {}
    for one in spans:
        traces.setdefault(one.key.trace_id, []).append(one)

    shapes: list[Run] = []
    for order in itertools.permutations(traces.values()):
        (run,) = runs_of([one for members in order for one in members], logs)
        shapes.append(run)

    assert all(run == shapes[0] for run in shapes)


def test_a_clients_trace_with_the_same_answer_inside_the_frameworks_call_is_part_of_its_run() -> None:
    (run,) = runs_of([client(), *framework()])

    assert counts(run) == (1, 0)
    assert run.trace_ids == (TID, T2)
    (step,) = of_kind(run, "llm")
    assert step.keys[0].trace_id == T2


@pytest.mark.parametrize(
    "other",
    [
        client(resource={"service.name": "demo", "service.instance.id": "process-2"}),
        client(resource={"service.name": "demo"}),
        client(scope="framework"),
        client(start_ns=1_500),
        client(end_ns=8_500),
        client(**{"gen_ai.output.messages": "[]"}),
        client(**model("hello, again")),
        client(**model(asked="something else")),
    ],
    ids=[
        "another process",
        "no instance",
        "same scope",
        "before",
        "after",
        "no answer",
        "other answer",
        "other question",
    ],
)
def test_what_is_not_plainly_the_same_call_stays_a_run_of_its_own(other: Span) -> None:
    assert set(group([*framework(), other])) == {TID, T2}


def test_without_content_the_response_id_tells() -> None:
    bare = {"gen_ai.input.messages": None, "gen_ai.output.messages": None, "gen_ai.response.id": "r1"}

    assert set(group([*framework(**bare), client(**bare)])) == {TID}
    assert set(group([*framework(**bare), client(**{**bare, "gen_ai.response.id": "r2"})])) == {TID, T2}


def test_of_two_runs_around_a_call_the_closest_takes_it_and_each_call_counts_once() -> None:
    wide = [make_span(model(), trace_id=T3, start_ns=500, end_ns=9_500, scope="framework", resource=HERE)]

    runs = {run.run_id: run for run in runs_of([*wide, *framework(), client()])}

    assert set(runs) == {TID, T3}
    assert counts(runs[TID]) == counts(runs[T3]) == (1, 0)


def test_a_trace_with_steps_of_its_own_or_a_run_of_its_own_joins_nobody() -> None:
    named = client(**{"replay.run.id": "mine"})
    busy = [client(), make_span({"gen_ai.operation.name": "invoke_agent"}, trace_id=T2, span_id="00000000000000a9")]

    assert set(group([*framework(), named])) == {TID, "mine"}
    assert set(group([*framework(), *busy])) == {TID, T2}


def test_a_chain_of_lone_traces_ends_at_the_run_around_them_all() -> None:
    gateway = client(T3, scope="gateway", start_ns=4_000, end_ns=6_000)

    (run,) = runs_of([gateway, client(), *framework()])

    assert counts(run) == (1, 0)
    assert len(run.trace_ids) == 3


def test_spans_side_by_side_from_two_instrumentations_count_once() -> None:
    side = make_span(
        model(), span_id="00000000000000b2", parent_id="00000000000000a1", start_ns=2_100, end_ns=7_900, scope="client"
    )

    (run,) = runs_of([*framework(), side])

    assert counts(run) == (1, 0)


def beside(outer: dict[str, Value], inner: dict[str, Value], **fields: object) -> Run:
    """Two spans of one call, one in the other's time, both below the agent."""
    root, first = framework(**outer)
    below = {"trace_id": TID, "parent_id": "00000000000000a1", "span_id": "00000000000000b2"}
    second = make_span(inner, start_ns=3_000, end_ns=7_000, scope="client", resource=HERE, **below, **fields)
    return assemble([root, replace(first, status=second.status), second], [])


def test_of_spans_side_by_side_the_one_that_stands_has_the_others_content_too() -> None:
    bare = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.id": "r1"}

    run = beside({"gen_ai.response.id": "r1", "gen_ai.request.temperature": 0.5}, bare)

    (step,) = [one for one in run.steps if one.kind == "llm" and one.shadowed_by is None]
    assert step.keys[0].span_id == "00000000000000b2"
    assert (step.output.state, step.fields["params"]) == ("whole", {"temperature": 0.5})


def test_of_two_failures_side_by_side_the_one_without_content_is_the_others() -> None:
    failed = {"gen_ai.operation.name": "chat", "error.type": "not_found_error"}

    one = beside({"error.type": "NotFoundError"}, {**failed, "gen_ai.request.model": "m"}, status=2)
    two = beside({"error.type": "NotFoundError"}, {**failed, "gen_ai.request.model": "other"}, status=2)

    assert (counts(one), counts(two)) == ((1, 0), (2, 0))


def test_tool_spans_side_by_side_from_two_instrumentations_count_once() -> None:
    def ran(span_id: str, scope: str, start_ns: int, call_id: str, result: str = "x") -> Span:
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "f",
            "gen_ai.tool.call.arguments": '{"a": 1}',
            "gen_ai.tool.call.result": result,
            "gen_ai.tool.call.id": call_id,
        }
        return make_span(attributes, span_id=span_id, start_ns=start_ns, end_ns=start_ns + 1_000, scope=scope)

    first = ran("00000000000000c1", "framework", 1_000, "c1")
    assert counts(runs_of([first, ran("00000000000000c2", "client", 1_100, "c1")])[0]) == (0, 1)
    assert counts(runs_of([first, ran("00000000000000c2", "client", 1_100, "")])[0]) == (0, 1)
    assert counts(runs_of([first, ran("00000000000000c2", "client", 1_100, "c2")])[0]) == (0, 2)
    assert counts(runs_of([first, ran("00000000000000c2", "framework", 1_100, "")])[0]) == (0, 2)
    assert counts(runs_of([first, ran("00000000000000c2", "client", 5_000, "c1")])[0]) == (0, 2)
    assert counts(runs_of([first, ran("00000000000000c2", "client", 1_100, "", "y")])[0]) == (0, 2)


def test_the_callers_view_of_a_call_without_usage_counts_once_however_deep() -> None:
    bare = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    said = [msg("assistant", "hello")]
    spans = spans_of(
        agent(),
        span("call_llm", "00000000000000b1", ROOT, ms=40, attrs=bare),
        span("predict", "00000000000000b2", "00000000000000b1", at=1, ms=30, attrs=bare),
        llm("00000000000000b3", "00000000000000b2", [msg("user", "hi")], said, at=2, **{"gen_ai.request.model": "m"}),
    )

    (run,) = runs_of(spans)

    assert counts(run) == (1, 0)
    assert of_kind(run, "llm")[0].keys[0].span_id == "00000000000000b3"


def test_a_model_span_around_several_model_calls_is_their_sum_and_no_call() -> None:
    asked = [msg("user", "hi")]
    spans = spans_of(
        agent(),
        llm("00000000000000b1", ROOT, asked, [msg("assistant", "done")], **{"gen_ai.usage.input_tokens": 10}),
        llm("00000000000000b2", "00000000000000b1", asked, [msg("assistant", call("f", {}))], at=1),
        tool("00000000000000c1", "00000000000000b1", "f", {}, "x", at=30),
        llm(
            "00000000000000b3",
            "00000000000000b1",
            [*asked, msg("assistant", call("f", {})), msg("tool", answer("x", "call_1"))],
            [msg("assistant", "done")],
            at=50,
        ),
    )

    (run,) = runs_of(spans)

    assert counts(run) == (2, 1)


def test_a_sub_agents_call_inside_a_tool_is_a_call_beside_the_one_around_it() -> None:
    spans = spans_of(
        agent(),
        llm("00000000000000b1", ROOT, [msg("user", "q")], [msg("assistant", "a")]),
        tool("00000000000000c1", "00000000000000b1", "ask", {}, "x", at=1, id="c9"),
        span(
            "chat",
            "00000000000000b2",
            "00000000000000c1",
            at=2,
            ms=1,
            attrs={"gen_ai.operation.name": "chat"},
        ),
    )

    (run,) = runs_of(spans)

    assert counts(run)[0] == 2


def test_making_an_agent_is_no_run_alone_and_no_harm_in_one() -> None:
    made = make_span({"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "demo"})

    assert group([made]) == {}
    assert set(group([made, *framework()])) == {TID}
    assert counts(captured_run("langgraph/traceloop")) == (3, 3)
