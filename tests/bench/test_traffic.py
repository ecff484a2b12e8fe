"""The same seed gives the same bytes, and what is said to be planted is there."""

import json
from hashlib import sha256
from itertools import pairwise

import pytest
import traffic
from traffic import Mix

from runreel import otlp

# Changing the generator changes every figure that was ever measured with it: these are part of its interface.
KNOWN = {
    (5, 0): "ed5e816aa57a3056",
    (3, 123): "7a1c79546063e370",
    (12, 3): "3f47084e22048e12",
}


@pytest.mark.parametrize(("steps", "seed"), KNOWN)
def test_a_seed_gives_the_bytes_that_it_always_gave(steps: int, seed: int) -> None:
    body = traffic.encode(traffic.make_run(steps, seed))

    assert sha256(body).hexdigest()[:16] == KNOWN[steps, seed]


def test_two_seeds_give_different_runs() -> None:
    assert traffic.encode(traffic.make_run(2, 1)) != traffic.encode(traffic.make_run(2, 2))


def test_every_planted_value_is_in_the_text_of_its_span() -> None:
    spans = traffic.make_run(12, 3)

    planted = [(span, value) for span in spans for value in span.planted]

    assert {value.entity for _, value in planted} >= {"EMAIL_ADDRESS", "PHONE_NUMBER", "IP_ADDRESS", "CREDIT_CARD"}
    for span, value in planted:
        assert any(value.value in str(text) for text in span.attributes.values()), value.entity


def test_nothing_is_planted_where_nothing_is_wanted() -> None:
    spans = traffic.make_run(8, 3, mix=Mix(planted_every=0))

    assert [value for span in spans for value in span.planted] == []


def test_a_run_is_one_trace_with_a_root_a_model_call_a_step_and_a_tool_call_between() -> None:
    spans = traffic.make_run(8, 4)

    operations = [span.attributes["gen_ai.operation.name"] for span in spans]
    assert len({span.trace_id for span in spans}) == 1
    assert {span.parent_id for span in spans[1:]} == {spans[0].span_id}
    assert {name: operations.count(name) for name in operations} == {
        "invoke_agent": 1,
        "chat": 8,
        "execute_tool": 7,
        "retrieval": 2,
    }
    assert spans[0].end_ns == max(span.end_ns for span in spans)


def test_each_model_call_sends_the_whole_history_before_it_again() -> None:
    spans = traffic.make_run(6, 5)

    histories = [
        json.loads(str(span.attributes["gen_ai.input.messages"]))
        for span in spans
        if span.attributes["gen_ai.operation.name"] == "chat"
    ]
    for before, after in pairwise(histories):
        assert after[: len(before)] == before
        assert len(after) > len(before)


def test_what_is_encoded_decodes_to_the_same_spans() -> None:
    spans = traffic.make_run(4, 6)

    batch = otlp.decode("traces", traffic.encode(spans), "protobuf", "default")

    assert batch.rejected == ()
    assert [span.key.span_id for span in batch.spans] == [span.span_id.hex() for span in spans]
    for decoded, span in zip(batch.spans, spans, strict=True):
        attributes = {key: tuple(value) if isinstance(value, list) else value for key, value in span.attributes.items()}
        assert decoded.attributes == attributes


def test_requests_hold_as_many_spans_as_asked_for_and_the_last_one_the_rest() -> None:
    spans = list(traffic.make_runs(3, seed=2, steps=(3, 3)))

    bodies = list(traffic.batches(spans, 8))

    counts = [len(otlp.decode("traces", body, "protobuf", "default").spans) for body in bodies]
    assert len(spans) == 18
    assert counts == [8, 8, 2]


def test_lengths_of_runs_stay_in_their_range() -> None:
    traces: dict[bytes, int] = {}
    for span in traffic.make_runs(12, seed=3, steps=(2, 6)):
        traces[span.trace_id] = traces.get(span.trace_id, 0) + (span.attributes["gen_ai.operation.name"] == "chat")

    assert len(traces) == 12
    assert set(traces.values()) <= set(range(2, 7))
    assert len(set(traces.values())) > 1
