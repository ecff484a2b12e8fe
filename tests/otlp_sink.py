"""Receives OTLP over HTTP on loopback and keeps it in memory: how a test records an agent that really runs."""

import gzip
import os
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from runreel import otlp
from runreel.demo.model_server import in_thread
from runreel.values import RawBatch


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        """Say nothing."""

    def do_POST(self):
        data = self.rfile.read(int(self.headers["content-length"]))
        data = gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data
        self.server.received.append((self.path.rpartition("/")[2], data))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()


@contextmanager
def receiving():
    """Yield the endpoint and a function that returns what arrived, as one batch."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.received = []

    def batch():
        spans, logs = [], []
        for signal, data in server.received:
            if signal in ("traces", "logs"):
                decoded = otlp.decode(signal, data, "protobuf", "default")
                spans += decoded.spans
                logs += decoded.logs
        return RawBatch("default", tuple(spans), tuple(logs))

    with in_thread(server):
        yield f"http://127.0.0.1:{server.server_address[1]}", batch


def record(script, *arguments, model_url, cwd=None, status=0, **environment):
    """Run an agent for real against a model server, to this exit status; return what it exported and printed."""
    with receiving() as (endpoint, batch):
        done = subprocess.run(
            [sys.executable, script, *arguments],
            cwd=cwd,
            env={
                **os.environ,
                "OPENAI_BASE_URL": model_url,
                "OPENAI_API_KEY": "no-key-needed",
                "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
                "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
                "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return batch(), done.stdout
