"""OpenTelemetry as an agent's author sets it up: traces and logs over OTLP, flushed when the process ends."""

import atexit
import os

from opentelemetry import trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def exporters():
    """Make the exporters of the protocol that OTEL_EXPORTER_OTLP_PROTOCOL names; gRPC is the default."""
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    elif protocol == "http/json":
        from opentelemetry.exporter.otlp.json.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter
    else:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    return OTLPSpanExporter(), OTLPLogExporter()


def set_up(service):
    """Set the providers; return them."""
    spans, logs = exporters()
    about = {"service.name": service, "service.version": "0.1.0+gitabc1234", "deployment.environment.name": "lab"}
    resource = Resource.create(about)
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(spans))
    trace.set_tracer_provider(tracers)
    loggers = LoggerProvider(resource=resource)
    loggers.add_log_record_processor(BatchLogRecordProcessor(logs))
    set_logger_provider(loggers)
    atexit.register(loggers.shutdown)
    atexit.register(tracers.shutdown)
    return tracers, loggers
