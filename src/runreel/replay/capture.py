"""The replay records itself: in the agent's process, OTLP exporters hand their requests to the replay, not the network.

Every exporter class of the OpenTelemetry project is patched where it is defined, so the agent's own set-up code runs
unchanged, whatever endpoint, certificate or protocol it names. What they encode is what they would have sent.
"""

from functools import partial
from types import ModuleType
from typing import Any

from runreel.replay.clock import use_real_time
from runreel.replay.imports import when_imported
from runreel.replay.protocol import Frame, Link

_HOME = "opentelemetry.exporter.otlp."
_SPANS = (f"{_HOME}proto.grpc.trace_exporter", f"{_HOME}proto.http.trace_exporter", f"{_HOME}json.http.trace_exporter")
_LOGS = (f"{_HOME}proto.grpc._log_exporter", f"{_HOME}proto.http._log_exporter", f"{_HOME}json.http._log_exporter")
_METRICS = (
    f"{_HOME}proto.grpc.metric_exporter",
    f"{_HOME}proto.http.metric_exporter",
    f"{_HOME}json.http.metric_exporter",
)


def install(link: Link) -> None:
    """Patch each exporter when the agent imports it. What cannot be patched sends nothing and is noted."""
    for name in _SPANS:
        when_imported(name, partial(_patch, link, "traces", "OTLPSpanExporter", "encode_spans"))
    for name in _LOGS:
        when_imported(name, partial(_patch, link, "logs", "OTLPLogExporter", "encode_logs"))
    for name in _METRICS:
        when_imported(name, _drop_metrics)
    for name in ("opentelemetry.sdk.trace", "opentelemetry.sdk._logs._internal"):
        when_imported(name, use_real_time)


def _patch(link: Link, signal: str, class_name: str, encoder: str, module: ModuleType) -> None:
    kind = getattr(module, class_name, None)
    encode = getattr(module, encoder, None)
    if kind is None or encode is None:
        link.tell(Frame("note", {"text": f"{module.__name__} is of a version whose exports cannot be captured"}))
        return
    success = _success(module, signal)

    def init(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ARG001
        self._shutdown = False

    def export(self: Any, items: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG001
        encoding, data = _bytes(encode(items))
        link.tell(Frame("otlp", {"signal": signal, "encoding": encoding}, data))
        return success

    _replace(kind, __init__=init, export=export)


def _bytes(request: Any) -> tuple[str, bytes]:
    if hasattr(request, "SerializeToString"):
        return "protobuf", request.SerializeToString()
    return "json", request.to_json().encode()


def _success(module: ModuleType, signal: str) -> Any:
    """Return what an exporter of this version answers with."""
    names = ("SpanExportResult",) if signal == "traces" else ("LogRecordExportResult", "LogExportResult")
    return next(getattr(module, name).SUCCESS for name in names if hasattr(module, name))


def _drop_metrics(module: ModuleType) -> None:
    kind = getattr(module, "OTLPMetricExporter", None)
    if kind is None:
        return
    from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult

    def init(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ARG001
        MetricExporter.__init__(self, kwargs.get("preferred_temporality"), kwargs.get("preferred_aggregation"))

    def export(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG001
        return MetricExportResult.SUCCESS

    _replace(kind, __init__=init, export=export)


def _replace(kind: Any, **methods: Any) -> None:
    """Put methods into an exporter class, with a shutdown and a flush that have nothing to do."""
    for name, method in methods.items():
        setattr(kind, name, method)
    kind.shutdown = lambda self, *args, **kwargs: None  # noqa: ARG005
    kind.force_flush = lambda self, *args, **kwargs: True  # noqa: ARG005
