"""The codec as its users see it: both codings, on what real clients send and on the cases of the field."""

import base64
import json
import math
from pathlib import Path
from typing import Any

import pytest

from codec_kit import both
from otlp_build import ROOT, T0, TID, agent, log, logs_req, msg, otlp_json, req, span, tool
from runreel import otlp
from runreel.values import LogEvent, RawBatch, Span

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
# Captures that are kept in both codings; of some there are only the bytes as they came.
PAIRS = [
    (path, text)
    for path in sorted(CAPTURES.rglob("0*"))
    if path.suffix in {".bin", ".body"} and (text := path.with_suffix(".json")).exists()
]


def spans_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return document["resourceSpans"][0]["scopeSpans"][0]["spans"]


def from_json(document: dict[str, Any]) -> RawBatch:
    return otlp.decode("traces", json.dumps(document).encode(), "json", "default")


@pytest.mark.parametrize(("raw", "text"), PAIRS, ids=lambda path: "/".join(path.parts[-3:]))
def test_both_codings_of_a_capture_decode_to_equal_batches(raw: Path, text: Path) -> None:
    data = raw.read_bytes()
    found = otlp.sniff(data)
    assert found is not None

    batch = otlp.decode(*_with(found, data))
    again = otlp.decode(found[0], text.read_bytes(), "json", "default")

    assert batch == again
    assert repr(batch) == repr(again)  # equal in types too
    assert batch.spans or batch.logs
    assert not batch.rejected
    assert not any(item.marks for item in (*batch.spans, *batch.logs))


@pytest.mark.parametrize(("raw", "text"), PAIRS, ids=lambda path: "/".join(path.parts[-3:]))
@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_a_capture_survives_being_encoded_again(raw: Path, text: Path, encoding: otlp.Encoding) -> None:
    data = text.read_bytes()
    found = otlp.sniff(data)
    assert found is not None
    batch = otlp.decode(*_with(found, data))
    items = batch.spans or batch.logs

    again = otlp.decode(found[0], otlp.encode(found[0], items, encoding), encoding, "default")

    assert repr(again) == repr(batch)


def _with(found: tuple[otlp.Signal, otlp.Encoding], data: bytes) -> tuple[otlp.Signal, bytes, otlp.Encoding, str]:
    return found[0], data, found[1], "default"


def test_captures_are_there() -> None:
    assert len(PAIRS) > 30


def test_json_ids_are_hex_of_any_case_and_unknown_fields_are_ignored() -> None:
    document = otlp_json(req(agent(), tool("00000000000000b1", ROOT, "ping", {}, "ok")))
    before = from_json(document)
    first = spans_of(document)[0]
    first["traceId"] = first["traceId"].upper()
    first["spanId"] = first["spanId"].upper()
    first["futureField"] = {"x": 1}
    first["links"] = None
    first["attributes"][0]["value"]["futureValue"] = 3
    document["another"] = []

    batch = from_json(document)

    assert batch == before
    assert batch.spans[0].key.trace_id == TID


@pytest.mark.parametrize("form", [str, int, float])
def test_json_numbers_of_64_bits_come_as_strings_or_numbers(form: Any) -> None:
    document = otlp_json(req(span("x", "00000000000000c1", attrs={"n": 4096})))
    found = spans_of(document)[0]
    found["startTimeUnixNano"] = form(T0)
    found["attributes"][0]["value"]["intValue"] = form(4096)

    (item,) = from_json(document).spans

    assert item.start_ns == T0
    assert item.attributes == {"n": 4096}
    assert type(item.attributes["n"]) is int


def test_json_enums_may_be_names_and_a_missing_kind_is_fine() -> None:
    document = otlp_json(req(agent(), agent("00000000000000a1")))
    for found in spans_of(document):
        for key in ("kind", "status", "flags"):
            found.pop(key, None)
    spans_of(document)[1].update(kind="SPAN_KIND_CLIENT", status={"code": "STATUS_CODE_ERROR", "message": "no"})

    first, second = from_json(document).spans

    assert (first.kind, first.status) == (0, 0)
    assert (second.kind, second.status, second.message) == (3, 2, "no")


