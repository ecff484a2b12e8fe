"""Takes a batch apart by trace and puts the redacted pieces together again, for tokens that hold within one run."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from runreel.values import CleanBatch, Facts, LogEvent, RawBatch, Span


class Order(NamedTuple):
    """Where the spans and log records of a piece stood."""

    spans: tuple[int, ...]
    logs: tuple[int, ...]


def parted(batch: RawBatch) -> Iterator[tuple[str, RawBatch, Order]]:
    """Yield (trace id, batch of that trace alone, order). What was rejected stays with the first piece."""
    facts = batch.facts or (Facts(),) * len(batch.spans)
    traces = dict.fromkeys(
        [*(span.key.trace_id for span in batch.spans), *(log.trace_id for log in batch.logs)] or [""]
    )
    rejected = batch.rejected
    for trace_id in traces:
        spans = tuple(place for place, span in enumerate(batch.spans) if span.key.trace_id == trace_id)
        logs = tuple(place for place, log in enumerate(batch.logs) if log.trace_id == trace_id)
        piece = RawBatch(
            batch.tenant,
            tuple(batch.spans[place] for place in spans),
            tuple(batch.logs[place] for place in logs),
            tuple(facts[place] for place in spans) if batch.facts else (),
            rejected,
        )
        yield trace_id, piece, Order(spans, logs)
        rejected = ()


def put_together(tenant: str, pieces: Sequence[tuple[CleanBatch, Order]]) -> CleanBatch:
    """Return the pieces as one batch, in the order that they came from."""
    spans: dict[int, Span] = {}
    facts: dict[int, Facts] = {}
    logs: dict[int, LogEvent] = {}
    counts: dict[str, int] = {}
    for clean, order in pieces:
        spans.update(zip(order.spans, clean.spans, strict=True))
        facts.update(zip(order.spans, clean.facts, strict=False))
        logs.update(zip(order.logs, clean.logs, strict=True))
        for label, count in clean.counts.items():
            counts[label] = counts.get(label, 0) + count
    return CleanBatch(
        tenant,
        tuple(spans[place] for place in sorted(spans)),
        tuple(logs[place] for place in sorted(logs)),
        tuple(facts[place] for place in sorted(facts)),
        tuple(item for clean, _ in pieces for item in clean.rejected),
        counts,
        tuple(item for clean, _ in pieces for item in clean.sealed),
    )
