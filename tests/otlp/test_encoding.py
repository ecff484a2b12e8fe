"""Encoding is the inverse of decoding, for any values that OTLP can carry."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otlp_build import TID
from runreel import otlp
from runreel.values import Dropped, Event, Link, LogEvent, Resource, Scope, Span, SpanKey, Value

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
U64 = st.integers(0, 2**64 - 1)
U32 = st.integers(0, 2**32 - 1)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | TEXT | st.binary(max_size=12)
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ATTRIBUTES = st.dictionaries(TEXT, VALUES, max_size=3)
SMALL = st.dictionaries(st.sampled_from(["a", "b"]), SCALARS, max_size=2)


def ids(length: int) -> st.SearchStrategy[str]:
    return st.binary(min_size=length, max_size=length).filter(any).map(bytes.hex)


RESOURCES = st.builds(Resource, SMALL, TEXT, U32)
SCOPES = st.builds(Scope, TEXT, TEXT, SMALL, TEXT, U32)
SPANS = st.builds(
    Span,
    key=st.builds(SpanKey, st.just("acme"), ids(16), ids(8)),
    parent_id=st.none() | ids(8),
    name=TEXT,
    start_ns=U64,
    end_ns=U64,
    status=st.integers(0, 2),
    message=TEXT,
    scope=SCOPES,
    resource=RESOURCES,
    attributes=ATTRIBUTES,
    events=st.lists(st.builds(Event, TEXT, U64, ATTRIBUTES, U32), max_size=2).map(tuple),
    links=st.lists(st.builds(Link, ids(16), ids(8), TEXT, SMALL, U32, U32), max_size=2).map(tuple),
    dropped=st.builds(Dropped, U32, U32, U32),
    kind=st.integers(0, 5),
    trace_state=TEXT,
    flags=U32,
)
LOGS = st.builds(
    LogEvent,
    tenant=st.just("acme"),
    trace_id=st.just("") | ids(16),
    span_id=st.just("") | ids(8),
    event_name=TEXT,
    time_ns=U64,
    observed_ns=U64,
    severity=st.integers(0, 24),
    severity_text=TEXT,
    body=VALUES,
    attributes=ATTRIBUTES,
    resource=RESOURCES,
    scope=SCOPES,
    dropped=U32,
    flags=U32,
)


@given(st.lists(SPANS, max_size=4), st.sampled_from(["protobuf", "json"]))
def test_spans_decode_to_what_was_encoded(spans: list[Span], encoding: otlp.Encoding) -> None:
    batch = otlp.decode("traces", otlp.encode("traces", spans, encoding), encoding, "acme")

    assert repr(batch.spans) == repr(tuple(spans))  # repr tells 1, 1.0 and True apart, and takes NaN
    assert batch.rejected == ()


@given(st.lists(LOGS, max_size=4), st.sampled_from(["protobuf", "json"]))
def test_log_events_decode_to_what_was_encoded(logs: list[LogEvent], encoding: otlp.Encoding) -> None:
    batch = otlp.decode("logs", otlp.encode("logs", logs, encoding), encoding, "acme")

    assert repr(batch.logs) == repr(tuple(logs))


def _span(resource: Resource, name: str = "x") -> Span:
    return Span(SpanKey("default", TID, "00000000000000a1"), None, name, 1, 2, resource=resource)


def test_spans_of_one_resource_share_it() -> None:
    spans = [_span(Resource({"service.name": "a"})) for _ in range(3)]

    document = json.loads(otlp.encode("traces", spans, "json"))

    assert len(document["resourceSpans"]) == 1
    assert len(document["resourceSpans"][0]["scopeSpans"][0]["spans"]) == 3


def test_resources_that_differ_in_type_only_are_not_shared() -> None:
    spans = [_span(Resource({"n": 1})), _span(Resource({"n": True})), _span(Resource({"n": 1.0}))]

    batch = otlp.decode("traces", otlp.encode("traces", spans, "protobuf"), "protobuf", "default")

    assert [type(item.resource.attributes["n"]) for item in batch.spans] == [int, bool, float]


def test_json_is_written_as_the_specification_has_it() -> None:
    one = Span(
        SpanKey("default", TID, "00000000000000a1"),
        "00000000000000a0",
        "x",
        2**64 - 1,
        5,
        attributes={"n": 2**53 + 1, "raw": b"\xff", "traceId": "AAAA", "none": None, "nan": float("nan")},
        kind=3,
    )

    span = json.loads(otlp.encode("traces", [one], "json"))["resourceSpans"][0]["scopeSpans"][0]["spans"][0]

    assert (span["traceId"], span["spanId"], span["parentSpanId"]) == (TID, "00000000000000a1", "00000000000000a0")
    assert (span["startTimeUnixNano"], span["endTimeUnixNano"], span["kind"]) == (str(2**64 - 1), "5", 3)
    assert {pair["key"]: pair["value"] for pair in span["attributes"]} == {
        "n": {"intValue": str(2**53 + 1)},
        "raw": {"bytesValue": base64.b64encode(b"\xff").decode()},
        "traceId": {"stringValue": "AAAA"},
        "none": {},
        "nan": {"doubleValue": "NaN"},
    }


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_a_lone_surrogate_becomes_the_replacement_character(encoding: otlp.Encoding) -> None:
    data = otlp.encode("traces", [_span(Resource({"k\ud83d": "v\udc80"}), "n\ud83d")], encoding)

    (item,) = otlp.decode("traces", data, encoding, "default").spans

    assert item.name == "n\ufffd"
    assert item.resource.attributes == {"k\ufffd": "v\ufffd"}


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_a_number_beyond_64_bits_is_refused(encoding: otlp.Encoding) -> None:
    with pytest.raises(ValueError):
        otlp.encode("traces", [_span(Resource({"n": 2**63}))], encoding)