BAD_FIELDS = [
    ("startTimeUnixNano", "yesterday", "invalid_time"),
    ("startTimeUnixNano", -1, "invalid_time"),
    ("endTimeUnixNano", str(2**64), "invalid_time"),
    ("endTimeUnixNano", 1.5, "invalid_time"),
    ("endTimeUnixNano", True, "invalid_time"),
    ("traceId", "0" * 32, "invalid_id"),
    ("traceId", "abcd", "invalid_id"),
    ("traceId", None, "invalid_id"),
    ("spanId", "", "invalid_id"),
    ("spanId", "zz00000000000001", "invalid_id"),
    ("spanId", base64.b64encode(b"12345678").decode(), "invalid_id"),
    ("parentSpanId", "abcd", "invalid_id"),
    ("spanId", 7, "invalid_id"),
    ("name", 7, "invalid_value"),
    ("kind", "SPAN_KIND_UNHEARD_OF", "invalid_value"),
    ("kind", 2**31, "invalid_value"),
    ("droppedAttributesCount", 2**32, "invalid_value"),
    ("status", [], "malformed"),
    ("events", {}, "malformed"),
    ("events", ["x"], "malformed"),
    ("attributes", [{"key": "k", "value": "bare"}], "malformed"),
    ("attributes", [{"key": "k", "value": {"intValue": "9223372036854775808"}}], "invalid_value"),
    ("attributes", [{"key": "k", "value": {"intValue": "12.0"}}], "invalid_value"),
    ("attributes", [{"key": "k", "value": {"boolValue": "true"}}], "invalid_value"),
    ("attributes", [{"key": "k", "value": {"doubleValue": "1_0"}}], "invalid_value"),
    ("attributes", [{"key": "k", "value": {"doubleValue": True}}], "invalid_value"),
    ("attributes", [{"key": "k", "value": {"doubleValue": 10**400}}], "invalid_value"),
    ("attributes", [{"key": "k", "value": {"bytesValue": "not base64!"}}], "invalid_value"),
    ("attributes", [{"key": "k", "value": {"bytesValue": "\u00e9"}}], "invalid_value"),
    ("attributes", [{"key": "k", "value": {"bytesValue": "A"}}], "invalid_value"),
    ("attributes", [{"key": "k", "value": {"stringValue": 5}}], "invalid_value"),
    ("attributes", [{"key": "k", "value": {"arrayValue": {"values": "x"}}}], "malformed"),
    ("links", [{"traceId": "x"}], "invalid_id"),
]


@pytest.mark.parametrize(("field", "value", "reason"), BAD_FIELDS)
def test_one_bad_json_span_is_rejected_alone(field: str, value: Any, reason: str) -> None:
    document = otlp_json(req(agent(), tool("00000000000000c1", ROOT, "ping", {}, "ok"), agent("00000000000000a1")))
    spans_of(document)[1][field] = value

    batch = from_json(document)

    assert [item.key.span_id for item in batch.spans] == [ROOT, "00000000000000a1"]
    assert [(bad.signal, bad.reason) for bad in batch.rejected] == [("span", reason)]


def test_a_json_span_that_is_no_object_is_rejected_alone() -> None:
    document = otlp_json(req(agent(), agent("00000000000000a1")))
    spans_of(document)[0] = "secret text"  # type: ignore[call-overload]

    batch = from_json(document)

    assert len(batch.spans) == 1
    assert batch.rejected[0].reason == "malformed"
    assert "secret" not in batch.rejected[0].detail


@pytest.mark.parametrize(
    "bad", [{"trace_id": b"\0" * 16}, {"span_id": b"\0" * 8}, {"trace_id": b"short"}, {"span_id": b""}]
)
def test_one_protobuf_span_with_a_bad_id_is_rejected_alone(bad: dict[str, bytes]) -> None:
    odd = agent("00000000000000a1")
    for name, value in bad.items():
        setattr(odd, name, value)
    request = req(agent(), odd, tool("00000000000000c1", ROOT, "ping", {}, "ok"))

    batch = otlp.decode("traces", request.SerializeToString(), "protobuf", "default")

    assert [item.key.span_id for item in batch.spans] == [ROOT, "00000000000000c1"]
    assert [(item.signal, item.reason) for item in batch.rejected] == [("span", "invalid_id")]


