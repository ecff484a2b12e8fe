"""What the official exporters send is taken, and what they are answered makes them do the right thing."""

import logging

import grpc
import pytest
import requests
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter as JsonSpans
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from runreel.collector import telemetry
from runreel.errors import RetryableError

SPANS = {
    "gRPC": lambda at: GrpcSpans(endpoint=at.grpc, insecure=True),
    "gRPC gzip": lambda at: GrpcSpans(endpoint=at.grpc, insecure=True, compression=grpc.Compression.Gzip),
    "HTTP": lambda at: HttpSpans(endpoint=f"{at.http}/v1/traces"),
    "HTTP gzip": lambda at: HttpSpans(endpoint=f"{at.http}/v1/traces", compression=Compression.Gzip),
    "JSON": lambda at: JsonSpans(endpoint=f"{at.http}/v1/traces"),
}


@pytest.mark.parametrize("name", SPANS)
def test_spans_arrive_as_they_were_made(running, store, name):
    provider = TracerProvider(resource=Resource({"service.name": "billing"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(SPANS[name](running)))
    with provider.get_tracer("tests", "1").start_as_current_span("chat m") as span:
        span.set_attribute("gen_ai.usage.input_tokens", 7)
        span.set_attribute("gen_ai.response.finish_reasons", ("stop",))
        span.add_event("said", {"text": "ñ 🙂"})
    provider.shutdown()

    (found,) = store.spans
    assert found.key.trace_id == f"{span.get_span_context().trace_id:032x}"
    assert found.key.span_id == f"{span.get_span_context().span_id:016x}"
    assert found.attributes == {"gen_ai.usage.input_tokens": 7, "gen_ai.response.finish_reasons": ("stop",)}
    assert found.events[0].attributes == {"text": "ñ 🙂"}
    assert found.resource.attributes["service.name"] == "billing"
    assert found.end_ns == span.end_time


@pytest.mark.parametrize("name", ["gRPC", "HTTP", "JSON"])
def test_a_batch_that_was_refused_for_now_is_sent_again_and_stored_once(running, store, name, caplog):
    refused = []

    def down_once(_):
        if not refused:
            refused.append(True)
            raise RetryableError("down", 0.05)

    store.hook = down_once
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(SPANS[name](running)))
    with caplog.at_level(logging.WARNING):
        provider.get_tracer("tests").start_span("chat m").end()
    provider.shutdown()

    assert refused
    assert [span.name for span in store.spans] == ["chat m"]


@pytest.mark.parametrize(
    "exporter",
    [
        lambda at: GrpcLogs(endpoint=at.grpc, insecure=True),
        lambda at: HttpLogs(endpoint=f"{at.http}/v1/logs"),
    ],
    ids=["gRPC", "HTTP"],
)
def test_log_records_arrive(running, store, exporter):
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter(running)))
    provider.get_logger("tests").emit(LogRecord(event_name="gen_ai.choice", body={"index": 0, "content": ["hi"]}))
    provider.shutdown()

    (found,) = store.logs
    assert (found.event_name, found.body) == ("gen_ai.choice", {"index": 0, "content": ("hi",)})


@pytest.mark.parametrize(
    "exporter",
    [
        lambda at: GrpcMetrics(endpoint=at.grpc, insecure=True),
        lambda at: HttpMetrics(endpoint=f"{at.http}/v1/metrics"),
    ],
    ids=["gRPC", "HTTP"],
)
def test_metrics_do_not_disturb_a_client(running, exporter, caplog):
    before = running.service.counts.total(telemetry.METRICS_DROPPED)
    provider = MeterProvider([PeriodicExportingMetricReader(exporter(running))], shutdown_on_exit=False)
    provider.get_meter("tests").create_counter("c").add(1)

    with caplog.at_level(logging.WARNING, logger="opentelemetry"):
        assert provider.force_flush()
    provider.shutdown()

    assert running.service.counts.total(telemetry.METRICS_DROPPED) > before
    assert [record for record in caplog.records if record.name.startswith("opentelemetry")] == []


def test_a_connection_is_kept_for_the_next_export(running):
    with requests.Session() as session:
        session.trust_env = False
        headers = {"Content-Type": "application/json"}
        answers = [session.post(f"{running.http}/v1/traces", "{}", headers=headers) for _ in range(3)]
        pools = session.get_adapter(running.http).poolmanager.pools
        connections = [pools.get(key).num_connections for key in pools.keys()]  # noqa: SIM118  no iterator

    assert [answer.status_code for answer in answers] == [200] * 3
    assert connections == [1]
