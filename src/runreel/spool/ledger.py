"""What became of everything that was acknowledged, counted by tenant, and the file that keeps it.

The counts stand in one file with the place up to which the spool is done, and change together: a batch whose export was
cut off by a crash is exported again, and counted once.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runreel.values import Quarantined, SplitBatch

FORMAT = 1
STATES = ("stored", "quarantined", "spooled")
"""What becomes of what is acknowledged."""
_BEFORE = {"refused_spans": "quarantined_spans", "refused_logs": "quarantined_logs"}
"""Counts that an earlier version had under another name."""
_FILE = "cursor.json"


@dataclass(frozen=True, slots=True)
class Tally:
    """What one batch brings: its tenant, spans and log records to store, what was rejected, by reason, and how many are
    kept aside. `again`: they were acknowledged before, and come out of the quarantine, or out of the store into it."""

    tenant: str
    spans: int
    logs: int
    rejected: Mapping[str, int] = field(default_factory=dict)
    quarantined_spans: int = 0
    quarantined_logs: int = 0
    again: bool = False

    @classmethod
    def of(cls, batch: SplitBatch, *, again: bool = False) -> "Tally":
        spans, logs = counts(batch.quarantined)
        return cls(
            batch.tenant,
            len(batch.rows),
            len(batch.logs),
            dict(Counter(f"{one.signal}:{one.reason}" for one in batch.rejected)),
            spans,
            logs,
            again,
        )


def counts(items: Iterable[Quarantined]) -> tuple[int, int]:
    """Return how many spans and log records these are."""
    kinds = [one.kind for one in items]
    return kinds.count("span"), kinds.count("log")


class Ledger:
    """Counts by (tenant, what). `what` is `stored_spans`, `stored_logs`, `quarantined_spans`, `quarantined_logs` (kept
    aside, by policy or since no store took them), `spooled_spans`, `spooled_logs`, `rejected:<span|log>:<reason>`, and,
    under no tenant, `damaged_records` and `damaged_bytes` (set aside, since they could not be read).

    Always: acknowledged = stored + quarantined + spooled, by tenant. `released_spans` and `released_logs` say how many
    of the quarantined were stored later, `withdrawn_spans` and `withdrawn_logs` how many of the stored were kept aside
    later; they are none of the three, and follow what becomes of a record after that.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def waits(self, tally: Tally, times: int = 1) -> None:
        """Count a batch as spooled; `times` -1 takes it out again."""
        if not tally.again:
            self.counts[tally.tenant, "spooled_spans"] += times * (tally.spans + tally.quarantined_spans)
            self.counts[tally.tenant, "spooled_logs"] += times * (tally.logs + tally.quarantined_logs)

    def done(self, tally: Tally, refused: Iterable[Quarantined] | None = ()) -> None:
        """Count a batch that waited as stored, but for what is kept aside: what its tally says, and `refused`, which
        stores refused; None: all of it."""
        self.waits(tally, -1)
        spans, logs = (tally.spans, tally.logs) if refused is None else counts(refused)
        if tally.again:
            self.counts[tally.tenant, "released_spans"] += tally.spans - spans
            self.counts[tally.tenant, "released_logs"] += tally.logs - logs
            if refused is not None:
                self.counts[tally.tenant, "withdrawn_spans"] += tally.quarantined_spans
                self.counts[tally.tenant, "withdrawn_logs"] += tally.quarantined_logs
            return
        self.counts[tally.tenant, "stored_spans"] += tally.spans - spans
        self.counts[tally.tenant, "stored_logs"] += tally.logs - logs
        self.counts[tally.tenant, "quarantined_spans"] += tally.quarantined_spans + spans
        self.counts[tally.tenant, "quarantined_logs"] += tally.quarantined_logs + logs
        for reason, count in tally.rejected.items():
            self.counts[tally.tenant, f"rejected:{reason}"] += count

    def damaged(self, size: int) -> None:
        """Count a record that was set aside unread."""
        self.counts["", "damaged_records"] += 1
        self.counts["", "damaged_bytes"] += size

    def document(self) -> dict[str, dict[str, int]]:
        """Return the counts by tenant; under `acknowledged_spans` and `acknowledged_logs` their sums."""
        found: dict[str, dict[str, int]] = {}
        for (tenant, what), count in sorted(self.counts.items()):
            if count:
                found.setdefault(tenant, {})[what] = count
        for tenant, of in found.items():
            for kind in ("spans", "logs") if tenant else ():
                for state in ("stored", "spooled"):
                    of.setdefault(f"{state}_{kind}", 0)
                of[f"acknowledged_{kind}"] = sum(of.get(f"{state}_{kind}", 0) for state in STATES)
        return found


@dataclass(frozen=True, slots=True)
class Cursor:
    """The first record that is not done: its segment's number and its offset in bytes."""

    segment: int = 0
    offset: int = 0


def read(folder: Path) -> tuple[Cursor, Ledger] | None:
    """Return what the file says; None where there is none. Raises ValueError where it is damaged."""
    try:
        held: Any = json.loads((folder / _FILE).read_bytes())
    except FileNotFoundError:
        return None
    try:
        if held["format"] != FORMAT:
            raise ValueError(f"format {str(held['format'])[:20]}")
        ledger = Ledger()
        for tenant, held_counts in held["counts"].items():
            ledger.counts.update({(tenant, _BEFORE.get(what, what)): int(count) for what, count in held_counts.items()})
        return Cursor(int(held["segment"]), int(held["offset"])), ledger
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no cursor ({type(error).__name__})") from None


def write(folder: Path, cursor: Cursor, ledger: Ledger, *, flush: bool) -> None:
    """Replace the file. What waits is left out: it is counted from the spool itself. Raises OSError."""
    told: dict[str, dict[str, int]] = {}
    for (tenant, what), count in sorted(ledger.counts.items()):
        if count and not what.startswith("spooled"):
            told.setdefault(tenant, {})[what] = count
    held = {"format": FORMAT, "segment": cursor.segment, "offset": cursor.offset, "counts": told}
    temporary = folder / f"{_FILE}.new"
    with temporary.open("w", encoding="utf-8") as out:
        json.dump(held, out)
        if flush:
            out.flush()
            os.fsync(out.fileno())
    temporary.replace(folder / _FILE)