def test_a_parent_of_zeros_is_no_parent() -> None:
    one = agent()
    one.parent_span_id = bytes(8)

    for batch in both(req(one)):
        assert batch.spans[0].parent_id is None


def test_log_records_without_ids_belong_to_no_span_and_wrong_ids_are_rejected() -> None:
    wrong = log("other", "00000000000000b1")
    wrong.trace_id = b"abc"

    for batch in both(logs_req(log("alone"), log("attached", "00000000000000b1"), wrong)):
        alone, attached = batch.logs
        assert (alone.trace_id, alone.span_id) == ("", "")
        assert (attached.trace_id, attached.span_id) == (TID, "00000000000000b1")
        assert (attached.time_ns, attached.observed_ns) == (0, T0)
        assert [(item.signal, item.reason) for item in batch.rejected] == [("log", "invalid_id")]


NESTED = {"a": [1, 2.5, True, None, {"b": []}], "empty": {}, "raw": b"\x00\xff"}
EVERY_VALUE = {
    "list.empty": [],
    "map.empty": {},
    "nothing": None,
    "zero.int": 0,
    "zero.float": 0.0,
    "minus.zero": -0.0,
    "false": False,
    "empty.str": "",
    "nested": NESTED,
    "bytes": b"\x00\x01\xfe",
    "big": 2**63 - 1,
    "small": -(2**63),
    "finish": ["stop"],
    "mixed": ["a", 1],
    "messages": [msg("user", "hi \U0001f642")],
    "inf": float("-inf"),
    "tiny": 5e-324,
}
EXPECTED = {
    **EVERY_VALUE,
    "list.empty": (),
    "nested": {"a": (1, 2.5, True, None, {"b": ()}), "empty": {}, "raw": b"\x00\xff"},
    "finish": ("stop",),
    "mixed": ("a", 1),
    "messages": ({"role": "user", "parts": ({"type": "text", "content": "hi \U0001f642"},)},),
}


def test_every_kind_of_value_comes_through_with_its_type() -> None:
    for batch in both(req(span("x", "00000000000000c1", attrs=EVERY_VALUE))):
        assert repr(batch.spans[0].attributes) == repr(EXPECTED)


def test_not_a_number_comes_through() -> None:
    for batch in both(req(span("x", "00000000000000c1", attrs={"score": float("nan")}))):
        score = batch.spans[0].attributes["score"]
        assert isinstance(score, float)
        assert math.isnan(score)


@pytest.mark.parametrize("text", ["_-8=", "_-8", "/+8=", "/+8"])
def test_json_bytes_are_base64_of_either_alphabet(text: str) -> None:
    document = otlp_json(req(span("x", "00000000000000c1", attrs={"raw": b"x"})))
    spans_of(document)[0]["attributes"][0]["value"] = {"bytesValue": text}

    assert from_json(document).spans[0].attributes == {"raw": b"\xff\xef"}


@pytest.mark.parametrize(
    "value",
    [None, {}, {"stringValue": None}, {"arrayValue": None, "intValue": None}, {"stringValueStrindex": 4}],
)
def test_null_is_unset(value: Any) -> None:
    document = otlp_json(req(span("x", "00000000000000c1", attrs={"k": 1})))
    spans_of(document)[0]["attributes"][0]["value"] = value

    assert from_json(document).spans[0].attributes == {"k": None}


def test_times_are_kept_as_they_came() -> None:
    back = span("x", "00000000000000c1", ROOT, at=100, ms=-40)
    huge = span("x", "00000000000000c2", ROOT)
    huge.start_time_unix_nano = huge.end_time_unix_nano = 2**64 - 1
    unset = span("x", "00000000000000c3", ROOT)
    unset.start_time_unix_nano = unset.end_time_unix_nano = 0

    for batch in both(req(back, huge, unset)):
        assert [(item.start_ns, item.end_ns) for item in batch.spans] == [
            (T0 + 100_000_000, T0 + 60_000_000),
            (2**64 - 1, 2**64 - 1),
            (0, 0),
        ]


