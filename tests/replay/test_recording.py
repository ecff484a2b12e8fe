"""What a replay recorded of itself has ids of its own, whatever the agent drew, set or was given."""

import hypothesis.strategies as st
from hypothesis import given

from otlp_build import ROOT, TID, agent, llm, log, logs_req, msg, req, tool
from recorded_runs import run_of
from runreel.otlp import encode
from runreel.replay.recording import new_run_id, recording, result
from runreel.replay.values import Divergence, Replayed
from runreel.runs.assemble import assemble
from runreel.runs.identity import group
from runreel.semconv import keys
from runreel.values import ReplayResult
from span_kit import make_link, make_log, make_span

RECORDED = run_of(tool("00000000000000c1", ROOT, "search", {"q": "tea"}, "x"))


def exported(*spans, **resource):
    return ("traces", "protobuf", req(*spans, **resource).SerializeToString())


def steps(at=0):
    return (
        agent(),
        llm("00000000000000b1", ROOT, [msg("user", "q")], [msg("assistant", "a")], at=at),
        tool("00000000000000c1", ROOT, "search", {"q": "tea"}, "x", at=at + 10),
    )


def test_two_replays_that_drew_the_same_ids_are_two_runs_and_neither_is_the_recorded_one():
    first, second = (recording([exported(*steps())], RECORDED, new_run_id(RECORDED.run_id)) for _ in range(2))

    traces = [{span.key.trace_id for span in one.spans} for one in (first, second)]
    assert TID not in traces[0] | traces[1]
    assert traces[0].isdisjoint(traces[1])
    assert first.run_id != second.run_id
    together = group([*first.spans, *second.spans])
    assert {name: len(spans) for name, (spans, _) in together.items()} == {first.run_id: 3, second.run_id: 3}
    assert all(span.attributes[keys.OF_RUN] == RECORDED.run_id for span in first.spans)


def test_an_agent_that_names_the_recorded_run_itself_does_not_get_into_it():
    named = [agent(**{keys.RUN_ID: RECORDED.run_id}), *steps()[1:]]

    for export in (exported(*named), exported(*steps(), res={keys.RUN_ID: RECORDED.run_id})):
        own = recording([export], RECORDED, "new")

        assert list(group(own.spans, own.logs)) == ["new"]
        said = [(one.attributes[keys.RUN_ID], one.resource.attributes.get(keys.RUN_ID)) for one in own.spans]
        assert {name for names in said for name in names} <= {"new", None}


def test_what_is_no_step_and_names_the_recorded_run_does_not_get_into_it_either():
    lone = make_span({keys.RUN_ID: RECORDED.run_id}, trace_id="9" * 32)
    event = make_log({keys.RUN_ID: RECORDED.run_id}, "", trace_id="8" * 32)
    exports = [
        exported(*steps()),
        ("traces", "protobuf", encode("traces", [lone], "protobuf")),
        ("logs", "protobuf", encode("logs", [event], "protobuf")),
    ]

    own = recording(exports, RECORDED, "new")

    assert {one.attributes.get(keys.RUN_ID) for one in (*own.spans, *own.logs)} == {"new"}
    assert {"9" * 32, "8" * 32}.isdisjoint(one.trace_id for one in own.logs)


def test_several_runs_of_one_replay_stay_apart_and_links_between_them_hold():
    other = "7" * 32
    nested = make_span(
        {"gen_ai.operation.name": "invoke_agent", keys.RUN_ID: "sub", keys.RUN_PARENT_ID: "outer"},
        trace_id=other,
        links=(make_link(TID, ROOT, **{keys.RUN_ID: "outer"}), make_link("5" * 32, ROOT)),
    )
    exports = [
        exported(agent(**{keys.RUN_ID: "outer"}), *steps()[1:]),
        ("traces", "protobuf", encode("traces", [nested], "protobuf")),
    ]

    own = recording(exports, RECORDED, "new")

    groups = group(own.spans)
    assert sorted(groups) == ["new", "new.2"]
    (inner,), (outer, *_) = groups["new.2"][0], groups["new"][0]
    assert inner.attributes[keys.RUN_PARENT_ID] == "new"
    assert [link.trace_id for link in inner.links] == [outer.key.trace_id, "5" * 32]
    assert inner.links[0].attributes[keys.RUN_ID] == "new"
    assert own.main[0] == groups["new"][0]


