"""Send spans in the background: the agent never waits for a collector, and what was not sent is counted.

A full queue, a collector that refuses or is not there, one that is slower than the agent's exit: each costs spans,
counted by `losses` as `spans`, and nothing else.
"""

import atexit
import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from runreel.record.losses import count, safely
from runreel.record.strip import attribute
from runreel.semconv.secrets import strip_secrets

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, Span, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

_log = logging.getLogger("runreel.record")

_AT_EXIT_S: Final = 5.0  # how long an agent's end may take for its last spans, unless RUNREEL_EXIT_TIMEOUT says
_QUEUE: Final = 2048  # spans; OpenTelemetry's own default


class Outbox:
    """Counts the spans of one exporter: how many ended, and how many of them left the queue."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._waiting = 0
        self._lock = threading.Lock()

    @property
    def waiting(self) -> int:
        """How many spans have ended and were neither sent nor lost."""
        return self._waiting

    def put(self) -> None:
        """Note that a span has ended. A full queue makes room by dropping one."""
        with self._lock:
            self._waiting += 1
            dropped = self._waiting > self._room
            self._waiting -= dropped
        if dropped:
            count("spans")

    def take(self, number: int) -> None:
        """Note that spans are being sent."""
        with self._lock:
            self._waiting = max(0, self._waiting - number)


def send_with(exporter: "SpanExporter", provider: "TracerProvider") -> None:
    """Have the provider's spans exported in the background, and for a few seconds at exit."""
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    room = _room()
    outbox = Outbox(room)
    clean = _cleaner()

    class Counting(SpanProcessor):
        def on_start(self, span: "Span", parent_context: Any = None) -> None:
            """Nothing to do."""

        def on_end(self, span: "ReadableSpan") -> None:
            if span.context is not None and span.context.trace_flags.sampled:
                outbox.put()

    class Counted(SpanExporter):
        def export(self, spans: "Sequence[ReadableSpan]") -> "SpanExportResult":
            outbox.take(len(spans))
            result = safely(
                "export", lambda: exporter.export([clean(span) for span in spans]), SpanExportResult.FAILURE
            )
            if result is not SpanExportResult.SUCCESS:
                count("spans", len(spans))
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return exporter.force_flush(timeout_millis)

    provider.add_span_processor(Counting())
    provider.add_span_processor(BatchSpanProcessor(Counted(), max_queue_size=room))
    leaving = Leaving(provider.shutdown)
    atexit.register(_leave, leaving, outbox)


def _cleaner() -> Callable[["ReadableSpan"], "ReadableSpan"]:
    """Return what takes the secrets out of a span of any instrumentation; a span without any stays itself."""
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import Link, Status

    class Cleaned(ReadableSpan):
        """A span without its secrets, which says of itself what the first one does: what it had to leave out."""

        def __init__(self, span: ReadableSpan, name: str, attributes: dict[str, Any], status: Status) -> None:
            super().__init__(
                name,
                span.context,
                span.parent,
                span.resource,
                attributes,
                kind=span.kind,
                status=status,
                start_time=span.start_time,
                end_time=span.end_time,
                instrumentation_scope=span.instrumentation_scope,
                events=[Event(one.name, _attributes(one.attributes), one.timestamp) for one in span.events],
                links=[Link(one.context, _attributes(one.attributes)) for one in span.links],
            )
            self._before = span

        @property
        def dropped_attributes(self) -> int:
            return self._before.dropped_attributes

        @property
        def dropped_events(self) -> int:
            return self._before.dropped_events

        @property
        def dropped_links(self) -> int:
            return self._before.dropped_links

    def clean(span: ReadableSpan) -> ReadableSpan:
        name, said = strip_secrets(span.name), strip_secrets(span.status.description or "")
        attributes = _attributes(span.attributes)
        same = (name, said, attributes) == (span.name, span.status.description or "", dict(span.attributes or {}))
        around: Sequence[Any] = (*span.events, *span.links)
        if same and all(_attributes(one.attributes) == dict(one.attributes or {}) for one in around):
            return span
        return Cleaned(span, name, attributes, Status(span.status.status_code, said) if said else span.status)

    return clean


def _attributes(attributes: Any) -> dict[str, Any]:
    return {name: attribute(name, value) for name, value in (attributes or {}).items()}


def _room() -> int:
    said = os.environ.get("OTEL_BSP_MAX_QUEUE_SIZE", "")
    return int(said) if said.isdecimal() and int(said) > 0 else _QUEUE


def _exit_s() -> float:
    try:
        return float(os.environ.get("RUNREEL_EXIT_TIMEOUT", _AT_EXIT_S))
    except ValueError:
        return _AT_EXIT_S


def _leave(leaving: "Leaving", outbox: Outbox) -> None:
    """Send what is waiting; a collector that does not answer does not keep the agent from ending."""
    if not leaving.within(_exit_s()):
        _log.warning("runreel: the agent ended before its collector answered; spans not known to be sent are lost")
    if outbox.waiting:
        count("spans", outbox.waiting)


class Leaving:
    """Does something at the interpreter's end, for as long as is left. Its thread stands ready from the start: from
    Python 3.12 on, no thread can be started once the interpreter is ending."""

    def __init__(self, do: Callable[[], Any]) -> None:
        self._do = do
        self._go = threading.Event()
        self._worker = threading.Thread(target=self._work, name="runreel-leave", daemon=True)
        self._worker.start()

    def within(self, seconds: float) -> bool:
        """Do it; say whether it came to its end. In a forked process, which has no such thread, it is done here."""
        if not self._worker.is_alive():
            safely("export", self._do, None)
            return True
        self._go.set()
        self._worker.join(seconds)
        return not self._worker.is_alive()

    def _work(self) -> None:
        self._go.wait()
        safely("export", self._do, None)


def within(seconds: float, do: Callable[[], Any]) -> bool:
    """Do something for as long as that; say whether it came to its end."""
    worker = threading.Thread(target=lambda: safely("export", do, None), name="runreel-export", daemon=True)
    try:
        worker.start()
    except RuntimeError:  # the interpreter starts no more threads
        return False
    worker.join(seconds)
    return not worker.is_alive()
