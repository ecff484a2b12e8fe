"""How `runs import` stores what it read: through a running collector's OTLP port, else straight into the store."""

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

from runreel import otlp
from runreel.errors import StoreError
from runreel.runs import discovery, importer
from runreel.values import DEFAULT_TENANT, LogEvent, RawBatch, Span, Value

# One flush of the store takes some milliseconds whatever it holds: small requests go together.
_FLUSH_SPANS = 512
_FLUSH_CHARS = 8 * 1024 * 1024
# A collector that is busy says when to come back, as to every client.
_TRIES = 20
_MOST_WAIT_S = 30.0


def import_paths(home: Path, paths: list[Path], say: Callable[[str], object]) -> importer.Imported:
    """Import files and folders and return what was counted. They pass the same processors as the network.

    Raises:
        NotFoundError, UsageError: a path that is not there, or named outright and no OTLP.
        StoreError: the store, or the running collector, does not take them.
    """
    result = importer.Imported()
    collector = discovery.find(home, say=say)
    read = importer.batches(paths, DEFAULT_TENANT, result, progress=_progress(say))
    if collector is None:
        store(home, grouped(read))
    elif collector.otlp_http is None:
        raise StoreError(
            f"the collector on {home} has no OTLP/HTTP receiver, and holds the store: "
            "give it one (receivers::otlp::protocols::http), or stop it first"
        )
    else:
        sender = _Sender(collector.otlp_http, result)
        for batch in grouped(read):
            sender.send("traces", batch.spans)
            sender.send("logs", batch.logs)
    return result


def grouped(batches: Iterable[RawBatch]) -> Iterator[RawBatch]:
    """Put small batches together; what was rejected stays with them."""
    held: RawBatch | None = None
    chars = 0
    for batch in batches:
        size = sum(_chars(span) for span in batch.spans) + sum(_chars(log) for log in batch.logs)
        if held is not None and chars + size > _FLUSH_CHARS:
            yield held
            held, chars = None, 0
        held = batch if held is None else _together(held, batch)
        chars += size
        if len(held.spans) + len(held.logs) >= _FLUSH_SPANS:
            yield held
            held, chars = None, 0
    if held is not None:
        yield held


def _chars(record: Span | LogEvent) -> int:
    """Return about how large a record is: content is text nearly always."""
    values: list[Value] = [*record.attributes.values()]
    values += (
        [record.body]
        if isinstance(record, LogEvent)
        else [value for e in record.events for value in e.attributes.values()]
    )
    return sum(len(value) if isinstance(value, (str, bytes)) else len(str(value)) for value in values)


def _together(a: RawBatch, b: RawBatch) -> RawBatch:
    return replace(a, spans=a.spans + b.spans, logs=a.logs + b.logs, rejected=a.rejected + b.rejected)


def store(home: Path, batches: Iterable[RawBatch]) -> None:
    """Store batches in the data folder, processed as the network's are. Raises LockedError, StoreError."""
    from runreel.components import open_database
    from runreel.processors.chain import default_chain

    database = open_database(home)
    try:
        chain = default_chain(home)
        database.start()
        for batch in batches:
            database.export(chain.process(batch))
    finally:
        database.shutdown()


class _Sender:
    """Sends records to a collector as a client does: it comes back when told so, and halves what is too large."""

    def __init__(self, endpoint: str, result: importer.Imported) -> None:
        self._endpoint = endpoint
        self._result = result

    def send(self, signal: otlp.Signal, items: Sequence[Span] | Sequence[LogEvent]) -> None:
        """Send spans or log records; one that is too large by itself is listed as failed. Raises StoreError."""
        if not items:
            return
        url = f"{self._endpoint}/v1/{signal}"
        body = otlp.encode(signal, items, "protobuf")
        status = self._status(url, body)
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and len(items) > 1:
            half = len(items) // 2
            self.send(signal, items[:half])
            self.send(signal, items[half:])
        elif status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            self._result.failed.append(
                f"{_name(items[0])}: {len(body)} bytes are more than the collector takes; raise its "
                "max_request_body_size, or stop it and import again"
            )
        elif status != HTTPStatus.OK:
            raise StoreError(f"the collector answered {status} to {url}: see its log; what came before is stored")

    def _status(self, url: str, body: bytes) -> int:
        for _ in range(_TRIES):
            status, wait_s = _post(url, body)
            if status not in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS}:
                break
            time.sleep(min(wait_s, _MOST_WAIT_S))
        return status


def _name(item: Span | LogEvent) -> str:
    if isinstance(item, Span):
        return f"span {item.key.span_id} of trace {item.key.trace_id}"
    return f"a log record of trace {item.trace_id or '-'}"


def _post(url: str, body: bytes) -> tuple[int, float]:
    """Return the status, and after how many seconds to come back. Raises StoreError where nobody answers."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/x-protobuf"})  # noqa: S310
    try:
        with discovery.LOOPBACK.open(request, timeout=300) as answer:
            answer.read()
            return answer.status, 0.0
    except urllib.error.HTTPError as error:
        after = error.headers.get("Retry-After", "")
        return error.code, float(after) if after.isascii() and after.isdigit() else 1.0
    except (OSError, http.client.HTTPException) as error:
        why = getattr(error, "reason", error)
        advice = "what came before is stored, and importing again stores nothing twice"
        raise StoreError(f"the collector at {url} does not answer ({why}): {advice}") from None


def _progress(say: Callable[[str], object]) -> Callable[[int, int], object]:
    """Say every hundredth file: short imports are quiet."""
    return lambda done, of: say(f"{done}/{of} files") if done % 100 == 0 else None
