"""Requests that a strict parser refuses, and requests that nobody has named."""

import gzip
import json

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from otlp_build import ROOT, agent, log, logs_req, otlp_json, req, span, tool
from runreel import otlp

BAD = b"caf\xc3\x28"
FIXED = "caf\ufffd("
METRIC_NAME = "sixteen.chars.xx"  # as long as a trace id


def cut(request: object) -> bytes:
    """Serialise a request with bytes that are not UTF-8 wherever it says caf@@."""
    return request.SerializeToString().replace(b"caf@@", BAD)  # type: ignore[attr-defined,no-any-return]


def test_a_bad_string_is_repaired_and_its_span_marked_alone() -> None:
    good = req(agent(), tool("00000000000000c1", ROOT, "ping", {}, "ok")).SerializeToString()
    bad = cut(req(tool("00000000000000c2", ROOT, "cat", {"f": "x"}, "caf@@")))

    batch = otlp.decode("traces", good + bad + good, "protobuf", "default")

    assert [item.marks for item in batch.spans] == [(), (), ("utf8_repaired",), (), ()]
    assert batch.spans[2].attributes["gen_ai.tool.call.result"] == FIXED
    assert batch.spans[:2] == batch.spans[3:]
    assert batch.rejected == ()


@pytest.mark.parametrize("where", ["name", "key", "nested", "event", "status", "link"])
def test_bad_strings_are_repaired_wherever_they_stand(where: str) -> None:
    one = span("x", "00000000000000c1", attrs={"fine": "é", "n": 2**40})
    if where == "name":
        one.name = "caf@@"
    elif where == "key":
        one.attributes.add(key="caf@@").value.bool_value = True
    elif where == "nested":
        one.attributes.extend(span("y", ROOT, attrs={"deep": [{"k": [1, "caf@@"]}]}).attributes)
    elif where == "event":
        one.events.add(name="caf@@", time_unix_nano=4)
    elif where == "status":
        one.status.message = "caf@@"
    else:
        one.links.add(trace_state="caf@@", trace_id=b"t" * 16)
    expected = otlp.decode("traces", req(one).SerializeToString(), "protobuf", "default").spans[0]

    (item,) = otlp.decode("traces", cut(req(one)), "protobuf", "default").spans

    assert item.marks == ("utf8_repaired",)
    assert repr(item).replace("('utf8_repaired',)", "()").replace(FIXED, "caf@@") == repr(expected)


@pytest.mark.parametrize("where", ["resource", "scope", "schema"])
def test_a_bad_string_of_a_resource_or_scope_marks_the_spans_below(where: str) -> None:
    request = req(agent(), agent("00000000000000a1"), res={"service.name": "caf@@" if where == "resource" else "s"})
    if where == "scope":
        request.resource_spans[0].scope_spans[0].scope.version = "caf@@"
    if where == "schema":
        request.resource_spans[0].schema_url = "caf@@"
    other = req(agent("00000000000000a2"))

    batch = otlp.decode("traces", cut(request) + other.SerializeToString(), "protobuf", "default")

    assert [item.marks for item in batch.spans] == [("utf8_repaired",), ("utf8_repaired",), ()]


