"""From the bytes of a request to stored rows, redaction on, against the same with Presidio as it comes.

The other side decodes the request with the same code, puts every attribute through the stock analyser, keeps each
content value in a file under its hash, and inserts one row a span. It is given a sample of the same spans: the cost of
a byte is compared.
"""

from collections.abc import Callable, Iterator, Sequence

import traffic
from harness import Bar, Declared, Row, Say, rate, side_by_side
from scratch import REQUEST_SPANS, Processing, Store, decode, redacted, store
from stock import STOCK_REGIONS, OtelTraces, Presidio, WholeAttributes, contents, texts_of

from runreel.processors.redact.detect import DEFAULT_REGIONS
from runreel.processors.redact.settings import RedactSettings

_BAR, _UNIT = Bar(">=", 100), "times the speed of the same on stock Presidio"
ROWS = (Declared("pipeline", _BAR, _UNIT), Declared("pipeline_us_gb", _BAR, _UNIT))


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Measure with the eight phone regions of stock Presidio on both sides, then with RunReel's two on both."""
    rounds, runs, sample_bytes = (2, 8, 120_000) if quick else (3, 100, 600_000)
    with store() as place:
        table, files = OtelTraces(place.database), WholeAttributes(place.folder / "whole")
        for declared, regions in zip(ROWS, (STOCK_REGIONS, DEFAULT_REGIONS), strict=True):
            spans = [list(traffic.make_runs(runs, seed=100 * len(regions) + turn)) for turn in range(rounds)]
            bodies = [list(traffic.batches(each, REQUEST_SPANS)) for each in spans]
            naive = _Naive(Presidio(regions), files, table)
            sides = side_by_side(
                {
                    "RunReel": _ours(place, redacted(RedactSettings(regions=regions)), bodies),
                    "stock Presidio": naive.work([_sample(each, sample_bytes) for each in spans]),
                },
                rounds,
                say=say,
            )
            ours, theirs = sides["RunReel"], sides["stock Presidio"]
            yield declared.row(
                theirs.median / ours.median,
                f"{rate(ours)} against {rate(theirs)}, processor time, {ours.spread}; "
                f"{len(spans[0])} spans a round; phone regions {' '.join(regions)}",
            )
        table.close()


def _ours(place: Store, chain: Processing, bodies: Sequence[Sequence[bytes]]) -> Callable[[], float]:
    turns = iter(bodies)
    return lambda: float(place.take(chain, next(turns))[1])


def _sample(spans: Sequence[traffic.TrafficSpan], wanted: int) -> bytes:
    """Return a request of about `wanted` bytes: spans taken evenly from all of them."""
    size = len(traffic.encode(spans))
    stride = max(1, size // wanted)
    return traffic.encode(spans[stride // 2 :: stride])


class _Naive:
    """The same pipeline of stock parts."""

    def __init__(self, presidio: Presidio, files: WholeAttributes, table: OtelTraces) -> None:
        self._presidio, self._files, self._table = presidio, files, table

    def work(self, bodies: Sequence[bytes]) -> Callable[[], float]:
        """Return work that takes one request after the other, and returns its bytes."""
        turns = iter(bodies)

        def take() -> float:
            body = next(turns)
            spans = decode(body).spans
            put: dict[str, str] = {}
            for span in spans:
                heavy = set(contents(span))
                for text in texts_of(span).values():
                    clean = self._presidio.redact(text)
                    put[text] = self._files.put(clean) if text in heavy else clean
            self._table.insert(spans, put)
            return float(len(body))

        return take
