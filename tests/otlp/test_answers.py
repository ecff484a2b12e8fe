"""Answers that official clients can read."""

import json

import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from runreel import otlp
from runreel.values import Rejection

REJECTED = [
    Rejection("span", "invalid_id", "traceId: all zeros"),
    Rejection("span", "invalid_time", "startTimeUnixNano: not a whole number"),
    Rejection("span", "invalid_id", "spanId: 8 bytes wanted, got 2"),
]
SAID = (
    "3 spans not taken: invalid_id x 2 (traceId: all zeros); invalid_time x 1 (startTimeUnixNano: not a whole number)"
)


@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
def test_full_success_is_an_empty_message(signal: otlp.Signal) -> None:
    assert otlp.encode_response(signal, "protobuf", []) == b""
    assert otlp.encode_response(signal, "json", []) == b"{}"


def test_a_partial_success_counts_and_names_what_was_not_taken() -> None:
    answer = ExportTraceServiceResponse.FromString(otlp.encode_response("traces", "protobuf", REJECTED))

    assert answer.partial_success.rejected_spans == 3
    assert answer.partial_success.error_message == SAID
    assert json.loads(otlp.encode_response("traces", "json", REJECTED)) == {
        "partialSuccess": {"rejectedSpans": "3", "errorMessage": SAID}
    }


def test_rejected_log_records_have_their_own_field() -> None:
    rejected = [Rejection("log", "invalid_id", "x")]

    answer = ExportLogsServiceResponse.FromString(otlp.encode_response("logs", "protobuf", rejected))

    assert answer.partial_success.rejected_log_records == 1
    assert answer.partial_success.error_message == "1 log record not taken: invalid_id x 1 (x)"
    assert json.loads(otlp.encode_response("logs", "json", rejected))["partialSuccess"]["rejectedLogRecords"] == "1"


def test_records_of_another_signal_are_named_and_counted_apart() -> None:
    rejected = [Rejection("log", "wrong_path", "x"), *REJECTED]

    answer = ExportTraceServiceResponse.FromString(otlp.encode_response("traces", "protobuf", rejected))
    metrics = json.loads(otlp.encode_response("metrics", "json", rejected))["partialSuccess"]

    assert answer.partial_success.rejected_spans == 3
    assert answer.partial_success.error_message.startswith("3 spans and 1 log record not taken: ")
    assert metrics["rejectedDataPoints"] == "0"


def test_the_message_is_bounded() -> None:
    many = [Rejection("span", f"reason_{n}", "d" * 200) for n in range(50)]

    answer = ExportTraceServiceResponse.FromString(otlp.encode_response("traces", "protobuf", many))

    assert len(answer.partial_success.error_message) == 1000


def test_a_status_is_written_in_the_encoding_of_the_request() -> None:
    status = Status.FromString(otlp.encode_status("protobuf", 3, "not JSON"))

    assert (status.code, status.message) == (3, "not JSON")
    assert json.loads(otlp.encode_status("json", 3, "not JSON")) == {"code": 3, "message": "not JSON"}


def test_retry_info_says_when_to_come_back() -> None:
    status = Status.FromString(otlp.encode_retry_info(1.5, message="full"))
    info = RetryInfo()

    assert status.code == 14
    assert status.details[0].Unpack(info)
    assert info.retry_delay.ToMilliseconds() == 1500
