"""How `runs import` stores what it read: through a running collector's OTLP port, else straight into the store."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from runreel.components import open_intake
from runreel.runs import importer
from runreel.runs.places import Place
from runreel.values import DEFAULT_TENANT, LogEvent, RawBatch, Span, Value

# One flush of the store takes some milliseconds whatever it holds: small requests go together.
_FLUSH_SPANS = 512
_FLUSH_CHARS = 8 * 1024 * 1024


def import_paths(place: Place, paths: list[Path], say: Callable[[str], object]) -> importer.Imported:
    """Import files and folders and return what was counted. They pass the same processors as the network.

    Raises:
        NotFoundError, UsageError: a path that is not there, or named outright and no OTLP.
        StoreError: the store, or the running collector, does not take them.
    """
    result = importer.Imported()
    read = importer.batches(paths, DEFAULT_TENANT, result, progress=_progress(say))
    intake = open_intake(place, say=say, lost=result.failed.append)
    try:
        for batch in grouped(read):
            intake.take(batch)
    finally:
        intake.close()
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


def _progress(say: Callable[[str], object]) -> Callable[[int, int], object]:
    """Say every hundredth file: short imports are quiet."""
    return lambda done, of: say(f"{done}/{of} files") if done % 100 == 0 else None