def test_of_repeated_keys_the_last_wins_and_the_span_is_marked() -> None:
    request = req(
        span("x", "00000000000000c1", attrs=[("a", 1), ("b", 2), ("a", 3)]),
        span("y", "00000000000000c2", attrs=[("a", 1)]),
    )

    for batch in both(request):
        assert batch.spans[0].attributes == {"a": 3, "b": 2}
        assert [item.marks for item in batch.spans] == [("duplicate_key",), ()]


def test_a_repeated_key_of_a_resource_marks_all_its_spans() -> None:
    request = req(agent(), agent("00000000000000a1"), res=[("service.name", "a"), ("service.name", "b")])

    for batch in both(request):
        assert [item.marks for item in batch.spans] == [("duplicate_key",)] * 2
        assert batch.spans[0].resource.attributes == {"service.name": "b"}


def test_an_empty_request_is_a_request() -> None:
    assert otlp.decode("traces", b"", "protobuf", "t") == RawBatch("t")
    assert otlp.decode("logs", b"{}", "json", "t") == RawBatch("t")


def test_everything_about_a_span_is_read() -> None:
    one = span("x", "00000000000000c1", ROOT, kind=4, trace_state="a=1", flags=0x101, dropped_attributes_count=1)
    one.dropped_events_count, one.dropped_links_count = 2, 3
    one.status.code, one.status.message = 2, "boom"  # type: ignore[assignment]
    one.events.add(name="e", time_unix_nano=5, dropped_attributes_count=4).attributes.extend(agent().attributes)
    one.links.add(trace_id=b"t" * 16, span_id=b"s" * 8, trace_state="b=2", flags=1, dropped_attributes_count=6)
    request = req(one)
    group = request.resource_spans[0]
    group.schema_url = "https://example.com/1"
    group.resource.dropped_attributes_count = 7
    scoped = group.scope_spans[0]
    scoped.schema_url, scoped.scope.version = "https://example.com/2", "1.0"
    scoped.scope.dropped_attributes_count = 8

    for batch in both(request):
        item: Span = batch.spans[0]
        assert (item.key.tenant, item.key.span_id, item.key.copy, item.parent_id) == (
            "acme",
            one.span_id.hex(),
            "",
            ROOT,
        )
        assert (item.kind, item.trace_state, item.flags, item.status, item.message) == (4, "a=1", 0x101, 2, "boom")
        assert (item.dropped.attributes, item.dropped.events, item.dropped.links) == (1, 2, 3)
        event, link = item.events[0], item.links[0]
        assert (event.name, event.time_ns, event.dropped, len(event.attributes)) == ("e", 5, 4, 2)
        assert (link.trace_id, link.span_id) == ((b"t" * 16).hex(), (b"s" * 8).hex())
        assert (link.trace_state, link.flags, link.dropped) == ("b=2", 1, 6)
        assert (item.resource.schema_url, item.resource.dropped) == ("https://example.com/1", 7)
        assert (item.scope.name, item.scope.version) == ("case", "1.0")
        assert (item.scope.schema_url, item.scope.dropped) == ("https://example.com/2", 8)


def test_everything_about_a_log_record_is_read() -> None:
    one = log("gen_ai.client.inference.operation.details", "00000000000000c1", body={"a": [1]}, attrs={"k": "v"})
    one.time_unix_nano, one.severity_number, one.severity_text = 9, 17, "ERROR"  # type: ignore[assignment]
    one.flags, one.dropped_attributes_count = 1, 2

    for batch in both(logs_req(one)):
        item: LogEvent = batch.logs[0]
        assert item.event_name == "gen_ai.client.inference.operation.details"
        assert (item.time_ns, item.observed_ns, item.severity, item.severity_text) == (9, T0, 17, "ERROR")
        assert (item.body, item.attributes, item.flags, item.dropped) == ({"a": (1,)}, {"k": "v"}, 1, 2)