def test_a_record_that_cannot_be_parsed_is_left_out_alone() -> None:
    garbage = b"\x3f\x01\x02"  # a group's end that nothing began
    request = req(agent(), agent("00000000000000a1"), agent("00000000000000a2"))
    request.resource_spans[0].scope_spans[0].spans[1].name = "@" * 40
    data = request.SerializeToString()
    record = request.resource_spans[0].scope_spans[0].spans[1].SerializeToString()
    data = data.replace(record, garbage * (len(record) // 3) + b"\x00" * (len(record) % 3))

    batch = otlp.decode("traces", data, "protobuf", "default")

    assert [item.key.span_id for item in batch.spans] == [ROOT, "00000000000000a2"]
    assert [item.reason for item in batch.rejected] == ["malformed"]


def test_log_records_are_repaired_too() -> None:
    request = logs_req(log("a", body={"k": "caf@@"}), log("b", body="é"))

    batch = otlp.decode("logs", cut(request), "protobuf", "default")

    assert [item.marks for item in batch.logs] == [("utf8_repaired",), ()]
    assert [item.body for item in batch.logs] == [{"k": FIXED}, "é"]


def test_both_codings_repair_alike() -> None:
    request = req(agent(), tool("00000000000000c2", ROOT, "cat", {"f": "x"}, "caf@@ é"))
    document = json.dumps(otlp_json(request), ensure_ascii=False).encode().replace(b"caf@@", BAD)

    batch = otlp.decode("traces", document, "json", "default")

    assert batch == otlp.decode("traces", cut(request), "protobuf", "default")
    assert batch.spans[1].marks == ("utf8_repaired",)


def test_an_escaped_lone_surrogate_is_repaired_and_a_pair_is_not_touched() -> None:
    request = req(span("half: @@", "00000000000000c1"), span("whole: \U0001f642", "00000000000000c2"))
    document = json.dumps(otlp_json(request)).replace("@@", "\\ud83d").encode()

    first, second = otlp.decode("traces", document, "json", "default").spans

    assert (first.name, first.marks) == ("half: \ufffd", ("utf8_repaired",))
    assert (second.name, second.marks) == ("whole: \U0001f642", ())


def test_a_byte_order_mark_is_no_harm() -> None:
    document = b"\xef\xbb\xbf" + json.dumps(otlp_json(req(agent()))).encode()

    assert otlp.sniff(document) == ("traces", "json")
    assert len(otlp.decode("traces", document, "json", "default").spans) == 1


TRACES = req(agent(), tool("00000000000000c1", ROOT, "ping", {}, "ok"))
LOGS = logs_req(log("a", "00000000000000c1", body="text"), log("b"))


def test_content_tells_what_a_body_is() -> None:
    assert otlp.sniff(TRACES.SerializeToString()) == ("traces", "protobuf")
    assert otlp.sniff(LOGS.SerializeToString()) == ("logs", "protobuf")
    assert otlp.sniff(json.dumps(otlp_json(TRACES)).encode()) == ("traces", "json")
    assert otlp.sniff(json.dumps(otlp_json(LOGS), indent=2).encode()) == ("logs", "json")
    assert otlp.sniff(b'{"note": 1, "resourceLogs": []}') == ("logs", "json")
    assert otlp.sniff(b'{"note": 1, "resourceSpans": []}') == ("traces", "json")


def test_a_document_may_hold_both_and_an_empty_list_is_none() -> None:
    both = json.dumps({**otlp_json(TRACES), **otlp_json(LOGS)}).encode()

    assert otlp.held(both, "json") == {"traces", "logs"}
    assert otlp.held(json.dumps({**otlp_json(TRACES), "resourceLogs": []}).encode(), "json") == {"traces"}
    assert otlp.held(TRACES.SerializeToString(), "protobuf") == {"traces"}
    assert otlp.held(LOGS.SerializeToString(), "protobuf") == {"logs"}
    assert otlp.held(_metrics(), "protobuf") == frozenset()
    for nothing in (b"{}", b'{"resourceMetrics": []}', b'{"resourceLogs": [', b'"resourceSpans"', b'["resourceSpans"]'):
        assert otlp.held(nothing, "json") == frozenset()


def test_a_body_with_one_bad_record_is_still_named() -> None:
    odd = agent()
    odd.trace_id = b""

    assert otlp.sniff(req(odd, agent()).SerializeToString()) == ("traces", "protobuf")


def test_a_body_that_breaks_off_is_named_so_that_its_fault_can_be_told() -> None:
    whole = TRACES.SerializeToString()

    assert otlp.sniff(whole[: len(whole) // 2]) == ("traces", "protobuf")
    assert otlp.sniff(b'{"resourceSpans": [') == ("traces", "json")


def _metrics() -> bytes:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add()
    metric.name, metric.description, metric.unit = METRIC_NAME, "8 chars.", "1"
    metric.sum.data_points.add(as_int=3, time_unix_nano=5)
    return request.SerializeToString()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"{broken",
        b'{"resourceMetrics": []}',
        b"\nHello, this is some text\nin two lines, and a third\n",
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        bytes(range(256)) * 4,
        gzip.compress(TRACES.SerializeToString()),
        _metrics(),
        req().SerializeToString(),
        b"time,level,text\n1,info,ok\n",
    ],
)
def test_anything_else_has_no_name(data: bytes) -> None:
    assert otlp.sniff(data) is None
