"""What OTLP clients are answered: responses, partial success, google.rpc.Status and RetryInfo."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from runreel.otlp.common import Encoding, Signal
from runreel.text import many
from runreel.values import Rejection

UNAVAILABLE = 14
_MESSAGE_CHARS = 1000
_PATHS = {"span": "traces", "log": "logs"}
_JSON_NAMES = {"traces": "rejectedSpans", "logs": "rejectedLogRecords", "metrics": "rejectedDataPoints"}


def encode_response(signal: Signal | Literal["metrics"], encoding: Encoding, rejected: Sequence[Rejection]) -> bytes:
    """Encode the answer to a request that was taken. Rejected records make it a partial success; the client does not
    send them again. An empty message is an empty body in protobuf and `{}` in JSON, for metrics too; a rejected record
    of another signal than the path's is in the message alone."""
    if not rejected:
        return b"" if encoding == "protobuf" else b"{}"
    message = _summary(rejected)
    count = sum(1 for one in rejected if _PATHS[one.signal] == signal)
    if encoding == "json":
        return _json({"partialSuccess": {_JSON_NAMES[signal]: str(count), "errorMessage": message}})
    if signal == "logs":
        logs = ExportLogsPartialSuccess(rejected_log_records=count, error_message=message)
        return ExportLogsServiceResponse(partial_success=logs).SerializeToString()
    spans = ExportTracePartialSuccess(rejected_spans=count, error_message=message)
    return ExportTraceServiceResponse(partial_success=spans).SerializeToString()


def _summary(rejected: Sequence[Rejection]) -> str:
    """Say how many records were not taken and why, with one example a reason."""
    examples = {rejection.reason: rejection.detail for rejection in reversed(rejected)}
    counts = Counter(rejection.reason for rejection in rejected)
    listed = "; ".join(f"{reason} x {count} ({examples[reason]})" for reason, count in sorted(counts.items()))
    spans = sum(1 for one in rejected if one.signal == "span")
    said = [many(count, noun) for count, noun in ((spans, "span"), (len(rejected) - spans, "log record")) if count]
    return f"{' and '.join(said)} not taken: {listed}"[:_MESSAGE_CHARS]


def encode_status(encoding: Encoding, code: int, message: str) -> bytes:
    """Encode a google.rpc.Status, the body of every error reply. `code` is gRPC's number."""
    if encoding == "json":
        return _json({"code": code, "message": message[:_MESSAGE_CHARS]})
    return _status(code, message, ())


def encode_retry_info(seconds: float, code: int = UNAVAILABLE, message: str = "") -> bytes:
    """Encode a google.rpc.Status with RetryInfo, for gRPC's `grpc-status-details-bin`: come back after `seconds`."""
    delay = Duration()
    delay.FromNanoseconds(max(0, round(seconds * 1e9)))
    details = Any()
    details.Pack(RetryInfo(retry_delay=delay))
    return _status(code, message, (details,))


def _status(code: int, message: str, details: Sequence[Any]) -> bytes:
    body: bytes = Status(code=code, message=message[:_MESSAGE_CHARS], details=details).SerializeToString()
    return body


def _json(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
