"""Spans and log events as table rows and back: exact, and typed.

A row has three sorts of columns: the key and the times, whole; copies of a few fields to search by (`name`, `model`),
which may be blurred (a lone surrogate is no UTF-8); and typed JSON texts (`record`, `scope`, `resource`, `facts`) that
hold everything else and are what is read back. Fields that have their default are left out of the texts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

from runreel.canonical import dumps, loads
from runreel.storage import Trace
from runreel.values import (
    Dropped,
    Event,
    Facts,
    Gap,
    Link,
    LogEvent,
    Pointer,
    Resource,
    Scope,
    Span,
    SpanKey,
    SpanRow,
    Value,
)

T = TypeVar("T")
Columns = dict[str, list[Any]]

# Which fields of our values are values of ours themselves: (class, how it is held).
_NESTED: Mapping[type, Mapping[str, tuple[type, str]]] = {
    Span: {"events": (Event, "many"), "links": (Link, "many"), "dropped": (Dropped, "one")},
    Facts: {"content": (Pointer, "map"), "gaps": (Gap, "many")},
}
_SPAN_COLUMNS = frozenset({"key", "parent_id", "kind", "status", "start_ns", "end_ns", "scope", "resource"})
_LOG_COLUMNS = frozenset(
    {"tenant", "trace_id", "span_id", "copy", "severity", "time_ns", "observed_ns", "scope", "resource"}
)
_EMPTY_PARENT = "empty_parent"


def pack(thing: Any, leave_out: frozenset[str] = frozenset()) -> dict[str, Value]:
    """Return a value of ours as a map of its fields that differ from their defaults."""
    get, plan = _plan(thing.__class__, leave_out)
    out: dict[str, Value] = {}
    for held, (name, default, how) in zip(get(thing), plan, strict=True):
        # `True == 1` and `0.0 == 0`: a value of another type is not the default.
        if held is default or (held == default and type(held) is type(default)):
            continue
        if how == "many":
            out[name] = tuple([pack(one) for one in held])
        elif how == "map":
            out[name] = {key: pack(one) for key, one in held.items()}
        else:
            out[name] = pack(held) if how == "one" else held
    return out


def unpack(cls: type[T], packed: Mapping[str, Any], **given: Any) -> T:
    """Return what `pack` made the map from; `given` are the fields that were left out. Raises TypeError, KeyError."""
    built: dict[str, Any] = {**packed, **given}
    for name, (inner, how) in _NESTED.get(cls, {}).items():
        if name not in packed:
            continue
        held = packed[name]
        if how == "many":
            built[name] = tuple(unpack(inner, one) for one in held)
        elif how == "map":
            built[name] = {key: unpack(inner, one) for key, one in held.items()}
        else:
            built[name] = unpack(inner, held)
    return cls(**built)


def span_columns(rows: Sequence[SpanRow], arrived_ns: int) -> Columns:
    """Return the columns of table `spans`."""
    spans = [row.span for row in rows]
    facts = [row.facts for row in rows]
    return {
        "tenant": [span.key.tenant for span in spans],
        "trace_id": [span.key.trace_id for span in spans],
        "span_id": [span.key.span_id for span in spans],
        "copy": [span.key.copy for span in spans],
        "parent_id": [span.parent_id or "" for span in spans],
        "name": [searchable(span.name) for span in spans],
        "service": [attribute(span.resource, "service.name") for span in spans],
        "instance": [attribute(span.resource, "service.instance.id") for span in spans],
        "span_kind": [span.kind for span in spans],
        "status": [span.status for span in spans],
        "start_ns": [span.start_ns for span in spans],
        "end_ns": [span.end_ns for span in spans],
        "arrived_ns": [arrived_ns] * len(rows),
        "kind": [fact.kind for fact in facts],
        "dialect": [searchable(fact.dialect) for fact in facts],
        "run_hint": [searchable(fact.run_hint) for fact in facts],
        "agent_id": [searchable(fact.agent_id) for fact in facts],
        "model": [searchable(fact.model) for fact in facts],
        "provider": [searchable(fact.provider) for fact in facts],
        "input_tokens": [_count(fact.input_tokens) for fact in facts],
        "output_tokens": [_count(fact.output_tokens) for fact in facts],
        "facts": [dumps(pack(fact)) for fact in facts],
        "record": [dumps(_span_record(span)) for span in spans],
        **_surroundings(spans),
    }


def span_row(tenant: str, read: Sequence[Any]) -> SpanRow:
    """Return the row that was stored, from its columns trace_id, span_id, copy, parent_id, span_kind, status,
    start_ns, end_ns, facts, record, scope, resource. Raises ValueError, TypeError, KeyError."""
    trace_id, span_id, copy, parent_id, kind, status, start_ns, end_ns, facts, record, scope, resource = read
    packed = dict(_map(record))
    # No parent and an empty parent id are the same in the column; the record tells them apart.
    empty = packed.pop(_EMPTY_PARENT, False)
    span = unpack(
        Span,
        packed,
        key=SpanKey(tenant, trace_id, span_id, copy),
        parent_id=parent_id if parent_id or empty else None,
        kind=kind,
        status=status,
        start_ns=start_ns,
        end_ns=end_ns,
        scope=_scope(scope),
        resource=_resource(resource),
    )
    return SpanRow(span, unpack(Facts, _map(facts)))


def log_columns(logs: Sequence[LogEvent], arrived_ns: int) -> Columns:
    """Return the columns of table `log_events`."""
    return {
        "tenant": [log.tenant for log in logs],
        "trace_id": [log.trace_id for log in logs],
        "span_id": [log.span_id for log in logs],
        "copy": [log.copy for log in logs],
        "event_name": [searchable(log.event_name) for log in logs],
        "severity": [log.severity for log in logs],
        "time_ns": [log.time_ns for log in logs],
        "observed_ns": [log.observed_ns for log in logs],
        "arrived_ns": [arrived_ns] * len(logs),
        "record": [dumps(pack(log, _LOG_COLUMNS)) for log in logs],
        **_surroundings(logs),
    }


def log_event(tenant: str, read: Sequence[Any]) -> LogEvent:
    """Return the log event that was stored, from its columns trace_id, span_id, copy, severity, time_ns,
    observed_ns, record, scope, resource. Raises ValueError, TypeError, KeyError."""
    trace_id, span_id, copy, severity, time_ns, observed_ns, record, scope, resource = read
    return unpack(
        LogEvent,
        _map(record),
        tenant=tenant,
        trace_id=trace_id,
        span_id=span_id,
        copy=copy,
        severity=severity,
        time_ns=time_ns,
        observed_ns=observed_ns,
        scope=_scope(scope),
        resource=_resource(resource),
    )


def searchable(text: str) -> str:
    """Return the text as UTF-8 can hold it: what cannot be encoded is escaped."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def attribute(resource: Resource, name: str) -> str:
    """Return a resource attribute to search by; empty where it is missing or no text."""
    value = resource.attributes.get(name)
    return searchable(value) if isinstance(value, str) else ""


