"""What became of everything that was acknowledged, counted by tenant, and the file that keeps it.

The counts stand in one file with the place up to which the spool is done, and change together: a batch whose export was
cut off by a crash is exported again, and counted once.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runreel.values import SplitBatch

FORMAT = 1
_FILE = "cursor.json"


@dataclass(frozen=True, slots=True)
class Tally:
    """What one batch brings: its tenant, spans and log records taken, and what was rejected, by reason."""

    tenant: str
    spans: int
    logs: int
    rejected: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, batch: SplitBatch) -> "Tally":
        return cls(
            batch.tenant,
            len(batch.rows),
            len(batch.logs),
            dict(Counter(f"{one.signal}:{one.reason}" for one in batch.rejected)),
        )


class Ledger:
    """Counts by (tenant, what). `what` is `stored_spans`, `stored_logs`, `refused_spans`, `refused_logs` (set aside,
    since no store would ever take them), `spooled_spans`, `spooled_logs`, `rejected:<span|log>:<reason>`, and, under no
    tenant, `damaged_records` and `damaged_bytes` (set aside, since they could not be read).

    Always: acknowledged = stored + refused + spooled, by tenant.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def waits(self, tally: Tally, times: int = 1) -> None:
        """Count a batch as spooled; `times` -1 takes it out again."""
        self.counts[tally.tenant, "spooled_spans"] += times * tally.spans
        self.counts[tally.tenant, "spooled_logs"] += times * tally.logs

    def done(self, tally: Tally, outcome: str) -> None:
        """Count a batch that waited as `stored` or `refused`."""
        self.waits(tally, -1)
        self.counts[tally.tenant, f"{outcome}_spans"] += tally.spans
        self.counts[tally.tenant, f"{outcome}_logs"] += tally.logs
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
        for tenant, counts in found.items():
            for kind in ("spans", "logs") if tenant else ():
                for state in ("stored", "spooled"):
                    counts.setdefault(f"{state}_{kind}", 0)
                counts[f"acknowledged_{kind}"] = sum(
                    counts.get(f"{state}_{kind}", 0) for state in ("stored", "refused", "spooled")
                )
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
        for tenant, counts in held["counts"].items():
            ledger.counts.update({(tenant, what): int(count) for what, count in counts.items()})
        return Cursor(int(held["segment"]), int(held["offset"])), ledger
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no cursor ({type(error).__name__})") from None


def write(folder: Path, cursor: Cursor, ledger: Ledger, *, flush: bool) -> None:
    """Replace the file. What waits is left out: it is counted from the spool itself. Raises OSError."""
    counts: dict[str, dict[str, int]] = {}
    for (tenant, what), count in sorted(ledger.counts.items()):
        if count and not what.startswith("spooled"):
            counts.setdefault(tenant, {})[what] = count
    held = {"format": FORMAT, "segment": cursor.segment, "offset": cursor.offset, "counts": counts}
    temporary = folder / f"{_FILE}.new"
    with temporary.open("w", encoding="utf-8") as out:
        json.dump(held, out)
        if flush:
            out.flush()
            os.fsync(out.fileno())
    temporary.replace(folder / _FILE)
