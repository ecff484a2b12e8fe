import json
import re
from datetime import UTC, datetime

import pytest
from opentelemetry import baggage, trace
from opentelemetry.trace import StatusCode

import runreel.record as rr
from record_kit import exporter, only, run_of
from runreel.record import _active, handle, setup


@pytest.fixture
def spans(monkeypatch):
    monkeypatch.setattr(setup, "_told", [setup.Settings("refund-desk", "abc1234")])
    return exporter()


def test_a_run_is_an_agent_span_with_an_id_and_what_was_asked_and_answered(spans):
    with rr.run(user_input="Where is my order?", user="u-812", conversation="c-1") as run:
        run.answer("On its way.")

    attributes = dict(only(spans).attributes)
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", run.id)
    assert attributes.pop("replay.run.seed") >= 0
    assert json.loads(attributes.pop("gen_ai.input.messages")) == [
        {"role": "user", "parts": [{"type": "text", "content": "Where is my order?"}]}
    ]
    assert json.loads(attributes.pop("gen_ai.output.messages"))[0]["parts"][0]["content"] == "On its way."
    attributes.pop("replay.agent.entry", None)
    assert attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "refund-desk",
        "gen_ai.conversation.id": "c-1",
        "replay.run.id": run.id,
        "replay.code.version": "abc1234",
        "user.id": "u-812",
    }


def test_the_record_knows_the_run_by_its_id(spans):
    with rr.run(user_input="hello") as run:
        rr.tool(lambda: "x", name="look")()
        run.answer("done")

    got = run_of(spans)
    assert (got.run_id, got.agent_id, got.open) == (run.id, "refund-desk", False)
    assert got.value(got.user_input) == "hello"
    assert got.value(got.final_output) == "done"
    assert [step.kind for step in got.steps] == ["agent", "tool"]


def test_a_question_that_is_no_text_is_kept_exactly(spans):
    with rr.run(user_input={"order": "A-1", "lines": [1, 2.0]}):
        pass

    got = run_of(spans)
    assert got.value(got.user_input) == {"order": "A-1", "lines": (1, 2.0)}


def test_every_span_below_a_run_carries_the_runs_id_in_its_context(spans):
    with rr.run() as run:
        assert baggage.get_baggage("replay.run.id") == run.id

    assert baggage.get_baggage("replay.run.id") is None


def test_a_run_inside_a_run_has_its_own_trace_and_leads_back(spans):
    with rr.run() as outer, rr.run(relation="handoff") as inner:
        pass

    second, first = spans.get_finished_spans()
    assert first.context.trace_id != second.context.trace_id
    assert second.attributes["replay.run.parent_id"] == outer.id
    assert second.attributes["replay.run.parent_relation"] == "handoff"
    assert [link.context.span_id for link in second.links] == [first.context.span_id]
    assert inner.id != outer.id


def test_a_parent_run_elsewhere_can_be_named(spans):
    with rr.run(parent="run-7", relation="retry"):
        pass

    attributes = only(spans).attributes
    assert (attributes["replay.run.parent_id"], attributes["replay.run.parent_relation"]) == ("run-7", "retry")


def test_an_exception_ends_the_run_in_error_and_goes_on(spans):
    with pytest.raises(LookupError, match="gone"), rr.run():
        raise LookupError("gone")

    span = only(spans)
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "LookupError"
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_question_without_a_recorded_form_does_not_stop_the_run(spans):
    before = rr.losses().get("user_input", 0)

    with rr.run(user_input=object()) as run:
        run.answer(object())

    assert rr.losses()["user_input"] == before + 1
    assert json.loads(only(spans).attributes[handle.LOSSES])["answer"] >= 1


def test_a_replay_draws_what_the_recorded_run_drew_under_an_id_of_its_own(spans, monkeypatch):
    with rr.run() as recorded:
        drawn = (recorded.random.random(), recorded.uuid(), recorded.uuid())
    seed = only(spans).attributes["replay.run.seed"]
    spans.clear()
    monkeypatch.setattr(_active, "identity", _active.Identity("replay-1", recorded.id, seed))

    with rr.run() as replayed:
        again = (replayed.random.random(), replayed.uuid(), replayed.uuid())

    assert again == drawn
    assert drawn[1] != drawn[2]
    assert replayed.id == "replay-1"
    assert only(spans).attributes["replay.of_run"] == recorded.id


def test_now_is_the_time_in_utc(spans):
    with rr.run() as run:
        now = run.now()

    assert now.tzinfo is UTC
    assert abs((datetime.now(UTC) - now).total_seconds()) < 60


def test_a_sub_agents_run_inside_a_run_is_a_step_of_that(spans):
    with rr.run(user_input="outer") as outer, rr.run(user_input="inner") as inner:
        rr.tool(lambda: "x", name="look")()
        inner.answer("found")

    got = run_of(spans)
    assert (inner.id, got.run_id, len(got.trace_ids)) == (outer.id, outer.id, 1)
    assert [(step.kind, step.parent) for step in got.steps] == [("agent", None), ("agent", 0), ("tool", 1)]
    assert got.value(got.user_input) == "outer"
    assert inner.uuid() != outer.uuid()
