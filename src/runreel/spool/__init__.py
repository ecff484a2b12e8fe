"""The spool: batches that are acknowledged and not stored yet, on the disk, in the order they came."""

from runreel.spool.draining import drain
from runreel.spool.ledger import Ledger
from runreel.spool.spool import Entry, Spool

__all__ = ["Entry", "Ledger", "Spool", "drain"]
