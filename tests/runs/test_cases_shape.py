"""Failures from the field: clocks that cannot be (C10), streams left half-way (C14), runs over processes (C16)."""

import itertools

import pytest

from case_kit import run_from, runs_from, store
from otlp_build import ROOT, T0, TID, agent, call, kv, llm, msg, req, span, tool
from runreel.replay.tape import build
from runreel.replay.values import Streamed
from runreel.runs.document import run_document
from runreel.storage import RunQuery
from span_kit import counts, of_kind

T2, T3 = "11111111111111111111111111111111", "22222222222222222222222222222222"
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}


# --- C10: clocks ---


def timed(span_id: str, start_ns: int, end_ns: int) -> object:
    made = span("x", span_id, ROOT, attrs=TOOL)
    made.start_time_unix_nano, made.end_time_unix_nano = start_ns, end_ns
    return made


@pytest.mark.parametrize(
    ("start_ns", "end_ns"),
    [
        (T0 + 100_000_000, T0 + 60_000_000),
        (T0, T0),
        (T0, 0),
        (2**64 - 1, 2**64 - 1),
        (1, 1),
        (0, 0),
        (T0, 2**64 - 1),
        (0, T0),
    ],
    ids=["back", "zero", "no end", "2554", "1970", "never", "endless", "no start"],
)
def test_a_time_that_cannot_be_is_kept_and_stretches_nothing(start_ns: int, end_ns: int) -> None:
    runs, memory = store(req(agent(), timed("00000000000000c1", start_ns, end_ns)))
    (summary,) = runs.runs(RunQuery())
    run = runs.run("default", TID)
    (step,) = of_kind(run, "tool")

    (raw,) = [row.span for row in memory.rows("default", [TID])[0] if row.span.key.span_id == "00000000000000c1"]
    assert (raw.start_ns, raw.end_ns) == (start_ns, end_ns)
    assert step.start_ns <= step.end_ns
    assert (run.started_ns, run.ended_ns) == (summary.started_ns, summary.ended_ns) == (T0, T0 + 1_000_000_000)
    assert run_document(run)["steps"][step.seq]["start_ns"] == start_ns


def test_odd_times_alone_are_a_run_too() -> None:
    for start_ns, end_ns in ((2**64 - 1, 2**64 - 1), (0, 0), (1, 0)):
        assert len(runs_from(req(timed("00000000000000c1", start_ns, end_ns)))) == 1


def test_a_child_of_another_host_that_starts_before_its_parent_stands_after_it() -> None:
    run = run_from(tool("00000000000000c6", ROOT, "ping", {}, "ok", at=-5000), agent())

    assert [step.kind for step in run.steps] == ["agent", "tool"]


def test_steps_of_equal_time_have_one_order_however_they_come() -> None:
    same = [tool(f"00000000000000d{i}", ROOT, "t", {"i": i}, str(i), id=f"call_{i}", at=20) for i in range(3)]

    for order in itertools.permutations(same):
        run = run_from(*order, agent())
        assert [step.call_id for step in run.steps] == ["", "call_0", "call_1", "call_2"]


# --- C14: a stream left half-way ---


def left(reasons: list[str] | None, **more: object) -> object:
    said = [msg("assistant", call("get_weather", '{"city": "Lisb'), **({"finish_reason": "error"} if reasons else {}))]
    made = llm("00000000000000b1", ROOT, [msg("user", "q")], said, **{"gen_ai.request.stream": True, **more})
    if reasons:
        made.attributes.append(kv("gen_ai.response.finish_reasons", reasons))
    for key in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"):
        made.attributes.remove(next(one for one in made.attributes if one.key == key))
    return made


@pytest.mark.parametrize("reasons", [["error"], None])
def test_a_stream_left_half_way_is_an_interrupted_call_and_replays_as_one(reasons: list[str] | None) -> None:
    run = run_from(agent(), left(reasons))
    (step,) = of_kind(run, "llm")

    assert (step.status, step.fields["usage"], counts(run)) == ("interrupted", None, (1, 0))
    assert "decision" not in step.fields
    (entry,) = build(run).entries
    assert isinstance(entry.answer, Streamed)
    assert entry.answer.interrupted
    assert '{"city": "Lisb' in str(entry.answer.value)


