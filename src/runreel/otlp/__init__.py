"""The codec: OTLP requests, as protobuf and as JSON, to and from values. The only importer of the OTLP protobufs."""

import re
from collections.abc import Sequence
from typing import cast

from runreel.errors import DecodeError
from runreel.otlp import binary, text, wire
from runreel.otlp.answers import encode_response, encode_retry_info, encode_status
from runreel.otlp.common import DUPLICATE_KEY, MAX_DEPTH, UTF8_REPAIRED, Encoding, Signal
from runreel.otlp.compression import gunzip
from runreel.otlp.encoding import encode_logs, encode_spans
from runreel.values import LogEvent, RawBatch, Span

__all__ = [
    "DUPLICATE_KEY",
    "MAX_DEPTH",
    "UTF8_REPAIRED",
    "Encoding",
    "Signal",
    "decode",
    "encode",
    "encode_response",
    "encode_retry_info",
    "encode_status",
    "gunzip",
    "held",
    "sniff",
]

_FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(resourceSpans|resourceLogs)"\s*:')
_NAMES: dict[Signal, bytes] = {signal: f'"{outer}"'.encode() for signal, (outer, _, _) in text.PATHS.items()}
_JSON_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")


def decode(signal: Signal, data: bytes, encoding: Encoding, tenant: str) -> RawBatch:
    """Decode one request, uncompressed.

    A record that cannot be taken (`invalid_id`, `invalid_time`, `invalid_value`, `too_deep`, `malformed`) is listed in
    `rejected`, alone. Text that is not UTF-8 is repaired with U+FFFD and the record marked `utf8_repaired`; of repeated
    attribute keys the last wins, marked `duplicate_key`. Raises DecodeError where the bytes are no such request; its
    message holds no text of them.
    """
    if encoding == "protobuf":
        return binary.decode(signal, data, tenant)
    return text.decode(signal, data, tenant)


def encode(signal: Signal, items: Sequence[Span] | Sequence[LogEvent], encoding: Encoding) -> bytes:
    """Encode spans (traces) or log events (logs) as one request: `decode(encode(x)) == x`, but for copy and marks.

    Lone surrogates become U+FFFD. Raises ValueError for numbers outside their OTLP range.
    """
    if signal == "traces":
        return encode_spans(cast("Sequence[Span]", items), encoding)
    return encode_logs(cast("Sequence[LogEvent]", items), encoding)


def sniff(data: bytes) -> tuple[Signal, Encoding] | None:
    """Say what an uncompressed body is, by its content; None where it is no request of spans or log records."""
    if not _JSON_START.match(data):
        signal = wire.sniff(data, binary.RECORDS["traces"].DESCRIPTOR, binary.RECORDS["logs"].DESCRIPTOR)
        return None if signal is None else (signal, "protobuf")
    first = _FIRST_KEY.match(data)
    if first:
        return ("traces" if first[1] == b"resourceSpans" else "logs"), "json"
    try:
        document, _ = text.parse(data)
    except DecodeError:
        return None
    if "resourceSpans" in document:
        return "traces", "json"
    return ("logs", "json") if "resourceLogs" in document else None


def held(data: bytes, encoding: Encoding) -> frozenset[Signal]:
    """Say of which signals an uncompressed body holds records: of both, if a JSON document names both; of none where it
    is no request of spans or log records."""
    if encoding == "protobuf":
        found = sniff(data)
        return frozenset({found[0]} if found is not None and found[1] == encoding else ())
    if not any(name in data for name in _NAMES.values()):  # most requests of metrics: not worth a parse
        return frozenset()
    try:
        document, _ = text.parse(data)
    except DecodeError:
        return frozenset()
    return frozenset(signal for signal, (outer, _, _) in text.PATHS.items() if document.get(outer))
