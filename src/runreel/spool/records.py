"""Split batches as bytes and back, for the spool: exact, and readable by nothing but data (no code is ever loaded).

A record is a typed JSON text (tables of scopes and resources, rows that name them by place, payloads, and the lengths
of the parts) after its own length, then the bytes of the parts, those of sealed values and of what is quarantined.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from runreel.canonical import dumps, loads
from runreel.exporters.rows import pack, unpack
from runreel.values import (
    Facts,
    LogEvent,
    Part,
    Payload,
    Quarantined,
    Ref,
    Rejection,
    Resource,
    Scope,
    Sealed,
    Span,
    SpanKey,
    SpanRow,
    SplitBatch,
    Value,
)

_LENGTH = struct.Struct(">Q")
_AROUND = frozenset({"key", "scope", "resource"})
_LOG_AROUND = frozenset({"tenant", "scope", "resource"})


def encode(batch: SplitBatch) -> bytes:
    """Return a batch as one record."""
    scopes, resources = _Table(), _Table()
    rows: tuple[Value, ...] = tuple(
        {
            "key": (row.span.key.trace_id, row.span.key.span_id, row.span.key.copy),
            "scope": scopes.place(row.span.scope),
            "resource": resources.place(row.span.resource),
            "span": pack(row.span, _AROUND),
            "facts": pack(row.facts),
        }
        for row in batch.rows
    )
    logs: tuple[Value, ...] = tuple(
        {
            "scope": scopes.place(log.scope),
            "resource": resources.place(log.resource),
            "log": pack(log, _LOG_AROUND),
        }
        for log in batch.logs
    )
    head: Value = {
        "tenant": batch.tenant,
        "scopes": scopes.values(),
        "resources": resources.values(),
        "rows": rows,
        "logs": logs,
        "payloads": tuple(
            {"ref": pack(payload.ref), "skeleton": payload.skeleton, "parts": payload.parts}
            for payload in batch.payloads
        ),
        "parts": tuple((part.sha256, part.media_type, len(part.data)) for part in batch.parts),
        "rejected": tuple(pack(rejection) for rejection in batch.rejected),
        "sealed": tuple({**pack(one, frozenset({"tenant", "body"})), "size": len(one.body)} for one in batch.sealed),
        "quarantined": tuple(
            {**pack(one, frozenset({"tenant", "record"})), "size": len(one.record)} for one in batch.quarantined
        ),
    }
    text = dumps(head).encode("utf-8", "surrogatepass")
    bodies = [part.data for part in batch.parts] + [one.body for one in batch.sealed]
    bodies += [one.record for one in batch.quarantined]
    return b"".join([_LENGTH.pack(len(text)), text, *bodies])


def decode(record: bytes) -> SplitBatch:
    """Return the batch of a record. Raises ValueError, TypeError or KeyError where it is none."""
    (length,) = _LENGTH.unpack_from(record)
    start = _LENGTH.size + length
    head: Any = loads(record[_LENGTH.size : start].decode("utf-8", "surrogatepass"))
    tenant = head["tenant"]
    scopes = [unpack(Scope, scope) for scope in head["scopes"]]
    resources = [unpack(Resource, resource) for resource in head["resources"]]
    bodies = _Bodies(record, start)
    parts = tuple(Part(tenant, sha256, bodies.take(size), media) for sha256, media, size in head["parts"])
    return SplitBatch(
        tenant,
        rows=tuple(_row(tenant, row, scopes, resources) for row in head["rows"]),
        logs=tuple(
            unpack(LogEvent, log["log"], tenant=tenant, scope=scopes[log["scope"]], resource=resources[log["resource"]])
            for log in head["logs"]
        ),
        payloads=tuple(
            Payload(tenant, unpack(Ref, payload["ref"]), payload["skeleton"], tuple(payload["parts"]))
            for payload in head["payloads"]
        ),
        parts=parts,
        rejected=tuple(unpack(Rejection, rejection) for rejection in head["rejected"]),
        sealed=tuple(_sealed(tenant, one, bodies) for one in head["sealed"]),
        # Not in records that an earlier version wrote.
        quarantined=tuple(
            unpack(Quarantined, one, tenant=tenant, record=bodies.take(one["size"]))
            for one in head.get("quarantined", ())
        ),
    )


def _row(tenant: str, row: Mapping[str, Any], scopes: Sequence[Scope], resources: Sequence[Resource]) -> SpanRow:
    span = unpack(
        Span,
        row["span"],
        key=SpanKey(tenant, *row["key"]),
        scope=scopes[row["scope"]],
        resource=resources[row["resource"]],
    )
    return SpanRow(span, unpack(Facts, row["facts"]))


def _sealed(tenant: str, packed: Mapping[str, Any], bodies: "_Bodies") -> Sealed:
    rest = {name: held for name, held in packed.items() if name != "size"}
    return unpack(Sealed, rest, tenant=tenant, body=bodies.take(packed["size"]))


class _Table:
    """Values that many rows share, by place."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._held: list[Any] = []

    def place(self, value: Any) -> int:
        # By identity: the rows of a request share one object, and comparing whole resources costs more than it saves.
        found = self._places.get(id(value))
        if found is None:
            found = self._places[id(value)] = len(self._held)
            self._held.append(value)
        return found

    def values(self) -> tuple[Value, ...]:
        return tuple(pack(value) for value in self._held)


class _Bodies:
    """The bytes after the head, taken one after the other."""

    def __init__(self, record: bytes, start: int) -> None:
        self._record, self._at = record, start

    def take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._record):
            raise ValueError("the record ends inside a part")
        taken = self._record[self._at : end]
        self._at = end
        return taken
