"""What is kept aside instead of stored, one record each: made from batches, and a batch again when it is released.

Spans that the required-field policy wants apart carry a mark; a run that lacks content is taken out of the store again;
of a batch that a store refuses, the records that it is about are found by halves. All are whole and redacted: each has
the payloads and parts that it needs.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import zstandard

from runreel.component import Exporter, KeepsQuarantine
from runreel.errors import CorruptError, PermanentError
from runreel.processors.required import QUARANTINE
from runreel.runs.join import named
from runreel.spool import records
from runreel.values import LogEvent, Quarantined, SpanRow, SplitBatch

_ID_DIGITS = 32
_LEVEL = 3
_MOST_BYTES = 2 << 30
_SERVICE = "service.name"
_MOST_TRIES = 256
"""How often a refused batch is tried in pieces. A store that refuses nearly everything is not asked for each record."""
_MOST_REASON = 200
Write = Callable[[SplitBatch], Exception | None]
"""Stores a batch; returns what went wrong, None once it is durable."""


def set_apart(batch: SplitBatch) -> SplitBatch:
    """Return the batch with the spans that carry a mark of quarantine kept aside."""
    reasons = [_reason(row) for row in batch.rows]
    if not any(reasons):
        return batch
    kept: list[SpanRow] = []
    items: list[Quarantined] = []
    for row, reason in zip(batch.rows, reasons, strict=True):
        if reason:
            items.append(item(replace(batch, rows=(_plain(row),), logs=()), reason))
        else:
            kept.append(row)
    return replace(narrow(replace(batch, rows=tuple(kept))), quarantined=(*batch.quarantined, *items))


def items(batch: SplitBatch, reason: str) -> Iterator[Quarantined]:
    """Yield each record of a batch as it is kept aside."""
    payloads = {one.ref.sha256: one for one in batch.payloads}
    parts = {one.sha256: one for one in batch.parts}
    for single in singles(replace(batch, payloads=(), parts=())):
        needed = [payloads[sha256] for sha256 in dict.fromkeys(named(single.rows, single.logs)) if sha256 in payloads]
        hashes = dict.fromkeys(sha256 for one in needed for sha256 in one.parts)
        whole = replace(single, payloads=tuple(needed), parts=tuple(parts[one] for one in hashes if one in parts))
        yield item(whole, reason)


def ids(batch: SplitBatch) -> Iterator[str]:
    """Yield the id that each record of a batch has when it is kept aside."""
    for row in batch.rows:
        yield _id(batch.tenant, "span", row.span.key.trace_id, row.span.key.span_id, row.span.key.copy)
    for log in batch.logs:
        yield _id(batch.tenant, "log", log.trace_id, log.span_id, log.copy)


def rescue(batch: SplitBatch, error: Exception, write: Write) -> tuple[Exception | None, Sequence[Quarantined]]:
    """Store what a store takes of a batch that it refused for good, and put the rest aside.

    Returns what went wrong and what was put aside. With an error the whole batch is as it was: to be tried again, or, a
    PermanentError, refused even by the quarantine.
    """
    bad: list[Quarantined] = []
    pieces: list[tuple[SplitBatch, Exception]] = [(batch, error)]
    tries = 0
    while pieces:
        piece, why = pieces.pop()
        some = [*halves(piece)] if tries < _MOST_TRIES else []
        if not some:
            bad += [item(one, f"refused:{why}"[:_MOST_REASON]) for one in singles(piece)]
        for half in some:
            tries += 1
            failed = write(half)
            if failed is not None and not isinstance(failed, PermanentError):
                return failed, ()
            if failed is not None:
                pieces.append((half, failed))
    if not bad:  # it is not about a record of it
        return error, ()
    beside = SplitBatch(batch.tenant, sealed=batch.sealed, quarantined=(*batch.quarantined, *bad))
    failed = write(beside)
    return (failed, ()) if failed is not None else (None, bad)


def keeps(exporters: Iterable[Exporter]) -> bool:
    """Say whether one of them keeps what is in quarantine."""
    return any(isinstance(one, KeepsQuarantine) for one in exporters)


def halves(batch: SplitBatch) -> Iterator[SplitBatch]:
    """Yield two batches with the records of one that has several, each with what it needs; nothing of one that has one.
    What is beside the records goes with the first."""
    records_: list[SpanRow | LogEvent] = [*batch.rows, *batch.logs]
    if len(records_) < 2:
        return
    middle = len(records_) // 2
    for first, some in ((True, records_[:middle]), (False, records_[middle:])):
        rows = tuple(one for one in some if isinstance(one, SpanRow))
        logs = tuple(one for one in some if isinstance(one, LogEvent))
        beside = batch if first else replace(batch, rejected=(), sealed=(), quarantined=())
        yield narrow(replace(beside, rows=rows, logs=logs))


def singles(batch: SplitBatch) -> Iterator[SplitBatch]:
    """Yield a batch for each record, with what it needs."""
    bare = replace(batch, rejected=(), sealed=(), quarantined=())
    for row in batch.rows:
        yield replace(bare, rows=(row,), logs=())
    for log in batch.logs:
        yield replace(bare, rows=(), logs=(log,))


def item(batch: SplitBatch, reason: str) -> Quarantined:
    """Return the one record of a batch as it is kept aside."""
    alone = replace(narrow(batch), rejected=(), sealed=(), quarantined=())
    record = zstandard.ZstdCompressor(level=_LEVEL).compress(records.encode(alone))
    kind: Literal["span", "log"]
    if alone.rows:
        ((span,), kind) = ([row.span for row in alone.rows], "span")
        trace_id, span_id, copy, name = span.key.trace_id, span.key.span_id, span.key.copy, span.name
        service = span.resource.attributes.get(_SERVICE)
    else:
        (log,), kind = alone.logs, "log"
        trace_id, span_id, copy, name = log.trace_id, log.span_id, log.copy, log.event_name
        service = log.resource.attributes.get(_SERVICE)
    return Quarantined(
        tenant=batch.tenant,
        id=_id(batch.tenant, kind, trace_id, span_id, copy),
        kind=kind,
        reason=reason,
        trace_id=trace_id,
        span_id=span_id,
        name=name,
        service=service if isinstance(service, str) else "",
        size=len(record),
        record=record,
    )


def opened(kept: Quarantined) -> SplitBatch:
    """Return the batch that a kept record is. Raises CorruptError where its bytes are damaged."""
    try:
        return records.decode(zstandard.ZstdDecompressor().decompress(kept.record, max_output_size=_MOST_BYTES))
    except (zstandard.ZstdError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptError(f"{kept.id} is damaged in the quarantine ({type(error).__name__})") from None


def narrow(batch: SplitBatch) -> SplitBatch:
    """Return the batch without payloads and parts that none of its records names."""
    wanted = set(named(batch.rows, batch.logs))
    payloads = tuple(one for one in batch.payloads if one.ref.sha256 in wanted)
    hashes = {sha256 for one in payloads for sha256 in one.parts}
    return replace(batch, payloads=payloads, parts=tuple(one for one in batch.parts if one.sha256 in hashes))


def _id(*identity: str) -> str:
    return hashlib.sha256("\0".join(identity).encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]


def _plain(row: SpanRow) -> SpanRow:
    marks = tuple(mark.removeprefix(QUARANTINE) for mark in row.span.marks)
    return replace(row, span=replace(row.span, marks=marks))


def _reason(row: SpanRow) -> str:
    mark = next((mark for mark in row.span.marks if mark.startswith(QUARANTINE)), "")
    return mark.removeprefix(QUARANTINE)
