"""Load from real OTLP clients, for tests: threads that export small distinct batches and note what was acknowledged."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

Key = tuple[str, str]


@dataclass
class Load:
    """Some threads exporting until told to stop. `acknowledged` holds (trace id, span id) of what was confirmed."""

    exporters: Sequence[Callable[[], Any]]
    acknowledged: set[Key] = field(default_factory=set)
    sent: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> "Load":
        # They complain loudly about each refused connection, and here that is the point.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        for number, make in enumerate(self.exporters):
            thread = threading.Thread(target=self._work, args=(number, make), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        logging.getLogger("opentelemetry").setLevel(logging.NOTSET)

    def _work(self, number: int, make: Callable[[], Any]) -> None:
        exporter = make()
        provider = TracerProvider(resource=Resource({"service.name": f"load-{number}"}), shutdown_on_exit=False)
        tracer = provider.get_tracer("load")
        while not self._stop.is_set():
            spans = _batch(tracer, self.sent)
            result = exporter.export(spans)
            with self._lock:
                self.sent += 1
                if result is SpanExportResult.SUCCESS:
                    self.acknowledged |= {_key(span) for span in spans}
        exporter.shutdown()


def _batch(tracer: Any, turn: int) -> list[ReadableSpan]:
    """A small run: an agent, a model call with content, a tool call."""
    content = f'[{{"role":"user","parts":[{{"type":"text","content":"{turn} {"lorem ipsum " * 40}"}}]}}]'
    with tracer.start_as_current_span("invoke_agent load") as root:
        root.set_attribute("gen_ai.operation.name", "invoke_agent")
        with tracer.start_as_current_span("chat m") as chat:
            chat.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.input.messages": content})
        with tracer.start_as_current_span("execute_tool ping") as tool:
            tool.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ping"})
    return [chat, tool, root]


def _key(span: ReadableSpan) -> Key:
    context = span.get_span_context()
    assert context is not None
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def grpc_exporter(endpoint: str) -> Any:
    """A gRPC exporter that is quick to find a collector again."""
    backoff = (("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 100))
    return GrpcSpans(endpoint=endpoint, insecure=True, timeout=2, channel_options=backoff)


def http_exporter(url: str) -> Any:
    return HttpSpans(endpoint=f"{url}/v1/traces", timeout=2)
