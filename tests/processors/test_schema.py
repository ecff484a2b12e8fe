import pytest

from otlp_build import T0
from runreel.processors.schema import Schema
from runreel.values import RawBatch, Rejection
from span_kit import capture, make_span


def test_every_span_gets_its_facts_in_the_same_place() -> None:
    spans, logs = capture("otel-genai-openai/content-span")

    batch = Schema().process(RawBatch("default", spans, logs))

    assert batch.spans == spans
    assert batch.logs == logs
    assert [facts.kind for facts in batch.facts] == ["llm", "llm", "llm", "tool", "tool", "tool", "agent"]


@pytest.mark.parametrize(
    ("trace_id", "span_id"),
    [
        ("0" * 32, "00000000000000b1"),
        ("0af7651916cd43dd8448eb211c80319c", "0" * 16),
        ("0af7", "00000000000000b1"),
        ("0AF7651916CD43DD8448EB211C80319C", "00000000000000b1"),
        ("0af7651916cd43dd8448eb211c80319c", "not sixteen hex!"),
    ],
)
def test_a_span_without_a_usable_id_is_refused_alone(trace_id: str, span_id: str) -> None:
    good, bad = make_span(), make_span(trace_id=trace_id, span_id=span_id)
    earlier = Rejection("log", "invalid_time")

    batch = Schema().process(RawBatch("default", (bad, good), rejected=(earlier,)))

    assert batch.spans == (good,)
    assert len(batch.facts) == 1
    assert batch.rejected == (earlier, Rejection("span", "invalid_id"))


@pytest.mark.parametrize(
    ("start", "end", "mark"),
    [
        (T0, 0, "time:no_end"),
        (T0, T0 - 1, "time:end_before_start"),
        (2**64 - 1, 2**64 - 1, "time:out_of_range"),
    ],
)
def test_times_that_give_no_duration_are_marked_and_kept(start: int, end: int, mark: str) -> None:
    (span,) = Schema().process(RawBatch("default", (make_span(start_ns=start, end_ns=end),))).spans

    assert span.marks == (mark,)
    assert (span.start_ns, span.end_ns) == (start, end)


@pytest.mark.parametrize(("start", "end"), [(T0, T0), (T0, T0 + 1), (1, 1)])
def test_short_and_old_spans_are_not_marked(start: int, end: int) -> None:
    (span,) = Schema().process(RawBatch("default", (make_span(start_ns=start, end_ns=end),))).spans

    assert span.marks == ()


def test_processing_twice_changes_nothing() -> None:
    once = Schema().process(RawBatch("default", (make_span(end_ns=0), make_span(span_id="0" * 16))))

    twice = Schema().process(once)

    assert twice.spans == once.spans
    assert twice.facts == once.facts
    assert len(twice.rejected) == len(once.rejected)


def test_what_is_unusual_is_marked_once_however_often_the_span_passes() -> None:
    span = make_span({"acme.llm.model": "x"}, marks=("utf8_repaired",), end_ns=0)

    once = Schema().process(RawBatch("default", (span,)))
    twice = Schema().process(once)

    assert once.spans[0].marks == ("utf8_repaired", "time:no_end", "unknown_dialect")
    assert twice.spans == once.spans