def _span_record(span: Span) -> dict[str, Value]:
    record = pack(span, _SPAN_COLUMNS)
    if span.parent_id == "":
        record[_EMPTY_PARENT] = True
    return record


def _surroundings(items: Sequence[Span] | Sequence[LogEvent]) -> Columns:
    """Return the columns that repeat: a batch has one resource and a few scopes, so each is written out once."""
    texts: dict[int, str] = {}
    for item in items:
        for thing in (item.scope, item.resource):
            if id(thing) not in texts:
                texts[id(thing)] = dumps(pack(thing))
    return {
        "scope": [texts[id(item.scope)] for item in items],
        "resource": [texts[id(item.resource)] for item in items],
    }


def _map(text: str) -> Mapping[str, Any]:
    value = loads(text)
    if not isinstance(value, Mapping):
        raise TypeError("not a map")
    return value


@lru_cache(maxsize=256)
def _scope(text: str) -> Scope:
    return unpack(Scope, _map(text))


@lru_cache(maxsize=256)
def _resource(text: str) -> Resource:
    return unpack(Resource, _map(text))


@lru_cache
def _plan(cls: Any, leave_out: frozenset[str]) -> tuple[Callable[[Any], Any], tuple[tuple[str, Any, str], ...]]:
    """Return how to get a class's fields at once, and for each its name, its default and how it holds values of ours.

    A field without a default has MISSING, which nothing equals.
    """
    nested = _NESTED.get(cls, {})
    plan = tuple(
        (
            item.name,
            item.default if item.default_factory is MISSING else item.default_factory(),
            nested[item.name][1] if item.name in nested else "",
        )
        for item in fields(cls)
        if item.name not in leave_out
    )
    names = [name for name, _, _ in plan]
    return (attrgetter(*names) if len(names) > 1 else lambda thing: (getattr(thing, names[0]),)), plan


