"""Checks that the spans, log events and payloads of a file are such: its types, ids and times. A file may be anybody's.

What is built unchecked from a stranger's rows would fail later, in the middle of something, with an error that names
nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from runreel.values import LogEvent, Payload, Span

_TRACE_ID = re.compile("[0-9a-f]{32}")
_SPAN_ID = re.compile("[0-9a-f]{16}")
_HEX = re.compile("(?:[0-9a-f]{2})*")
_MOST = 2**64 - 1


def check_span(span: Span) -> Span:
    """Return the span. Raises TypeError or ValueError for what no span can be; the message holds no text of it."""
    _check(span)
    ids = [(_TRACE_ID, span.key.trace_id), (_SPAN_ID, span.key.span_id)]
    ids += [(_SPAN_ID, span.parent_id)] if span.parent_id else []
    ids += [(_HEX, one) for link in span.links for one in (link.trace_id, link.span_id)]
    _check_ids(ids)
    _check_times([span.start_ns, span.end_ns, *(event.time_ns for event in span.events)])
    return span


def check_log(log: LogEvent) -> LogEvent:
    """Return the log event. Raises TypeError or ValueError, as `check_span`."""
    _check(log)
    _check_ids([(kind, one) for kind, one in ((_TRACE_ID, log.trace_id), (_SPAN_ID, log.span_id)) if one])
    _check_times([log.time_ns, log.observed_ns])
    return log


def check_payload(payload: Payload) -> Payload:
    """Return the payload. Raises TypeError, as `check_span`. Its content is checked by its hash, when it is joined."""
    _check(payload)
    return payload


def _check(thing: Any) -> None:
    for item in fields(thing):
        if not _fits(getattr(thing, item.name), item.type):
            raise TypeError(f"{type(thing).__name__}.{item.name} has another type")


def _fits(value: Any, kind: Any) -> bool:
    """Say whether a value is of a field's type. What an attribute may hold is not looked into: any value may."""
    if is_dataclass(kind):
        if not isinstance(value, kind):  # type: ignore[arg-type]  # a class of ours
            return False
        _check(value)
        return True
    if kind in {str, int, bool}:
        return type(value) is kind
    if kind in {None, NoneType}:
        return value is None
    origin = get_origin(kind)
    if origin is UnionType:
        return any(_fits(value, one) for one in get_args(kind))
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(one, get_args(kind)[0]) for one in value)
    return isinstance(value, Mapping) if origin is Mapping else True


def _check_ids(ids: list[tuple[re.Pattern[str], str]]) -> None:
    if not all(kind.fullmatch(one) for kind, one in ids):
        raise ValueError("an id is not what OTLP has")


def _check_times(times: list[int]) -> None:
    if not all(0 <= one <= _MOST for one in times):
        raise ValueError("a time is not what OTLP has")
