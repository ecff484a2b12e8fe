"""Read back what the recorder's spans say: in-process, through the SDK's own in-memory exporter."""

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import NoReturn

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from runreel.demo.model_server import in_thread

_exporters: list[InMemorySpanExporter] = []


def exporter() -> InMemorySpanExporter:
    """Return the process's exporter, empty. OpenTelemetry allows one provider a process: the first one is kept."""
    if not _exporters:
        if not isinstance(trace.get_tracer_provider(), TracerProvider):
            trace.set_tracer_provider(TracerProvider())
        _exporters.append(InMemorySpanExporter())
        trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(_exporters[0]))
    _exporters[0].clear()
    return _exporters[0]


def only(spans: InMemorySpanExporter) -> ReadableSpan:
    """Return the one span that was recorded."""
    (span,) = spans.get_finished_spans()
    return span


def run_of(spans: InMemorySpanExporter):
    """Assemble the run that the recorded spans make, as a store would."""
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    from runreel import otlp
    from runreel.runs.assemble import assemble

    data = encode_spans(spans.get_finished_spans()).SerializeToString()
    return assemble(otlp.decode("traces", data, "protobuf", "default").spans)


@contextmanager
def http_receiver():
    """Yield the endpoint of an OTLP receiver, and what it got: path, content type and body of each request."""
    got: list[tuple[str, str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append((self.path, self.headers["content-type"], body))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    with in_thread(HTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}", got


def must_not_run(*_: object) -> NoReturn:
    """Stand for a body that a replay must leave alone."""
    raise AssertionError("the body ran")
