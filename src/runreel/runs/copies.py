"""Settles what arrived more than once: retries, a span exported at its start and again at its end, id clashes.

Arrival order is never looked at: what is the same set of facts gives the same result.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runreel.canonical import dumps
from runreel.values import Event, Link, LogEvent, Resource, Scope, Span, SpanKey, Value


@dataclass(frozen=True, slots=True)
class Settled:
    """One span to read, and the keys of all its copies."""

    span: Span
    keys: tuple[SpanKey, ...]


def settle(spans: Sequence[Span]) -> tuple[list[Settled], list[str]]:
    """Return one span for each span id, and a note for each clash.

    Equal copies are one. A copy that another one contains (exported at start and again at end) gives way to it. True
    clashes, different spans under one id, are both kept in the store; the one that started first is read.
    """
    groups: dict[tuple[str, str], list[Span]] = {}
    for span in spans:
        groups.setdefault((span.key.trace_id, span.key.span_id), []).append(span)
    settled: list[Settled] = []
    notes: list[str] = []
    for (trace_id, span_id), group in sorted(groups.items()):
        keys = tuple(sorted({span.key for span in group}, key=lambda key: key.copy))
        if len(group) == 1:
            settled.append(Settled(group[0], keys))
            continue
        largest = _largest(group)
        if len(largest) > 1:
            notes.append(
                f"id_clash: {len(largest)} different spans have the id {span_id} in trace {trace_id}; the first is read"
            )
        settled.append(Settled(largest[0], keys))
    return settled, notes


def _largest(group: Sequence[Span]) -> list[Span]:
    """Return the spans that no other one of the group contains, the one that started first in front."""
    by_digest = {_digest(span): span for span in group}
    order = sorted(by_digest.items(), key=lambda item: (item[1].start_ns, item[0]))
    kept: list[Span] = []
    for digest, span in order:
        contained = any(
            _contains(other, span) and (other_digest < digest or not _contains(span, other))
            for other_digest, other in order
            if other_digest != digest
        )
        if not contained:
            kept.append(span)
    return kept


def _contains(big: Span, small: Span) -> bool:
    unfinished = small.end_ns <= small.start_ns
    return (
        small.start_ns == big.start_ns
        and small.end_ns <= big.end_ns
        and small.parent_id in (None, big.parent_id)
        and (small.name == big.name or unfinished)
        and small.status in (0, big.status)
        and all(key in big.attributes and big.attributes[key] == value for key, value in small.attributes.items())
        and all(event in big.events for event in small.events)
        and all(link in big.links for link in small.links)
    )


def settle_logs(logs: Sequence[LogEvent]) -> list[LogEvent]:
    """Return each log event once, in the order of their times, then of their content."""
    groups: dict[tuple[int, str, str, str, int], list[LogEvent]] = {}
    for log in logs:
        when = log.time_ns or log.observed_ns
        groups.setdefault((when, log.trace_id, log.span_id, log.event_name, log.severity), []).append(log)
    out: list[LogEvent] = []
    for _, group in sorted(groups.items()):
        if len(group) > 1:
            by_digest = {_log_digest(log): log for log in group}
            group = [by_digest[digest] for digest in sorted(by_digest)]
        out += group
    return out


def _digest(span: Span) -> str:
    """Name a span's content: its copy where it has one, else a hash that keeps 0 and 0.0 apart."""
    if span.key.copy:
        return span.key.copy
    return _sha(
        (
            span.parent_id,
            span.name,
            span.start_ns,
            span.end_ns,
            span.status,
            span.message,
            span.kind,
            span.trace_state,
            span.attributes,
            tuple(_event(event) for event in span.events),
            tuple(_link(link) for link in span.links),
            _resource(span.resource),
            _scope(span.scope),
            (span.dropped.attributes, span.dropped.events, span.dropped.links),
            span.marks,
            span.flags,
        )
    )


def _log_digest(log: LogEvent) -> str:
    if log.copy:
        return log.copy
    return _sha(
        (
            log.time_ns,
            log.observed_ns,
            log.severity_text,
            log.body,
            log.attributes,
            _resource(log.resource),
            _scope(log.scope),
            log.dropped,
            log.flags,
            log.marks,
        )
    )


def _sha(value: Value) -> str:
    return hashlib.sha256(dumps(value).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _event(event: Event) -> Value:
    return (event.name, event.time_ns, event.attributes, event.dropped)


def _link(link: Link) -> Value:
    return (link.trace_id, link.span_id, link.trace_state, link.attributes, link.dropped, link.flags)


def _resource(resource: Resource) -> Value:
    return (resource.attributes, resource.schema_url, resource.dropped)


def _scope(scope: Scope) -> Value:
    return (scope.name, scope.version, scope.attributes, scope.schema_url, scope.dropped)


def revision(settled: Sequence[Settled], logs: Sequence[LogEvent]) -> str:
    """Name the set of facts that a run was put together from: equal facts, equal revision."""
    names: list[Mapping[str, Value] | tuple[Value, ...]] = []
    for one in settled:
        copies = tuple(sorted(key.copy for key in one.keys if key.copy))
        span = one.span
        shape = () if copies else (span.start_ns, span.end_ns, span.status, len(span.attributes), len(span.events))
        names.append((span.key.trace_id, span.key.span_id, copies, shape))
    names += [(log.trace_id, log.span_id, log.copy, log.time_ns or log.observed_ns, log.event_name) for log in logs]
    return _sha(tuple(names))[:16]
