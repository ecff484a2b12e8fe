"""Clients over TLS, for tests: the exporters that agents have, and what a collector must be told to listen so."""

import ssl
import urllib.request
from pathlib import Path

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from certificates import Pair
from collector_kit import CONFIG, Running


def no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine's own bundle of authorities would go before the one that an exporter is given."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


def text(pair: Pair, ca: Path | None = None, read_api: bool = False) -> str:
    tls = f"tls: {{cert_file: '{pair.cert}', key_file: '{pair.key}'" + (f", client_ca_file: '{ca}'" if ca else "") + "}"
    made = CONFIG.replace('endpoint: "127.0.0.1:0"}', f'endpoint: "127.0.0.1:0", {tls}}}')
    return made.replace("read_api: ", f'read_api: {{endpoint: "127.0.0.1:0", {tls}}}') if read_api else made


def grpc_exporter(running: Running, ca: Path, pair: Pair | None = None) -> GrpcExporter:
    key, chain = (pair.key.read_bytes(), pair.cert.read_bytes()) if pair else (None, None)
    credentials = grpc.ssl_channel_credentials(ca.read_bytes(), key, chain)
    return GrpcExporter(endpoint=f"https://{running.grpc}", credentials=credentials, timeout=20)


def http_exporter(running: Running, ca: Path, pair: Pair | None = None) -> HttpExporter:
    return HttpExporter(
        endpoint=f"{running.service.otlp_http}/v1/traces",
        certificate_file=str(ca),
        client_certificate_file=str(pair.cert) if pair else None,
        client_key_file=str(pair.key) if pair else None,
        timeout=20,
    )


class Asked(SpanExporter):
    """Keeps what the exporter behind it came to."""

    def __init__(self, behind: SpanExporter) -> None:
        self.behind, self.results = behind, []

    def export(self, spans):
        self.results.append(self.behind.export(spans))
        return self.results[-1]


def exported(exporter: SpanExporter, name: str) -> bool:
    """Export one span as an agent does; say whether it was acknowledged."""
    asked = Asked(exporter)
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(asked))
    with provider.get_tracer("t").start_as_current_span(name, attributes={"gen_ai.operation.name": "chat"}):
        pass
    provider.shutdown()
    return asked.results == [SpanExportResult.SUCCESS]


def opened(url: str, ca: Path, pair: Pair | None = None, body: bytes | None = None, token: str = "") -> bytes:
    context = ssl.create_default_context(cafile=str(ca))
    if pair:
        context.load_cert_chain(pair.cert, pair.key)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    headers = {"Content-Type": "application/x-protobuf", **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        with opener.open(urllib.request.Request(url, body, headers), timeout=30) as answer:
            return bytes(answer.read())
    except urllib.error.URLError as error:
        raise error.reason if isinstance(error.reason, Exception) else error from None
