"""Values to OTLP requests, in both codings."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeVar

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as ResourceMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from runreel.otlp.common import Encoding, repair
from runreel.otlp.text import PATHS
from runreel.values import Event, Link, LogEvent, Resource, Scope, Span, Value

T = TypeVar("T", Span, LogEvent)


def encode_spans(spans: Sequence[Span], encoding: Encoding) -> bytes:
    """Encode spans as an ExportTraceServiceRequest, in their order."""
    request = ExportTraceServiceRequest()
    for (resource, scope), members in _groups(spans):
        outer = request.resource_spans.add(resource=_resource(resource), schema_url=repair(resource.schema_url))
        inner = outer.scope_spans.add(scope=_scope(scope), schema_url=repair(scope.schema_url))
        inner.spans.extend(_span(span) for span in members)
    if encoding == "protobuf":
        return request.SerializeToString()
    return _json(_with_hex_ids(MessageToDict(request, use_integers_for_enums=True), PATHS["traces"]))


def encode_logs(logs: Sequence[LogEvent], encoding: Encoding) -> bytes:
    """Encode log events as an ExportLogsServiceRequest, in their order."""
    request = ExportLogsServiceRequest()
    for (resource, scope), members in _groups(logs):
        outer = request.resource_logs.add(resource=_resource(resource), schema_url=repair(resource.schema_url))
        inner = outer.scope_logs.add(scope=_scope(scope), schema_url=repair(scope.schema_url))
        inner.log_records.extend(_log(log) for log in members)
    if encoding == "protobuf":
        return request.SerializeToString()
    return _json(_with_hex_ids(MessageToDict(request, use_integers_for_enums=True), PATHS["logs"]))


class _Origin(tuple[Resource, Scope]):
    """Resource and scope of a record. Equal only with equal types inside: True, 1 and 1.0 are three attributes."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, _Origin)
        if self[0] is other[0] and self[1] is other[1]:
            return True
        return tuple.__eq__(self, other) is True and repr(self) == repr(other)

    __hash__ = tuple.__hash__


def _groups(items: Sequence[T]) -> Iterator[tuple[tuple[Resource, Scope], Iterable[T]]]:
    return groupby(items, key=lambda item: _Origin((item.resource, item.scope)))


def _resource(resource: Resource) -> ResourceMessage:
    return ResourceMessage(attributes=_pairs(resource.attributes), dropped_attributes_count=resource.dropped)


def _scope(scope: Scope) -> InstrumentationScope:
    return InstrumentationScope(
        name=repair(scope.name),
        version=repair(scope.version),
        attributes=_pairs(scope.attributes),
        dropped_attributes_count=scope.dropped,
    )


def _span(span: Span) -> SpanMessage:
    return SpanMessage(
        trace_id=bytes.fromhex(span.key.trace_id),
        span_id=bytes.fromhex(span.key.span_id),
        parent_span_id=bytes.fromhex(span.parent_id or ""),
        trace_state=repair(span.trace_state),
        flags=span.flags,
        name=repair(span.name),
        kind=span.kind,  # type: ignore[arg-type]  # open enum: the number as it came
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        attributes=_pairs(span.attributes),
        events=[_event(event) for event in span.events],
        links=[_link(link) for link in span.links],
        dropped_attributes_count=span.dropped.attributes,
        dropped_events_count=span.dropped.events,
        dropped_links_count=span.dropped.links,
        status=_status(span),
    )


def _status(span: Span) -> Status | None:
    if not span.status and not span.message:
        return None
    return Status(code=span.status, message=repair(span.message))  # type: ignore[arg-type]  # open enum


def _event(event: Event) -> SpanMessage.Event:
    return SpanMessage.Event(
        name=repair(event.name),
        time_unix_nano=event.time_ns,
        attributes=_pairs(event.attributes),
        dropped_attributes_count=event.dropped,
    )


def _link(link: Link) -> SpanMessage.Link:
    return SpanMessage.Link(
        trace_id=bytes.fromhex(link.trace_id),
        span_id=bytes.fromhex(link.span_id),
        trace_state=repair(link.trace_state),
        attributes=_pairs(link.attributes),
        dropped_attributes_count=link.dropped,
        flags=link.flags,
    )


def _log(log: LogEvent) -> LogRecord:
    return LogRecord(
        trace_id=bytes.fromhex(log.trace_id),
        span_id=bytes.fromhex(log.span_id),
        event_name=repair(log.event_name),
        time_unix_nano=log.time_ns,
        observed_time_unix_nano=log.observed_ns,
        severity_number=log.severity,  # type: ignore[arg-type]  # open enum
        severity_text=repair(log.severity_text),
        body=None if log.body is None else _any(log.body),
        attributes=_pairs(log.attributes),
        dropped_attributes_count=log.dropped,
        flags=log.flags,
    )


def _pairs(attributes: Mapping[str, Value]) -> list[KeyValue]:
    return [KeyValue(key=repair(key), value=_any(value)) for key, value in attributes.items()]


def _any(value: Value) -> AnyValue:
    if value is None:
        return AnyValue()
    if isinstance(value, str):
        return AnyValue(string_value=repair(value))
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    if isinstance(value, tuple):
        return AnyValue(array_value=ArrayValue(values=[_any(item) for item in value]))
    return AnyValue(kvlist_value=KeyValueList(values=_pairs(value)))


def _with_hex_ids(document: dict[str, Any], path: tuple[str, str, str]) -> dict[str, Any]:
    """Write ids as OTLP/JSON does, hexadecimal; protobuf's own JSON writes all bytes as base64."""
    outer, inner, name = path
    for group in document.get(outer, ()):
        for scoped in group.get(inner, ()):
            for record in scoped.get(name, ()):
                for holder in (record, *record.get("links", ())):
                    for key in ("traceId", "spanId", "parentSpanId"):
                        if key in holder:
                            holder[key] = base64.b64decode(holder[key]).hex()
    return document


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
