"""OTLP as protobuf: request bytes to values."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from google.protobuf.message import DecodeError as ProtobufDecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from runreel.errors import DecodeError
from runreel.otlp import wire
from runreel.otlp.common import (
    DUPLICATE_KEY,
    MAX_DEPTH,
    UTF8_REPAIRED,
    Signal,
    UnfitError,
    bad_id,
    in_order,
    rejection,
    too_deep,
)
from runreel.values import Dropped, Event, Link, LogEvent, RawBatch, Rejection, Resource, Scope, Span, SpanKey, Value

REQUESTS: dict[Signal, Any] = {"traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest}
RECORDS: dict[Signal, Any] = {"traces": trace_pb2.Span, "logs": logs_pb2.LogRecord}
T = TypeVar("T")


def decode(signal: Signal, data: bytes, tenant: str) -> RawBatch:
    """Decode one request. Raises DecodeError where the bytes are no request of this signal."""
    salvage = wire.Salvage(REQUESTS[signal], RECORDS[signal])
    try:
        request = REQUESTS[signal].FromString(data)
    except ProtobufDecodeError:
        try:
            request = REQUESTS[signal].FromString(salvage.rewrite(data))
        except ProtobufDecodeError:
            raise DecodeError(f"not a protobuf {REQUESTS[signal].DESCRIPTOR.name}") from None
    rejected = [rejection(signal, error) for error in salvage.unfit]
    if signal == "traces":
        spans = tuple(_records(signal, request, tenant, salvage.repaired, rejected, _span))
        return RawBatch(tenant, spans=spans, rejected=tuple(rejected))
    logs = tuple(_records(signal, request, tenant, salvage.repaired, rejected, _log))
    return RawBatch(tenant, logs=logs, rejected=tuple(rejected))


def _records(
    signal: Signal,
    request: Any,
    tenant: str,
    repaired: set[int],
    rejected: list[Rejection],
    build: Callable[[Any, str, Resource, Scope, set[str]], T],
) -> Iterable[T]:
    """Yield what can be taken; append what cannot to `rejected`."""
    position = 0
    for group in request.resource_spans if signal == "traces" else request.resource_logs:
        shared: set[str] = set()
        resource = _resource(group, shared)
        for inner in group.scope_spans if signal == "traces" else group.scope_logs:
            marks = set(shared)
            scope = _scope(inner, marks)
            for record in inner.spans if signal == "traces" else inner.log_records:
                own = {UTF8_REPAIRED, *marks} if position in repaired else set(marks)
                position += 1
                try:
                    yield build(record, tenant, resource, scope, own)
                except UnfitError as error:
                    rejected.append(rejection(signal, error))


def _resource(group: Any, marks: set[str]) -> Resource:
    inner = group.resource
    return Resource(_shared(inner.attributes, marks), group.schema_url, inner.dropped_attributes_count)


def _scope(group: Any, marks: set[str]) -> Scope:
    inner = group.scope
    attributes = _shared(inner.attributes, marks)
    return Scope(inner.name, inner.version, attributes, group.schema_url, inner.dropped_attributes_count)


def _shared(pairs: Collection[common_pb2.KeyValue], marks: set[str]) -> dict[str, Value]:
    try:
        return _map(pairs, marks, 0)
    except UnfitError as error:
        raise DecodeError(f"a resource or scope cannot be taken: {error.detail}") from None


def _span(span: trace_pb2.Span, tenant: str, resource: Resource, scope: Scope, marks: set[str]) -> Span:
    key = SpanKey(tenant, _id("trace_id", span.trace_id, 16), _id("span_id", span.span_id, 8))
    attributes = _map(span.attributes, marks, 0)
    events = tuple(
        Event(e.name, e.time_unix_nano, _map(e.attributes, marks, 0), e.dropped_attributes_count) for e in span.events
    )
    links = tuple(_link(link, marks) for link in span.links)
    return Span(
        key=key,
        parent_id=_optional_id("parent_span_id", span.parent_span_id, 8) or None,
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        status=span.status.code,
        message=span.status.message,
        scope=scope,
        resource=resource,
        attributes=attributes,
        events=events,
        links=links,
        dropped=Dropped(span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count),
        marks=in_order(marks),
        kind=span.kind,
        trace_state=span.trace_state,
        flags=span.flags,
    )


def _link(link: trace_pb2.Span.Link, marks: set[str]) -> Link:
    # A link's ids are the sender's note about another trace: kept as they came, of whatever length.
    return Link(
        link.trace_id.hex(),
        link.span_id.hex(),
        link.trace_state,
        _map(link.attributes, marks, 0),
        link.dropped_attributes_count,
        link.flags,
    )


def _log(log: logs_pb2.LogRecord, tenant: str, resource: Resource, scope: Scope, marks: set[str]) -> LogEvent:
    body = _value(log.body, marks, 0)
    attributes = _map(log.attributes, marks, 0)
    return LogEvent(
        tenant=tenant,
        trace_id=_optional_id("trace_id", log.trace_id, 16),
        span_id=_optional_id("span_id", log.span_id, 8),
        event_name=log.event_name,
        time_ns=log.time_unix_nano,
        observed_ns=log.observed_time_unix_nano,
        severity=log.severity_number,
        severity_text=log.severity_text,
        body=body,
        attributes=attributes,
        resource=resource,
        scope=scope,
        dropped=log.dropped_attributes_count,
        flags=log.flags,
        marks=in_order(marks),
    )


def _id(name: str, value: bytes, length: int) -> str:
    if len(value) != length or not any(value):
        raise bad_id(name, len(value), length)
    return value.hex()


def _optional_id(name: str, value: bytes, length: int) -> str:
    if not any(value):
        return ""
    return _id(name, value, length)


def _map(pairs: Collection[common_pb2.KeyValue], marks: set[str], depth: int) -> dict[str, Value]:
    # Most values are texts: one that is no text, or empty, has an empty one.
    out = {pair.key: pair.value.string_value or _value(pair.value, marks, depth) for pair in pairs}
    if len(out) < len(pairs):
        marks.add(DUPLICATE_KEY)
    return out


def _value(value: common_pb2.AnyValue, marks: set[str], depth: int) -> Value:
    which = value.WhichOneof("value")
    if which == "string_value":
        return value.string_value
    if which in {"array_value", "kvlist_value"}:
        if depth >= MAX_DEPTH:
            raise too_deep()
        if which == "kvlist_value":
            return _map(value.kvlist_value.values, marks, depth + 1)
        return tuple(_value(item, marks, depth + 1) for item in value.array_value.values)
    if which == "int_value":
        return value.int_value
    if which == "bool_value":
        return value.bool_value
    if which == "double_value":
        return value.double_value
    if which == "bytes_value":
        return value.bytes_value
    return None  # empty, or an index into a dictionary that only profiles have
