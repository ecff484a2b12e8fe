"""OpenTelemetry as an agent's author sets it up: traces and logs over OTLP, flushed when the process ends."""

import argparse
import atexit
import os

from opentelemetry import trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def options(*more: str) -> argparse.Namespace:
    """Read what every example agent understands, and the options that this one has besides."""
    parser = argparse.ArgumentParser()
    for one in more:
        parser.add_argument(one, default="")
    parser.add_argument("--scenario", default="weather", help="what the scripted model does")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--instrumentation", default="openinference")
    parser.add_argument("--also-openai", action="store_true", help="instrument the OpenAI SDK as well")
    parser.add_argument("--classes", action="store_true", help="tools are classes of the framework's, no functions")
    return parser.parse_args()


def set_up(service: str = "weather-agent") -> tuple[TracerProvider, LoggerProvider]:
    """Set the providers, with the exporters of the protocol that OTEL_EXPORTER_OTLP_PROTOCOL names; return them."""
    if os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc") == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    else:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    resource = Resource.create({"service.name": service, "service.version": "1.4.0"})
    tracers, loggers = TracerProvider(resource=resource), LoggerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    trace.set_tracer_provider(tracers)
    set_logger_provider(loggers)
    atexit.register(loggers.shutdown)
    atexit.register(tracers.shutdown)
    return tracers, loggers
