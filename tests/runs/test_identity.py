from otlp_build import ROOT, TID, agent, llm, msg, span
from runreel.runs.assemble import assemble
from runreel.runs.identity import group, is_step
from runreel.semconv import keys
from runreel.semconv.recognise import recognise
from runreel.values import Value
from span_kit import make_link, make_log, make_span, runs_of, spans_of

T2 = "11111111111111111111111111111111"
T3 = "22222222222222222222222222222222"
AGENT: dict[str, Value] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "demo"}


def test_a_trace_is_a_run_where_nobody_says_otherwise() -> None:
    spans = spans_of(agent(), agent(sid="00000000000000a5", tid=T2))

    assert set(group(spans)) == {TID, T2}


def test_a_trace_without_a_step_is_no_run() -> None:
    assert group(spans_of(span("GET /", "00000000000000c1"))) == {}
    assert not is_step(make_span({"http.route": "/"}))


def test_a_span_belongs_to_the_run_that_it_or_its_nearest_ancestor_names() -> None:
    outer = make_span(AGENT | {keys.RUN_ID: "outer"}, span_id="00000000000000a1")
    inner = make_span(AGENT | {keys.RUN_ID: "inner"}, span_id="00000000000000a2", parent_id="00000000000000a1")
    below = make_span(AGENT, span_id="00000000000000a3", parent_id="00000000000000a2")

    found = group([below, inner, outer])

    assert {run: [one.key.span_id[-2:] for one in spans] for run, (spans, _) in found.items()} == {
        "inner": ["a3", "a2"],
        "outer": ["a1"],
    }


def test_the_only_run_named_in_a_trace_takes_all_of_it() -> None:
    server = make_span({"http.route": "/chat"}, span_id="00000000000000a0")
    named = make_span(AGENT | {keys.RUN_ID: "run-1"}, span_id="00000000000000a1", parent_id="00000000000000a0")

    ((run_id, (spans, _)),) = group([server, named]).items()

    assert (run_id, len(spans)) == ("run-1", 2)


def test_one_run_may_span_several_traces() -> None:
    spans = [make_span(AGENT | {keys.RUN_ID: "run-1"}, trace_id=trace) for trace in (TID, T2)]

    ((run_id, _),) = group(spans).items()
    (run,) = runs_of(spans)

    assert run_id == run.run_id == "run-1"
    assert set(run.trace_ids) == {TID, T2}


def test_a_process_may_name_its_run_on_the_resource() -> None:
    spans = [make_span(AGENT, resource={keys.RUN_ID: "run-1"})]

    assert set(group(spans)) == {"run-1"}


def test_log_events_follow_their_span_else_their_trace_else_nothing() -> None:
    span_ = make_span(AGENT | {keys.RUN_ID: "run-1"})
    own, stray = make_log({}), make_log({}, "00000000000000ff")
    lost = make_log({}, "", trace_id="")
    other = make_log({}, trace_id=T3)

    assert group([span_], [own, stray, lost, other])["run-1"][1] == (own, stray)


def test_a_circle_of_parents_does_not_hang() -> None:
    one = make_span(AGENT, span_id="00000000000000a1", parent_id="00000000000000a2")
    two = make_span(AGENT, span_id="00000000000000a2", parent_id="00000000000000a1")
    self_ = make_span(AGENT, span_id="00000000000000a3", parent_id="00000000000000a3")

    (run,) = runs_of([one, two, self_])

    assert len(run.steps) == 3
    assert sorted(step.parent is None for step in run.steps) == [False, True, True]


def test_linked_and_named_children_are_runs_of_their_own_with_their_parent() -> None:
    parent = spans_of(agent(ms=5000), res={"service.name": "orchestrator"})
    child = spans_of(agent(sid="00000000000000a5", parent=ROOT, at=100), res={"service.name": "child-a"})
    linked = make_span(AGENT, trace_id=T2, links=(make_link(TID, ROOT, link__kind="handoff"),))
    loose = make_span(AGENT | {"parent_run_id": TID}, trace_id=T3)

    for order in ([linked, loose, *child, *parent], [*parent, *child, loose, linked]):
        runs = {run.run_id: run for run in runs_of(order)}

        assert set(runs) == {TID, T2, T3}
        assert len(runs[TID].steps) == 2
        assert runs[TID].agent_id == "demo"
        assert (runs[T2].parent_run_id, runs[T2].parent_relation) == (TID, "handoff")
        assert (runs[T3].parent_run_id, runs[T3].parent_relation) == (TID, "sub_agent")


def test_a_link_into_the_runs_own_trace_or_without_a_known_kind_names_no_parent() -> None:
    loop = make_span(AGENT, trace_id=T2, links=(make_link(T2, "00000000000000a8", link__kind="handoff"),))
    batch = make_span(AGENT, trace_id=T3, links=(make_link(TID, ROOT), make_link(TID, ROOT, link__kind="batch")))

    assert [run.parent_run_id for run in runs_of([loop, batch])] == [None, None]


def test_our_own_link_kind_and_run_id_on_a_link_win() -> None:
    link = make_link(TID, ROOT, replay__link__kind="retry", link__kind="handoff", replay__run__id="run-0")

    (run,) = runs_of([make_span(AGENT, trace_id=T2, links=(link,))])

    assert (run.parent_run_id, run.parent_relation) == ("run-0", "retry")


def test_a_link_to_a_trace_that_never_comes_stays_a_reference() -> None:
    (run,) = runs_of([make_span(AGENT, links=(make_link(T3, ROOT, link__kind="sub_agent"),))])

    assert (run.parent_run_id, run.replayable) == (T3, "none")


def test_a_lone_model_call_makes_a_run() -> None:
    assert set(group(spans_of(llm("00000000000000b1", "", [msg("user", "q")], [msg("assistant", "a")])))) == {TID}


def test_a_framework_that_names_the_run_on_its_root_span_names_it() -> None:
    call = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.call.id": "call-1"}
    nested = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.call.id": "call-2"}
    root = make_span(call, span_id="00000000000000a0")
    inner = make_span(nested, span_id="00000000000000a1", parent_id="00000000000000a0")

    assert set(group((root, inner))) == {"call-1"}
    assert [recognise(span).run_hint for span in (root, inner)] == ["call-1", ""]
    assert assemble((inner, root)).run_id == "call-1"


def test_below_another_span_or_beside_a_name_of_ours_the_frameworks_id_names_nothing() -> None:
    call = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.call.id": "call-1"}

    assert set(group((make_span(call, parent_id="00000000000000ff"),))) == {TID}
    assert set(group((make_span(call | {keys.RUN_ID: "ours"}),))) == {"ours"}
    assert recognise(make_span(call | {keys.RUN_ID: "ours"})).run_hint == "ours"
