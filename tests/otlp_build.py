"""Small builders of OTLP requests for tests. Every value in them is invented."""

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest as LogsReq
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as TraceReq
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

T0 = 1767225600_000_000_000  # 2026-01-01T00:00:00Z
TID = "0af7651916cd43dd8448eb211c80319c"
ROOT = "00000000000000a0"

Pairs = Mapping[str, Any] | Iterable[tuple[str, Any]]


def av(value: Any) -> AnyValue:
    """Any Python value as AnyValue; None is the empty value."""
    if value is None:
        return AnyValue()
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    if isinstance(value, Mapping):
        return AnyValue(kvlist_value=KeyValueList(values=kvs(value)))
    return AnyValue(array_value=ArrayValue(values=[av(item) for item in value]))


def kv(key: str, value: Any) -> KeyValue:
    return KeyValue(key=key, value=av(value))


def kvs(pairs: Pairs) -> list[KeyValue]:
    """Key-value pairs; given as pairs, a key may be repeated."""
    return [kv(key, value) for key, value in (pairs.items() if isinstance(pairs, Mapping) else pairs)]


def span(
    name: str,
    sid: str,
    parent: str = "",
    tid: str = TID,
    at: int = 0,
    ms: int = 10,
    attrs: Pairs = (),
    kind: int = 1,
    **rest: Any,
) -> Span:
    """One span that starts `at` milliseconds after T0 and takes `ms`."""
    return Span(
        name=name,
        trace_id=bytes.fromhex(tid),
        span_id=bytes.fromhex(sid),
        parent_span_id=bytes.fromhex(parent),
        kind=kind,
        start_time_unix_nano=T0 + at * 10**6,
        end_time_unix_nano=T0 + (at + ms) * 10**6,
        attributes=kvs(attrs),
        **rest,
    )


def log(event_name: str, sid: str = "", tid: str = TID, at: int = 0, body: Any = None, attrs: Pairs = ()) -> LogRecord:
    """One log record as new instrumentations send them: with an observed time only."""
    return LogRecord(
        event_name=event_name,
        trace_id=bytes.fromhex(tid if sid else ""),
        span_id=bytes.fromhex(sid),
        observed_time_unix_nano=T0 + at * 10**6,
        body=av(body),
        attributes=kvs(attrs),
    )


def req(*spans: Span, res: Pairs | None = None) -> TraceReq:
    """A request of spans from one resource and scope."""
    request = TraceReq()
    group = request.resource_spans.add()
    group.resource.attributes.extend(kvs({"service.name": "case"} if res is None else res))
    scoped = group.scope_spans.add()
    scoped.scope.name = "case"
    scoped.spans.extend(spans)
    return request


def logs_req(*records: LogRecord, res: Pairs | None = None) -> LogsReq:
    """A request of log records from one resource and scope."""
    request = LogsReq()
    group = request.resource_logs.add()
    group.resource.attributes.extend(kvs({"service.name": "case"} if res is None else res))
    scoped = group.scope_logs.add()
    scoped.scope.name = "case"
    scoped.log_records.extend(records)
    return request


def otlp_json(request: TraceReq | LogsReq) -> dict[str, Any]:
    """A request as an OTLP/JSON document: hex ids, integer enums, 64-bit numbers as strings."""
    return _hex_ids(MessageToDict(request, use_integers_for_enums=True))


def _hex_ids(node: Any) -> Any:
    if isinstance(node, list):
        return [_hex_ids(item) for item in node]
    if not isinstance(node, dict):
        return node
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        key: base64.b64decode(item).hex() if key in ids and isinstance(item, str) else _hex_ids(item)
        for key, item in node.items()
    }


def msg(role: str, *parts: Any, **rest: Any) -> dict[str, Any]:
    """A message; strings are text parts."""
    return {
        "role": role,
        "parts": [{"type": "text", "content": part} if isinstance(part, str) else part for part in parts],
        **rest,
    }


def call(name: str, arguments: Any, id: str = "call_1") -> dict[str, Any]:  # noqa: A002
    return {"type": "tool_call", "id": id, "name": name, "arguments": arguments}


def answer(response: Any, id: str = "call_1") -> dict[str, Any]:  # noqa: A002
    return {"type": "tool_call_response", "id": id, "response": response}


def llm(sid: str, parent: str, inp: Any, out: Any, at: int = 0, tid: str = TID, **attrs: Any) -> Span:
    """A model call as the OpenTelemetry conventions have it, messages as JSON text."""
    fields = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.input.messages": json.dumps(inp, ensure_ascii=False),
        "gen_ai.output.messages": json.dumps(out, ensure_ascii=False),
    }
    return span("chat gpt-4o-mini", sid, parent, tid=tid, at=at, kind=3, attrs={**fields, **attrs})


def tool(
    sid: str,
    parent: str,
    name: str,
    args: Any,
    result: Any,
    id: str = "call_1",  # noqa: A002
    at: int = 0,
    tid: str = TID,
    **attrs: Any,
) -> Span:
    """A tool call; arguments and result are JSON text unless they are text already."""
    fields = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": id,
        "gen_ai.tool.call.arguments": args if isinstance(args, str) else json.dumps(args, ensure_ascii=False),
        "gen_ai.tool.call.result": result if isinstance(result, str) else json.dumps(result, ensure_ascii=False),
    }
    return span(f"execute_tool {name}", sid, parent, tid=tid, at=at, attrs={**fields, **attrs})


def agent(sid: str = ROOT, parent: str = "", at: int = 0, ms: int = 1000, tid: str = TID, **attrs: Any) -> Span:
    """The root of a run."""
    fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "demo"}
    return span("invoke_agent demo", sid, parent, tid=tid, at=at, ms=ms, attrs={**fields, **attrs})