def test_a_stream_that_ended_is_none_and_a_failed_one_is_an_error() -> None:
    ended = run_from(agent(), left(["tool_calls"]))
    failed = run_from(agent(), left(None, **{"error.type": "ReadTimeout"}))

    assert of_kind(ended, "llm")[0].status == "ok"
    assert of_kind(failed, "llm")[0].status == "error"


def test_a_tool_below_a_model_call_that_never_came_is_kept_and_the_call_is_missed() -> None:
    never = tool("00000000000000c1", "00000000000000b9", "get_weather", {"city": "Lisbon"}, "21.5", at=20)

    run = run_from(agent(), llm("00000000000000b2", ROOT, [msg("user", "q")], [msg("assistant", "a")]), never)

    (step,) = of_kind(run, "tool")
    causes = [(gap.step, gap.cause.partition(":")[0]) for gap in run.gaps]
    assert (step.seq, "missing_parent") in causes
    assert (step.seq, "missing_model_call") in causes
    assert run.replayable != "full"


# --- C16: sub-agents in other processes ---


def requests() -> list[object]:
    def conversation(**more: object) -> dict[str, object]:
        return {"gen_ai.conversation.id": "conv-1", **more}

    parent = req(agent(ms=5000, **conversation()), res={"service.name": "orchestrator"})
    below = agent(sid="00000000000000a5", parent=ROOT, at=100, **conversation())
    child = req(below, res={"service.name": "child-a", "service.version": "7"})
    linked = agent(sid="00000000000000a6", tid=T2, at=200, **conversation())
    linked.links.add(trace_id=bytes.fromhex(TID), span_id=bytes.fromhex(ROOT))
    linked.links[0].attributes.append(kv("link.kind", "handoff"))
    loose = agent(sid="00000000000000a7", tid=T3, at=300, **conversation(parent_run_id=TID))
    return [
        req(linked, res={"service.name": "child-b"}),
        req(loose, res={"service.name": "child-c"}),
        child,
        parent,
    ]


def test_sub_agents_join_their_parent_by_trace_link_or_name_whatever_comes_first() -> None:
    first = runs_from(*requests())

    for order in itertools.permutations(requests()):
        runs = runs_from(*order)

        assert set(runs) == {TID, T2, T3}
        assert [step.kind for step in runs[TID].steps] == ["agent", "agent"]
        assert [step.fields.get("process") for step in runs[TID].steps] == [None, {"service.name": "child-a"}]
        assert (runs[T2].parent_run_id, runs[T2].parent_relation) == (TID, "handoff")
        assert (runs[T3].parent_run_id, runs[T3].parent_relation) == (TID, "sub_agent")
        assert {run.conversation_id for run in runs.values()} == {"conv-1"}
        assert runs == first


def test_a_sub_agents_span_keeps_its_own_service() -> None:
    _, memory = store(*requests())
    rows, _ = memory.rows("default", [TID])

    assert {row.span.resource.attributes["service.name"] for row in rows} == {"orchestrator", "child-a"}


def test_a_link_to_nowhere_dangles_and_a_loop_of_links_ends() -> None:
    loops = []
    for trace_id, other in ((T2, T3), (T3, T2)):
        made = agent(sid="00000000000000a8", tid=trace_id)
        made.links.add(trace_id=bytes.fromhex(other), span_id=bytes.fromhex("00000000000000a8"))
        made.links[0].attributes.append(kv("link.kind", "retry"))
        loops.append(made)
    own = agent()
    own.links.add(trace_id=bytes.fromhex(TID), span_id=bytes.fromhex(ROOT))
    own.links[0].attributes.append(kv("link.kind", "handoff"))

    runs = runs_from(req(*loops, own))

    assert {name: run.parent_run_id for name, run in runs.items()} == {T2: T3, T3: T2, TID: None}
    (alone,) = runs_from(req(loops[0])).values()
    assert (alone.parent_run_id, alone.parent_relation) == (T3, "retry")
