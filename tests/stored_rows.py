"""Hand-made rows, payloads and parts for tests of stores, and strategies for arbitrary ones."""

import hashlib
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from runreel.canonical import payload_marker, split_payload
from runreel.values import (
    Dropped,
    Event,
    Facts,
    Gap,
    Link,
    LogEvent,
    Part,
    Payload,
    Pointer,
    Resource,
    Scope,
    Span,
    SpanKey,
    SpanRow,
    SplitBatch,
    Value,
)

TRACE = "0af7651916cd43dd8448eb211c80319c"
OTHER_TRACE = "1bf7651916cd43dd8448eb211c80319d"
SERVICE = Resource({"service.name": "billing", "service.instance.id": "billing-1"})


def part(data: bytes, tenant: str = "default", media_type: str = "text/plain; charset=utf-8") -> Part:
    return Part(tenant, hashlib.sha256(data).hexdigest(), data, media_type)


def payload(value: Value, tenant: str = "default") -> tuple[Payload, list[Part]]:
    ref, skeleton, parts = split_payload(value)
    stored = [Part(tenant, sha256, data, media_type) for sha256, (data, media_type) in parts.items()]
    return Payload(tenant, ref, skeleton, tuple(parts)), stored


def row(
    span_id: str = "b7ad6b7169203331", *, trace_id: str = TRACE, tenant: str = "default", **changes: Any
) -> SpanRow:
    facts = changes.pop("facts", Facts(kind="llm", kind_source="gen_ai.operation.name", dialect="otel", model="m-1"))
    fields: dict[str, Any] = {
        "parent_id": None,
        "name": "chat m-1",
        "start_ns": 1_760_000_000_000_000_000,
        "end_ns": 1_760_000_001_000_000_000,
        "resource": SERVICE,
        "scope": Scope("otel.genai", "1"),
        "attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"},
        **changes,
    }
    copy = hashlib.sha256(repr((span_id, trace_id, fields)).encode()).hexdigest()[:32]
    return SpanRow(Span(SpanKey(tenant, trace_id, span_id, copy), **fields), facts)


def log(trace_id: str = TRACE, span_id: str = "b7ad6b7169203331", tenant: str = "default", **changes: Any) -> LogEvent:
    copy = hashlib.sha256(repr((trace_id, span_id, changes)).encode()).hexdigest()[:32]
    return LogEvent(tenant, trace_id, span_id, **{"event_name": "gen_ai.choice", "copy": copy, **changes})


def batch_with_payload(value: Value, tenant: str = "default", trace_id: str = TRACE) -> SplitBatch:
    """One model call whose output messages are stored as a payload."""
    stored, parts = payload(value, tenant)
    marked = row(tenant=tenant, trace_id=trace_id, attributes={"gen_ai.output.messages": payload_marker(stored.ref)})
    return SplitBatch(tenant, (marked,), (), (stored,), tuple(parts))


texts = st.text(st.characters(codec=None), max_size=20)
_ids = st.integers(1, 2**64 - 1).map(lambda number: f"{number:016x}")
_traces = st.integers(1, 2**128 - 1).map(lambda number: f"{number:032x}")
_u64 = st.integers(0, 2**64 - 1)
_u32 = st.integers(0, 2**32 - 1)
_i32 = st.integers(-(2**31), 2**31 - 1)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False)
    | texts
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
_maps = st.dictionaries(texts, values, max_size=3)
_resources = st.builds(Resource, _maps, texts, _u32)
_scopes = st.builds(Scope, texts, texts, _maps, texts, _u32)
_gaps = st.builds(
    Gap, st.none() | st.integers(0, 9), texts, st.sampled_from(["frozen", "live", "diagnose"]), texts, texts
)
_facts = st.builds(
    Facts,
    kind=st.sampled_from(["agent", "llm", "tool", "other"]),
    dialect=texts,
    name=texts,
    run_hint=texts,
    call_id=texts,
    agent_id=texts,
    model=texts,
    provider=texts,
    input_tokens=st.none() | st.integers(-1, 2**70),
    output_tokens=st.none() | _u64,
    content=st.dictionaries(texts, st.builds(Pointer, texts, st.lists(texts, max_size=2).map(tuple)), max_size=2),
    gaps=st.lists(_gaps, max_size=2).map(tuple),
)
_marks = st.lists(texts, max_size=2).map(tuple)


def span_rows(tenant: str) -> st.SearchStrategy[SpanRow]:
    keys = st.builds(SpanKey, st.just(tenant), _traces, _ids)
    spans = st.builds(
        Span,
        key=keys,
        parent_id=st.none() | st.just("") | _ids,
        name=texts,
        start_ns=_u64,
        end_ns=_u64,
        status=_i32,
        message=texts,
        scope=_scopes,
        resource=_resources,
        attributes=_maps,
        events=st.lists(st.builds(Event, texts, _u64, _maps, _u32), max_size=2).map(tuple),
        links=st.lists(st.builds(Link, _traces, _ids, texts, _maps, _u32, _u32), max_size=2).map(tuple),
        dropped=st.builds(Dropped, _u32, _u32, _u32),
        marks=_marks,
        kind=_i32,
        trace_state=texts,
        flags=_u32,
    )
    return st.builds(SpanRow, spans, _facts).map(_with_copy)


def log_events(tenant: str) -> st.SearchStrategy[LogEvent]:
    return st.builds(
        LogEvent,
        tenant=st.just(tenant),
        trace_id=_traces,
        span_id=st.just("") | _ids,
        event_name=texts,
        time_ns=_u64,
        observed_ns=_u64,
        severity=_i32,
        severity_text=texts,
        body=values,
        attributes=_maps,
        resource=_resources,
        scope=_scopes,
        dropped=_u32,
        flags=_u32,
        marks=_marks,
    ).map(lambda event: replace(event, copy=hashlib.sha256(repr(event).encode()).hexdigest()[:32]))


def _with_copy(drawn: SpanRow) -> SpanRow:
    """A copy names a content: no two rows share one."""
    key = replace(drawn.span.key, copy=hashlib.sha256(repr(drawn).encode()).hexdigest()[:32])
    return replace(drawn, span=replace(drawn.span, key=key))
