"""Requests in both codings of OTLP, and values that nest."""

import json
from typing import Any

from otlp_build import otlp_json
from runreel import otlp
from runreel.values import RawBatch


def both(request: Any) -> tuple[RawBatch, RawBatch]:
    """Decode one request in both codings."""
    signal = "traces" if hasattr(request, "resource_spans") else "logs"
    document = json.dumps(otlp_json(request)).encode()
    return (
        otlp.decode(signal, request.SerializeToString(), "protobuf", "acme"),
        otlp.decode(signal, document, "json", "acme"),
    )


def deep(levels: int) -> Any:
    value: Any = "end"
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value
