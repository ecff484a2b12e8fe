"""OTLP as JSON: request bytes to values (hex ids, 64-bit numbers as strings, unknown fields ignored, null is unset)."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Status as StatusMessage

from runreel.errors import DecodeError
from runreel.otlp.common import (
    DUPLICATE_KEY,
    MAX_DEPTH,
    MAX_I64,
    MAX_U32,
    MAX_U64,
    MIN_I64,
    UTF8_REPAIRED,
    Signal,
    UnfitError,
    bad_id,
    in_order,
    rejection,
    repair,
    too_deep,
)
from runreel.values import Dropped, Event, Link, LogEvent, RawBatch, Rejection, Resource, Scope, Span, SpanKey, Value

# Record names by signal: the lists on the way down to a record.
PATHS: dict[Signal, tuple[str, str, str]] = {
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
}
KINDS = dict(SpanMessage.SpanKind.items())
CODES = dict(StatusMessage.StatusCode.items())
SEVERITIES = dict(SeverityNumber.items())

T = TypeVar("T")
Json = Mapping[str, Any]

_MAY_HOLD_SURROGATES = re.compile(rb"\\u[dD][89a-fA-F]")
_HEX = re.compile("(?:[0-9a-fA-F]{2})*")
_WHOLE = re.compile("-?[0-9]{1,20}")
_DOUBLE = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?|NaN|-?Infinity")
_MAX_I32 = 2**31 - 1
_NOTHING: Json = {}


def decode(signal: Signal, data: bytes, tenant: str) -> RawBatch:
    """Decode one document. Raises DecodeError where it is no JSON, or not of the shape of a request."""
    document, suspect = parse(data)
    reader = _Reader(tenant, suspect)
    rejected: list[Rejection] = []
    try:
        if signal == "traces":
            spans = tuple(reader.records(signal, document, rejected, reader.span))
            return RawBatch(tenant, spans=spans, rejected=tuple(rejected))
        logs = tuple(reader.records(signal, document, rejected, reader.log))
        return RawBatch(tenant, logs=logs, rejected=tuple(rejected))
    except UnfitError as error:  # what gets here is not about one record
        raise DecodeError(f"not an OTLP/JSON request of {signal}: {error.detail}") from None


def parse(data: bytes) -> tuple[Json, bool]:
    """Parse a document; also say whether its strings may hold lone surrogates (bad bytes or escapes)."""
    suspect = _MAY_HOLD_SURROGATES.search(data) is not None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", errors="surrogateescape")
        suspect = True
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise DecodeError(f"not JSON: {error.msg} at byte {error.pos}") from None
    except (ValueError, RecursionError):
        raise DecodeError("not usable JSON: a number too long, or nesting too deep") from None
    if not isinstance(document, dict):
        raise DecodeError("not an OTLP/JSON request: the document is no object")
    return document, suspect


class _Reader:
    """Reads the records of one document. `marks` gathers what is to be noted about the record at hand."""

    def __init__(self, tenant: str, suspect: bool) -> None:
        self._tenant = tenant
        self._suspect = suspect
        self._marks: set[str] = set()

    def records(
        self,
        signal: Signal,
        document: Json,
        rejected: list[Rejection],
        build: Callable[[Json, Resource, Scope], T],
    ) -> Iterator[T]:
        """Yield what can be taken; append what cannot to `rejected`."""
        outer, inner, name = PATHS[signal]
        for group in _objects(document, outer):
            self._marks = set()
            resource = self._resource(group)
            shared = self._marks
            for scoped in _objects(group, inner):
                self._marks = set(shared)
                scope = self._scope(scoped)
                marks = self._marks
                for record in _list(scoped, name):
                    self._marks = set(marks)
                    try:
                        yield build(_an_object(record, name), resource, scope)
                    except UnfitError as error:
                        rejected.append(rejection(signal, error))

    def _resource(self, group: Json) -> Resource:
        inner = _object(group, "resource")
        attributes = self._attributes(inner)
        return Resource(attributes, self._text(group, "schemaUrl"), _number(inner, "droppedAttributesCount", MAX_U32))

    def _scope(self, group: Json) -> Scope:
        inner = _object(group, "scope")
        return Scope(
            self._text(inner, "name"),
            self._text(inner, "version"),
            self._attributes(inner),
            self._text(group, "schemaUrl"),
            _number(inner, "droppedAttributesCount", MAX_U32),
        )

    def span(self, span: Json, resource: Resource, scope: Scope) -> Span:
        """Read one span. Raises UnfitError."""
        key = SpanKey(self._tenant, _id(span, "traceId", 16), _id(span, "spanId", 8))
        status = _object(span, "status")
        events = tuple(
            Event(
                self._text(event, "name"),
                _time(event, "timeUnixNano"),
                self._attributes(event),
                _number(event, "droppedAttributesCount", MAX_U32),
            )
            for event in _objects(span, "events")
        )
        return Span(
            key=key,
            parent_id=_optional_id(span, "parentSpanId", 8) or None,
            name=self._text(span, "name"),
            start_ns=_time(span, "startTimeUnixNano"),
            end_ns=_time(span, "endTimeUnixNano"),
            status=_enum(status, "code", CODES),
            message=self._text(status, "message"),
            scope=scope,
            resource=resource,
            attributes=self._attributes(span),
            events=events,
            links=tuple(self._link(link) for link in _objects(span, "links")),
            dropped=Dropped(
                _number(span, "droppedAttributesCount", MAX_U32),
                _number(span, "droppedEventsCount", MAX_U32),
                _number(span, "droppedLinksCount", MAX_U32),
            ),
            kind=_enum(span, "kind", KINDS),
            trace_state=self._text(span, "traceState"),
            flags=_number(span, "flags", MAX_U32),
            marks=in_order(self._marks),
        )

    def _link(self, link: Json) -> Link:
        return Link(
            _hex(link, "traceId"),
            _hex(link, "spanId"),
            self._text(link, "traceState"),
            self._attributes(link),
            _number(link, "droppedAttributesCount", MAX_U32),
            _number(link, "flags", MAX_U32),
        )

    def log(self, log: Json, resource: Resource, scope: Scope) -> LogEvent:
        """Read one log record. Raises UnfitError."""
        body = self._value(log.get("body"), 0)
        attributes = self._attributes(log)
        return LogEvent(
            tenant=self._tenant,
            trace_id=_optional_id(log, "traceId", 16),
            span_id=_optional_id(log, "spanId", 8),
            event_name=self._text(log, "eventName"),
            time_ns=_time(log, "timeUnixNano"),
            observed_ns=_time(log, "observedTimeUnixNano"),
            severity=_enum(log, "severityNumber", SEVERITIES),
            severity_text=self._text(log, "severityText"),
            body=body,
            attributes=attributes,
            resource=resource,
            scope=scope,
            dropped=_number(log, "droppedAttributesCount", MAX_U32),
            flags=_number(log, "flags", MAX_U32),
            marks=in_order(self._marks),
        )

    def _attributes(self, holder: Json, name: str = "attributes", depth: int = 0) -> dict[str, Value]:
        out: dict[str, Value] = {}
        for pair in _objects(holder, name):
            key = self._text(pair, "key")
            if key in out:
                self._marks.add(DUPLICATE_KEY)
            out[key] = self._value(pair.get("value"), depth)
        return out

    def _value(self, value: Any, depth: int) -> Value:
        if value is None:
            return None
        for name, content in _an_object(value, "value").items():
            if content is None:
                continue
            if name == "stringValue":
                return self._string(content, name)
            if name in {"arrayValue", "kvlistValue"}:
                return self._nested(name, content, depth)
            if name in _SCALARS:
                return _SCALARS[name](content)
        return None

    def _nested(self, name: str, content: Any, depth: int) -> Value:
        _an_object(content, name)
        if depth >= MAX_DEPTH:
            raise too_deep()
        if name == "kvlistValue":
            return self._attributes(content, "values", depth + 1)
        return tuple(self._value(item, depth + 1) for item in _list(content, "values"))

    def _text(self, holder: Json, name: str) -> str:
        content = holder.get(name)
        return "" if content is None else self._string(content, name)

    def _string(self, content: Any, name: str) -> str:
        if not isinstance(content, str):
            raise UnfitError("invalid_value", f"{name}: not a string")
        if not self._suspect or content.isascii():
            return content
        repaired = repair(content)
        if repaired != content:
            self._marks.add(UTF8_REPAIRED)
        return repaired


def _an_object(value: Any, name: str) -> Json:
    if not isinstance(value, dict):
        raise UnfitError("malformed", f"{name}: not an object")
    return value


def _object(holder: Json, name: str) -> Json:
    value = holder.get(name)
    return _NOTHING if value is None else _an_object(value, name)


def _list(holder: Json, name: str) -> list[Any]:
    value = holder.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise UnfitError("malformed", f"{name}: not a list")
    return value


def _objects(holder: Json, name: str) -> list[Json]:
    return [_an_object(item, name) for item in _list(holder, name)]


def _hex(holder: Json, name: str) -> str:
    value = holder.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise UnfitError("invalid_id", f"{name}: not hexadecimal")
    return value.lower()


def _id(holder: Json, name: str, length: int) -> str:
    value = _hex(holder, name)
    if len(value) != 2 * length or not value.strip("0"):
        raise bad_id(name, len(value) // 2, length)
    return value


def _optional_id(holder: Json, name: str, length: int) -> str:
    return _id(holder, name, length) if _hex(holder, name).strip("0") else ""


def _int(value: Any, name: str, low: int, high: int, reason: str = "invalid_value") -> int:
    """Read a whole number: a JSON number, or a string with one (64-bit numbers travel as strings)."""
    if (isinstance(value, str) and _WHOLE.fullmatch(value)) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UnfitError(reason, f"{name}: not a whole number from {low} to {high}")
    return value


def _number(holder: Json, name: str, high: int, reason: str = "invalid_value") -> int:
    value = holder.get(name)
    return 0 if value is None else _int(value, name, 0, high, reason)


def _time(holder: Json, name: str) -> int:
    return _number(holder, name, MAX_U64, "invalid_time")


def _enum(holder: Json, name: str, names: Mapping[str, int]) -> int:
    """Read an enum: a number by the specification; its name is tolerated."""
    value = holder.get(name)
    if value is None:
        return 0
    if isinstance(value, str) and value in names:
        return names[value]
    return _int(value, name, -_MAX_I32 - 1, _MAX_I32)


def _int64(value: Any) -> int:
    return _int(value, "intValue", MIN_I64, MAX_I64)


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnfitError("invalid_value", "boolValue: not true or false")
    return value


def _double(value: Any) -> float:
    """Read a double: a number, or a string with one, `NaN`, `Infinity` or `-Infinity`."""
    wanted = not isinstance(value, bool) and isinstance(value, (int, float))
    if not wanted and not (isinstance(value, str) and _DOUBLE.fullmatch(value)):
        raise UnfitError("invalid_value", "doubleValue: not a number")
    try:
        return float(value)
    except OverflowError:
        raise UnfitError("invalid_value", "doubleValue: out of range") from None


def _bytes(value: Any) -> bytes:
    """Read base64, with the standard or the URL alphabet, padded or not."""
    if not isinstance(value, str) or not value.isascii():
        raise UnfitError("invalid_value", "bytesValue: not base64")
    text = value.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        raise UnfitError("invalid_value", "bytesValue: not base64") from None


_SCALARS: Mapping[str, Callable[[Any], Value]] = {
    "intValue": _int64,
    "boolValue": _bool,
    "doubleValue": _double,
    "bytesValue": _bytes,
}
