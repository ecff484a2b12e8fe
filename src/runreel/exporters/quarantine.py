"""The table of what is kept aside instead of stored: put there, listed, taken out. The newest line of an id counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from runreel.component import Fate, Kept
from runreel.errors import RetryableError, StoreError
from runreel.exporters.connection import Connection, Rows, new_token
from runreel.exporters.rows import searchable
from runreel.onward import onward_ns
from runreel.values import Quarantined

_ALL = 2**63 - 1
_COLUMNS = "tenant, id, kind, reason, trace_id, span_id, name, service, size, arrived_ns"
_HELD = "FROM runreel.quarantine FINAL WHERE state = 'held'"
_CHUNK = 200


class QuarantineTable:
    """A Quarantine in ClickHouse. Thread-safe; the connection is its owner's.

    Args:
        engine: An open engine, or a connection to a server.
        clock: Our time in nanoseconds since 1970.
    """

    def __init__(self, engine: Connection, clock: Callable[[], int] = onward_ns) -> None:
        self._engine = engine
        self._clock = clock

    def put(self, items: Sequence[Quarantined]) -> None:
        """Keep items, durable on return. Raises RetryableError, PermanentError."""
        if not items:
            return
        # After every line that is there of it: a clock that was set back must not make this one the older.
        try:
            latest = self._latest(items)
        except StoreError as error:
            raise RetryableError(str(error)) from None
        now = self._clock()
        at = [max(now, latest.get((one.tenant, one.id), 0) + 2) for one in items]
        self._insert([replace(one, arrived_ns=ns) for one, ns in zip(items, at, strict=True)], "held", at)

    def _latest(self, items: Sequence[Quarantined]) -> Mapping[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for start in range(0, len(items), _CHUNK):
            ids = [one.id for one in items[start : start + _CHUNK]]
            lines = self._engine.query(
                "SELECT tenant, id, max(changed_ns) FROM runreel.quarantine WHERE id IN {ids:Array(String)} "
                "GROUP BY tenant, id",
                {"ids": ids},
            )
            found |= {(tenant, id_): ns for tenant, id_, ns in lines}
        return found

    def items(self, tenant: str, *, limit: int = 0) -> Sequence[Quarantined]:
        """Return what is kept, newest first, without the records."""
        found = self._engine.query(
            f"SELECT {_COLUMNS} {_HELD} AND tenant = {{tenant:String}} "
            "ORDER BY arrived_ns DESC, id LIMIT {limit:UInt64}",
            {"tenant": tenant, "limit": limit or _ALL},
        )
        return _items(found)

    def get(self, tenant: str, ids: Sequence[str]) -> Sequence[Quarantined]:
        """Return these, with their records."""
        found: list[Quarantined] = []
        for start in range(0, len(ids), _CHUNK):
            lines = self._engine.query(
                f"SELECT {_COLUMNS}, record {_HELD} AND tenant = {{tenant:String}} AND id IN {{ids:Array(String)}} "
                "ORDER BY arrived_ns DESC, id",
                {"tenant": tenant, "ids": [*ids[start : start + _CHUNK]]},
                binary=("record",),
            )
            found += _items(lines)
        return found

    def remove(self, items: Sequence[Quarantined], fate: Fate) -> None:
        """Take these out for good. The line that says so is newer than the one it is about, whatever the clock says,
        and older than one that was put there since."""
        if not items:
            return
        gone = [replace(one, record=b"", name="") for one in items]
        self._insert(gone, fate, [one.arrived_ns + 1 for one in items])
        for start in range(0, len(items), _CHUNK):
            chunk = items[start : start + _CHUNK]
            named = ", ".join(f"({_hex(one.tenant)}, {_hex(one.id)}, {one.arrived_ns})" for one in chunk)
            self._engine.erase("quarantine", f"state = 'held' AND (tenant, id, arrived_ns) IN ({named})")

    def fates(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Fate | Literal["held"]]:
        """Return what became of these at last, `held` where they are kept; those that never were are left out."""
        found: dict[str, Fate | Literal["held"]] = {}
        for start in range(0, len(ids), _CHUNK):
            lines = self._engine.query(
                "SELECT id, state FROM runreel.quarantine FINAL WHERE tenant = {tenant:String} "
                "AND id IN {ids:Array(String)}",
                {"tenant": tenant, "ids": [*ids[start : start + _CHUNK]]},
            )
            found |= {line[0]: line[1] for line in lines}
        return found

    def kept(self) -> Mapping[tuple[str, str], Kept]:
        """Return how much is kept, by tenant and reason."""
        found = self._engine.query(
            f"SELECT tenant, reason, count(), sum(size) {_HELD} GROUP BY tenant, reason ORDER BY tenant, reason"
        )
        return {(tenant, reason): Kept(items, size) for tenant, reason, items, size in found}

    def expired(self, before_ns: int, *, limit: int) -> Sequence[Quarantined]:
        """Return what was put there before a time, of every tenant, the oldest first."""
        found = self._engine.query(
            f"SELECT {_COLUMNS} {_HELD} AND arrived_ns < {{before:UInt64}} ORDER BY arrived_ns LIMIT {{limit:UInt64}}",
            {"before": max(0, before_ns), "limit": limit},
        )
        return _items(found)

    def _insert(self, items: Sequence[Quarantined], state: str, changed_ns: Sequence[int]) -> None:
        columns: dict[str, Sequence[Any]] = {
            "tenant": [one.tenant for one in items],
            "id": [one.id for one in items],
            "state": [state] * len(items),
            "kind": [one.kind for one in items],
            "reason": [searchable(one.reason) for one in items],
            "trace_id": [one.trace_id for one in items],
            "span_id": [one.span_id for one in items],
            "name": [searchable(one.name) for one in items],
            "service": [searchable(one.service) for one in items],
            "size": [one.size for one in items],
            "record": [one.record for one in items],
            "arrived_ns": [one.arrived_ns for one in items],
            "changed_ns": list(changed_ns),
        }
        self._engine.insert("quarantine", columns, new_token())


def _items(found: Rows) -> list[Quarantined]:
    return [
        Quarantined(tenant, id_, kind, reason, trace_id, span_id, name, service, size, arrived_ns, *record)
        for tenant, id_, kind, reason, trace_id, span_id, name, service, size, arrived_ns, *record in found
    ]


def erase(engine: Connection, table: str, keys: Sequence[tuple[str, str, str, str]]) -> None:
    """Delete the rows with these (tenant, trace_id, span_id, copy), bytes and all. Raises StoreError."""
    for start in range(0, len(keys), _CHUNK):
        named = ", ".join(f"({', '.join(map(_hex, key))})" for key in keys[start : start + _CHUNK])
        engine.erase(table, f"(tenant, trace_id, span_id, copy) IN ({named})")


def _hex(text: str) -> str:
    return f"unhex('{text.encode().hex()}')"