def _count(tokens: int | None) -> int | None:
    """Return a count as the column holds it; what makes no sense as one is kept in `facts` only."""
    return tokens if tokens is not None and 0 <= tokens < 2**64 else None


def traces_of(rows: Sequence[SpanRow], logs: Sequence[LogEvent], changed_ns: int) -> list[Trace]:
    """Return what a batch says about each of its traces."""
    found: dict[str, _News] = {}
    for row in rows:
        news = found.setdefault(row.span.key.trace_id, _News())
        news.steps = news.steps or row.facts.kind != "other"
        news.others = news.others or row.facts.kind not in ("llm", "other")
        if row.facts.kind == "llm" and (instance := attribute(row.span.resource, "service.instance.id")):
            news.callers.add((instance, searchable(row.span.scope.name)))
        # Odd times are marked by the schema processor: the year 2554 must not make a run the newest.
        if not (row.span.marks and any(mark.startswith("time:") for mark in row.span.marks)):
            news.started.append(row.span.start_ns)
            news.ended.append(row.span.end_ns)
        news.hints.add(searchable(row.facts.run_hint))
    for log in logs:
        if log.trace_id:
            found.setdefault(log.trace_id, _News())
    return [
        Trace(
            trace_id,
            news.steps,
            min(news.started, default=2**64 - 1),
            max(news.ended, default=0),
            changed_ns,
            tuple(sorted(news.hints - {""})),
            news.others,
            tuple(sorted(news.callers)),
        )
        for trace_id, news in found.items()
    ]


def gone(trace_ids: Iterable[str], changed_ns: int) -> list[Trace]:
    """Return what is said about traces of which something is not there any more: that there are news."""
    return [Trace(trace_id, False, 2**64 - 1, 0, changed_ns) for trace_id in sorted({*trace_ids} - {""})]


@dataclass(slots=True)
class _News:
    steps: bool = False
    started: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    hints: set[str] = field(default_factory=set)
    others: bool = False
    callers: set[tuple[str, str]] = field(default_factory=set)


# No model call is looked for further back: what began earlier and still runs is no call that another one is part of.
_LONGEST_CALL_NS = 3600 * 10**9


def window(trace: Trace) -> tuple[int, int]:
    """Return from when to when others may have begun whose model calls are this trace's.

    What lies around a trace of nothing but model calls began before it; what lies inside any trace, after.
    """
    first = trace.started_ns if trace.other_steps else max(0, trace.started_ns - _LONGEST_CALL_NS)
    return first, max(trace.started_ns, trace.ended_ns)


def beside(traces: Sequence[Trace], calls: Sequence[tuple[str, str, str, int]]) -> Mapping[str, Sequence[str]]:
    """Return, for each trace, the others whose calls (instance, scope, trace id, start) fit it."""
    by_instance: dict[str, list[tuple[str, str, int]]] = {}
    for instance, scope, trace_id, started_ns in calls:
        by_instance.setdefault(instance, []).append((scope, trace_id, started_ns))
    found: dict[str, set[str]] = {}
    for trace in traces:
        first, last = window(trace)
        for instance, own in trace.callers:
            for scope, trace_id, started_ns in by_instance.get(instance, ()):
                if scope != own and trace_id != trace.trace_id and first <= started_ns <= last:
                    found.setdefault(trace.trace_id, set()).add(trace_id)
    return {trace_id: sorted(names) for trace_id, names in found.items()}
