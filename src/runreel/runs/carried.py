"""Says which span each log event is about: mostly the one that it names, but some senders name the span above it."""

from collections.abc import Mapping, Sequence
from typing import Final

from runreel.runs.copies import Settled
from runreel.semconv.dialects.otel import OPERATIONS
from runreel.semconv.view import DETAILS_EVENT, event_name
from runreel.values import LogEvent, Span, Value

_RESPONSE: Final = "gen_ai.response.id"
_OPERATION: Final = "gen_ai.operation.name"
Ids = tuple[str, str]


def carried(settled: Sequence[Settled], events: Sequence[LogEvent]) -> Mapping[Ids, list[LogEvent]]:
    """Return the log events by the (trace id, span id) of the span that they are about, in their order.

    The details of a model call may come with the span that was current when a stream ended, which is the caller's: the
    id of the answer says whose they are. Where nothing does, they are nobody's, since they are not the caller's.
    """
    spans = {(one.span.key.trace_id, one.span.key.span_id): one.span for one in settled}
    by_answer: dict[tuple[str, str], list[Ids]] = {}
    for ids, span in spans.items():
        answer = span.attributes.get(_RESPONSE)
        if isinstance(answer, str) and answer:
            by_answer.setdefault((ids[0], answer), []).append(ids)
    out: dict[Ids, list[LogEvent]] = {}
    for log in events:
        place = (log.trace_id, log.span_id)
        span_there = spans.get(place)
        if span_there is not None and event_name(log) == DETAILS_EVENT and _of_another(log, span_there):
            answer = log.attributes.get(_RESPONSE)
            found = by_answer.get((log.trace_id, answer), []) if isinstance(answer, str) else []
            place = found[0] if len(found) == 1 else ("", "")
        out.setdefault(place, []).append(log)
    return out


def _of_another(log: LogEvent, span: Span) -> bool:
    """Say whether a log event is about a step of another kind than the span that it names."""
    about, there = _kind(log.attributes), _kind(span.attributes)
    return None not in (about, there) and about != there


def _kind(attributes: Mapping[str, Value]) -> str | None:
    operation = attributes.get(_OPERATION)
    return OPERATIONS.get(operation) if isinstance(operation, str) else None
