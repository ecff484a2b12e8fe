"""Works a spool off without a collector: who opens the stores of a data folder finds all that was acknowledged."""

from collections.abc import Callable, Sequence

from runreel.component import Exporter
from runreel.errors import PermanentError
from runreel.spool.spool import Spool


def drain(spool: Spool, exporters: Sequence[Exporter], say: Callable[[str], object]) -> int:
    """Store everything that waits, in order; return how many batches were. Batches that no store will ever take are
    set aside. Raises RetryableError where a store does not take them now: they stay."""
    stored = 0
    while spool.waiting()[0]:
        (entry,) = spool.take(most_rows=1, most_bytes=1)
        try:
            batch = spool.load(entry)
            for exporter in exporters:
                exporter.export(batch)
        except PermanentError as error:
            say(f"a batch of the spool was set aside: {error}")
            spool.finish([entry], [entry])
        else:
            spool.finish([entry])
            stored += 1
    return stored
