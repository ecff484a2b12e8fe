"""Works a spool off without a collector: who opens the stores of a data folder finds all that was acknowledged."""

from collections.abc import Callable, Sequence

from runreel.component import Exporter
from runreel.errors import ConsumeError, PermanentError
from runreel.spool.quarantine import keeps, rescue
from runreel.spool.spool import Spool
from runreel.text import many
from runreel.values import SplitBatch


def drain(spool: Spool, exporters: Sequence[Exporter], say: Callable[[str], object]) -> int:
    """Store everything that waits, in order; return how many batches were. Records that no store will ever take go into
    the quarantine, batches that even that does not take are set aside. Raises RetryableError where a store does not
    take them now: they stay."""
    stored = 0

    def write(batch: SplitBatch) -> ConsumeError | None:
        try:
            for exporter in exporters:
                exporter.export(batch)
        except ConsumeError as error:
            return error
        return None

    while spool.waiting()[0]:
        (entry,) = spool.take(most_rows=1, most_bytes=1)
        try:
            batch = spool.load(entry)
        except PermanentError as unreadable:
            say(f"a batch of the spool was set aside: {unreadable}")
            spool.finish([entry], [entry])
            continue
        error: Exception | None = write(batch)
        if isinstance(error, PermanentError) and keeps(exporters):
            error, apart = rescue(batch, error, write)
        else:
            apart = ()
        if isinstance(error, PermanentError):
            say(f"a batch of the spool was set aside: {error}")
            spool.finish([entry], [entry])
        elif error is not None:
            raise error
        else:
            if apart:
                say(f"{many(len(apart), 'record')} that the store refuses went into the quarantine")
            spool.finish([entry], quarantined={entry: apart})
            stored += 1
    return stored
