"""The official exporters, of every protocol, hand what they would send to the replay; no socket is opened."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from runreel import otlp
from runreel.replay.protocol import Channel

EXPORT = """
    import os, socket, sys
    from runreel.replay import capture
    from runreel.replay.protocol import Channel, Link
    capture.install(Link(Channel(int(sys.argv[1]))))
    sys.addaudithook(lambda event, args: event in ("socket.connect", "socket.getaddrinfo") and os._exit(9))
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
    from opentelemetry._logs import LogRecord
"""


def frames(code, *arguments):
    """Run code with a channel; return the frames that it sent."""
    reader, writer = os.pipe()
    program = textwrap.dedent(EXPORT) + textwrap.dedent(code)
    process = subprocess.Popen([sys.executable, "-c", program, str(writer), *arguments], pass_fds=[writer])
    os.close(writer)
    channel = Channel(reader)
    found = []
    while (frame := channel.receive()) is not None:
        found.append(frame)
    channel.close()
    assert process.wait(30) == 0
    return found


@pytest.mark.parametrize("protocol", ["proto.grpc", "proto.http", "json.http"])
def test_spans_and_logs_arrive_as_the_requests_that_would_have_been_sent(protocol):
    found = frames(
        f"""
        from opentelemetry.exporter.otlp.{protocol}.trace_exporter import OTLPSpanExporter
        from opentelemetry.exporter.otlp.{protocol}._log_exporter import OTLPLogExporter
        tracers = TracerProvider()
        exporter = OTLPSpanExporter(endpoint="http://203.0.113.10:4317", headers={{"authorization": "secret"}})
        tracers.add_span_processor(SimpleSpanProcessor(exporter))
        with tracers.get_tracer("agent").start_as_current_span("chat", attributes={{"a": "é"}}):
            loggers = LoggerProvider()
            loggers.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter()))
            loggers.get_logger("agent").emit(LogRecord(body="hello"))
        assert tracers.force_flush() and exporter.force_flush()
        tracers.shutdown()
        loggers.shutdown()
        """
    )

    assert [frame.get("signal") for frame in found] == ["logs", "traces"]
    batches = [otlp.decode(f.get("signal"), f.body, f.get("encoding"), "default") for f in found]
    assert [log.body for log in batches[0].logs] == ["hello"]
    assert [(span.name, span.attributes["a"]) for span in batches[1].spans] == [("chat", "é")]


def test_an_exporter_of_somebody_elses_that_derives_from_the_official_one_is_captured_too():
    found = frames(
        """
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        class Vendor(OTLPSpanExporter):
            def __init__(self, project):
                super().__init__(endpoint="https://vendor.example.com/v1/traces")
                self.project = project
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(Vendor("mine")))
        tracers.get_tracer("agent").start_span("chat").end()
        """
    )

    assert [frame.type for frame in found] == ["otlp"]


@pytest.mark.parametrize("protocol", ["proto.grpc", "proto.http", "json.http"])
def test_metrics_go_nowhere(protocol):
    assert (
        frames(
            f"""
            from opentelemetry.exporter.otlp.{protocol}.metric_exporter import OTLPMetricExporter
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
            meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())])
            meters.get_meter("agent").create_counter("calls").add(1)
            assert meters.force_flush()
            meters.shutdown()
            """
        )
        == []
    )


def test_spans_say_when_the_replay_ran_not_what_the_agents_clock_said():
    found = frames(
        """
        import json, time
        from runreel.replay.clock import Clock, real_time_ns
        Clock(0).start()
        assert time.time() == 0
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
        began = real_time_ns()
        tracers.get_tracer("agent").start_span("chat").end()
        print(json.dumps([began, real_time_ns()]), file=open(sys.argv[2], "w"))
        """,
        "/dev/null",
    )

    (span,) = otlp.decode("traces", found[0].body, "protobuf", "default").spans
    assert span.end_ns >= span.start_ns > 1_000_000_000_000_000_000


def test_an_exporter_of_a_version_that_cannot_be_captured_is_noted():
    found = frames(
        """
        import types
        module = types.ModuleType("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        capture._patch(Link(Channel(int(sys.argv[1]))), "traces", "OTLPSpanExporter", "encode_spans", module)
        """
    )

    assert [frame.type for frame in found] == ["note"]
    assert "cannot be captured" in json.dumps(dict(found[0].head))