def test_the_run_that_the_recorder_named_is_the_one_that_is_compared_even_where_it_is_smaller():
    named = make_span({"gen_ai.operation.name": "invoke_agent", keys.RUN_ID: "told"}, trace_id="7" * 32)
    exports = [exported(*steps()), ("traces", "protobuf", encode("traces", [named], "protobuf"))]

    own = recording(exports, RECORDED, "new", told="told")

    assert [span.attributes[keys.RUN_ID] for span in own.main[0]] == ["new"]
    assert sorted(group(own.spans)) == ["new", "new.2"]


def test_log_events_follow_their_spans():
    spans = steps()[:2]
    logs = logs_req(log("gen_ai.client.inference.operation.details", "00000000000000b1"))
    own = recording([exported(*spans), ("logs", "protobuf", logs.SerializeToString())], RECORDED, "new")

    (event,) = own.main[1]
    assert (event.trace_id, event.span_id) == (own.spans[0].key.trace_id, "00000000000000b1")


def test_an_export_that_is_no_otlp_is_a_problem_and_the_rest_counts():
    own = recording([("traces", "protobuf", b"\xff\xff"), exported(*steps())], RECORDED, "new")

    assert len(own.problems) == 1
    assert "was not OTLP" in own.problems[0]
    assert len(own.main[0]) == 3


def test_an_agent_that_exported_nothing_has_nothing_to_store():
    own = recording([], RECORDED, "new")

    assert own.main == ((), ())
    assert own.batch(Replayed(RECORDED.run_id, "frozen", "same")) is None


def test_what_the_replay_came_to_is_stored_with_it():
    own = recording([exported(*steps())], RECORDED, "new")
    divergence = Divergence(
        "input_mismatch", kind="tool", name="search", recorded=2, path="/q", now="live", has_now=True
    )

    batch = own.batch(Replayed(RECORDED.run_id, "frozen", "diverged", (divergence, divergence)), "aborted")

    run = assemble(*group(batch.spans, batch.logs)["new"])
    first = {"type": "input_mismatch", "step": 2, "kind": "tool", "name": "search", "path": "/q"}
    assert run.replay_result == ReplayResult("frozen", "diverged", 2, first)
    assert (run.replay_of, run.outcome) == (RECORDED.run_id, "aborted")
    assert "live" not in repr(batch.logs)
    assert "tea" not in repr(own)


def test_a_divergence_without_a_place_says_its_type_alone():
    assert result(Replayed("r", "frozen", "diverged", (Divergence("network_attempt"),))).first == {
        "type": "network_attempt"
    }


@given(st.lists(st.sampled_from([None, "outer", "run-1", RECORDED.run_id]), min_size=1, max_size=6))
def test_whatever_names_spans_have_all_of_a_replay_is_under_names_of_its_own(names):
    spans = [
        make_span(
            {"gen_ai.operation.name": "chat", **({keys.RUN_ID: name} if name else {})},
            trace_id=f"{number % 2 + 1}" * 32,
            span_id=f"{number + 1:016x}",
        )
        for number, name in enumerate(names)
    ]

    own = recording([("traces", "protobuf", encode("traces", spans, "protobuf"))], RECORDED, "new")

    assert len(own.spans) == len(spans)
    assert all(name == "new" or name.startswith("new.") for name in group(own.spans))
    before = group(spans)
    assert sorted(len(spans) for spans, _ in group(own.spans).values()) == sorted(
        len(one) for one, _ in before.values()
    )
