"""What tests of the spool share."""

import os

from runreel.spool import Entry, Spool
from runreel.values import SplitBatch
from stored_rows import part, row


def batch(name: str, *, rows: int = 1, size: int = 0, tenant: str = "default") -> SplitBatch:
    spans = tuple(row(f"{number:016x}", name=name, tenant=tenant) for number in range(1, rows + 1))
    return SplitBatch(tenant, spans, parts=(part(os.urandom(size), tenant),) if size else ())


def name_of(stored: SplitBatch) -> str:
    return stored.rows[0].span.name


def again(spool: Spool) -> Spool:
    """The spool as the next process finds it."""
    spool.close()
    opened = Spool(spool.folder)
    opened.open()
    return opened


def all_of(spool: Spool) -> list[Entry]:
    return spool.take(most_rows=10**9, most_bytes=10**12) if spool.waiting()[0] else []


def names(spool: Spool) -> list[str]:
    return [name_of(spool.load(entry)) for entry in all_of(spool)]


def nobody(text: str) -> None:
    pass
