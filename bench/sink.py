"""A server that takes OTLP over HTTP, keeps what came, and answers at once; and the environment that sends there."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from runreel.demo.model_server import in_thread


class Sink(ThreadingHTTPServer):
    """The server; `bodies` are the requests that came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answer(BaseHTTPRequestHandler):
    server: Sink
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def sink() -> Iterator[Sink]:
    """Serve until the end of the block."""
    with in_thread(Sink()) as server:
        yield server


def environment(url: str) -> Mapping[str, str]:
    """Return the environment of an agent that exports to a sink, whatever this process was told."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "RUNREEL_"))},
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
        # A model that answers at once makes spans faster than they are sent: none may be dropped.
        "OTEL_BSP_MAX_QUEUE_SIZE": "65536",
    }
