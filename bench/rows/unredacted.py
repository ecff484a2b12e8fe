"""What is left when redaction is off, against storing each attribute whole: both decode with the same code.

The other side writes each content value to a file under its SHA-256, compressed with zstd, and inserts one row a span
into the `otel_traces` layout. It does not flush files to the disk; RunReel's side is durable when it is done.
"""

from collections.abc import Callable, Iterator, Sequence

import traffic
from harness import Bar, Declared, Row, Say, rate, side_by_side
from scratch import COMMIT_REQUESTS, REQUEST_SPANS, Store, Unredacted, decode, store
from stock import OtelTraces, WholeAttributes, contents

from runreel.values import Span

ROWS = (Declared("pipeline_unredacted", Bar(">=", 2), "times the speed of storing whole attributes"),)


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Measure both on the same requests, new ones each round."""
    rounds, runs = (2, 30) if quick else (5, 100)
    bodies = [
        list(traffic.batches(traffic.make_runs(runs, seed=turn + 1), REQUEST_SPANS)) for turn in range(rounds + 1)
    ]
    with store() as place:
        table, files = OtelTraces(place.database), WholeAttributes(place.folder / "whole")
        works = {"RunReel": _ours(place, bodies), "whole attributes": _whole(table, files, bodies)}
        for work in works.values():
            work()
        sides = side_by_side(works, rounds, say=say)
        table.close()
    ours, theirs = sides["RunReel"], sides["whole attributes"]
    spans = sum(len(decode(body).spans) for body in bodies[-1])
    yield ROWS[0].row(
        theirs.median / ours.median,
        f"{rate(ours)} against {rate(theirs)}, processor time, {ours.spread}; {spans} spans a round",
    )


def _ours(place: Store, bodies: Sequence[Sequence[bytes]]) -> Callable[[], float]:
    turns, chain = iter(bodies), Unredacted()
    return lambda: float(place.take(chain, next(turns))[1])


def _whole(table: OtelTraces, files: WholeAttributes, bodies: Sequence[Sequence[bytes]]) -> Callable[[], float]:
    turns = iter(bodies)

    def take() -> float:
        size, waiting = 0, list[Span]()
        requests = next(turns)
        for number, body in enumerate(requests, 1):
            waiting += decode(body).spans
            size += len(body)
            if number % COMMIT_REQUESTS == 0 or number == len(requests):
                table.insert(waiting, {text: files.put(text) for span in waiting for text in contents(span)})
                waiting = []
        return float(size)

    return take
