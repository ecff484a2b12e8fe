"""What is in quarantine as documents with stable field names: for the read API, and `runreel quarantine --json`."""

import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from runreel.errors import CorruptError
from runreel.processors.split import join_log, join_row
from runreel.runs.document import iso, plain
from runreel.runs.remote import RemoteRuns
from runreel.values import LogEvent, Quarantined, Span, SplitBatch


def document(one: Quarantined) -> dict[str, Any]:
    """Return what a list shows of one: no payload."""
    return {
        "id": one.id,
        "kind": one.kind,
        "reason": one.reason,
        "trace_id": one.trace_id,
        "span_id": one.span_id,
        "name": one.name,
        "service": one.service,
        "bytes": one.size,
        "since": iso(one.arrived_ns),
        "since_ns": one.arrived_ns,
    }


def record_document(batch: SplitBatch) -> dict[str, Any]:
    """Return the records of one, whole, redacted as they are. Raises CorruptError."""
    skeletons = {one.ref.sha256: one.skeleton for one in batch.payloads}
    parts = {one.sha256: one.data for one in batch.parts}
    try:
        return {
            "spans": [_span(join_row(row, skeletons.__getitem__, parts.__getitem__)) for row in batch.rows],
            "logs": [_log(join_log(log, skeletons.__getitem__, parts.__getitem__)) for log in batch.logs],
        }
    except KeyError:
        raise CorruptError("a payload is missing of what is in quarantine") from None


def item(given: Mapping[str, Any], tenant: str) -> Quarantined:
    """Return what `document` made the document from. Raises KeyError, TypeError."""
    return Quarantined(
        tenant,
        given["id"],
        given["kind"],
        given["reason"],
        given["trace_id"],
        given["span_id"],
        given["name"],
        given["service"],
        int(given["bytes"]),
        int(given["since_ns"]),
    )


class RemoteQuarantine:
    """What is in quarantine, asked of a collector."""

    def __init__(self, runs: RemoteRuns) -> None:
        self._runs = runs

    def items(self, tenant: str, limit: int = 0) -> Sequence[Quarantined]:
        """Return what is kept, newest first."""
        found = self._runs.asked(f"/api/v1/quarantine?limit={limit}", "items")
        return [item(one, tenant) for one in found]

    def shown(self, tenant: str, id_: str) -> Mapping[str, Any]:  # noqa: ARG002  the token decides the tenant
        """Return one record whole, as a document."""
        found: Mapping[str, Any] = self._runs.asked(f"/api/v1/quarantine/{urllib.parse.quote(id_, safe='')}")
        return found

    def release(self, tenant: str, ids: Sequence[str]) -> tuple[int, Sequence[str]]:  # noqa: ARG002
        """Have these stored after all."""
        found = self._runs.asked("/api/v1/quarantine/release", body={"ids": [*ids]})
        return int(found["released"]), [str(why) for why in found["stay"]]

    def drop(self, tenant: str, ids: Sequence[str]) -> int:  # noqa: ARG002
        """Delete these."""
        return int(self._runs.asked("/api/v1/quarantine/drop", "dropped", body={"ids": [*ids]}))

    def close(self) -> None:
        """Nothing is held open."""


def _span(span: Span) -> dict[str, Any]:
    return {
        "trace_id": span.key.trace_id,
        "span_id": span.key.span_id,
        "parent_id": span.parent_id,
        "name": span.name,
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
        "status": span.status,
        "message": span.message,
        "marks": list(span.marks),
        "resource": plain(span.resource.attributes),
        "scope": span.scope.name,
        "attributes": plain(span.attributes),
        "events": [
            {"name": event.name, "time_ns": event.time_ns, "attributes": plain(event.attributes)}
            for event in span.events
        ],
    }


def _log(log: LogEvent) -> dict[str, Any]:
    return {
        "trace_id": log.trace_id,
        "span_id": log.span_id,
        "event_name": log.event_name,
        "time_ns": log.time_ns,
        "body": plain(log.body),
        "resource": plain(log.resource.attributes),
        "attributes": plain(log.attributes),
    }
