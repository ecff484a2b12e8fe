"""What it costs to have every acknowledged request on the disk first: the same collector with and without the flush.

The requests go through the product's pipeline (decode, schema, redact, split, spool) as sixteen clients send them; the
store behind the spool takes everything at once, so that nothing else is waited for.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import traffic
from harness import Bar, Declared, Row, Say, side_by_side
from scratch import REQUEST_SPANS, decode, redacted

from runreel.collector.admission import Admission
from runreel.collector.pipeline import Chain, Pipeline, Request, Route
from runreel.collector.telemetry import Telemetry
from runreel.spool import Spool
from runreel.values import SplitBatch

ROWS = (Declared("durable_acknowledgement", Bar(">=", 0.9), "times the speed of acknowledging what is in memory only"),)
_CLIENTS = 16
_MEMORY_BYTES = 1 << 30
_WARM = traffic.encode(traffic.make_run(1, 0))


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Send the same requests to both, each time through a chain that never saw them; wall time: flushing is waiting."""
    rounds, runs = (1, 8) if quick else (5, 16)
    bodies = [list(traffic.batches(traffic.make_runs(runs, seed=turn + 1), REQUEST_SPANS)) for turn in range(rounds)]
    with tempfile.TemporaryDirectory(prefix="runreel-bench-") as folder:
        works = {
            name: _sends(Path(folder), bodies, sync=sync) for name, sync in (("in memory", False), ("durable", True))
        }
        sides = side_by_side(works, rounds, clock=time.perf_counter, say=say)
    durable, memory = sides["durable"], sides["in memory"]
    yield ROWS[0].row(
        memory.median / durable.median,
        f"{1 / durable.median:.0f} against {1 / memory.median:.0f} spans a second, wall time, {durable.spread}; "
        f"{_CLIENTS} clients, {REQUEST_SPANS} spans a request",
    )


def _sends(folder: Path, bodies: Sequence[Sequence[bytes]], *, sync: bool) -> Callable[[], float]:
    # What costs most of a second in a new chain is done before the clock runs.
    chains = [redacted() for _ in bodies]
    for chain in chains:
        chain.process(decode(_WARM))
    turns = iter(enumerate(zip(chains, bodies, strict=True)))

    def work() -> float:
        number, (chain, requests) = next(turns)
        store = _TakesAll()
        asyncio.run(_send(chain, Spool(folder / f"{number}-{sync}", sync=sync), store, requests))
        return float(store.spans)

    return work


async def _send(chain: Chain, spool: Spool, store: "_TakesAll", bodies: Sequence[bytes]) -> None:
    """Send requests by so many clients at once, and return once all of them are answered and handed to the store."""
    pipeline = Pipeline({"traces": Route(chain, {"store": store})}, Telemetry(), spool=spool)
    admission, waiting = Admission(_MEMORY_BYTES), iter(bodies)

    async def client() -> None:
        for body in waiting:
            request = Request("traces", "protobuf", body, gzipped=False, limit_bytes=_MEMORY_BYTES)
            with admission.lease() as lease:
                await pipeline.consume(request, lease)

    await pipeline.start()
    await asyncio.gather(*(client() for _ in range(_CLIENTS)))
    await pipeline.shutdown()


class _TakesAll:
    """A store that has stored everything at once."""

    def __init__(self) -> None:
        self.spans = 0

    def start(self) -> None:
        """Be ready."""

    def export(self, batch: SplitBatch) -> None:
        self.spans += len(batch.rows)

    def check(self) -> None:
        """Be well."""

    def shutdown(self) -> None:
        """Be gone."""
