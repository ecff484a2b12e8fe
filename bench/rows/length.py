"""Long runs against short ones: an agent sends its whole history again at every step, so that the bytes of a span grow
with the length of its run. The work of a span should not."""

from collections.abc import Callable, Iterator, Sequence

import traffic
from harness import Bar, Declared, Row, Say, side_by_side
from scratch import REQUEST_SPANS, Processing, Store, redacted, store

ROWS = (Declared("length_80_steps", Bar("<=", 2), "times the processor time of a span of a 5-step run"),)
_LONG, _SHORT = 80, 5


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Measure the whole pipeline, redaction on, on about as many spans of each."""
    rounds, long_runs = (1, 1) if quick else (3, 1)
    agent = traffic.make_agent(1)

    def bodies(steps: int, runs: int) -> list[list[bytes]]:
        return [
            list(traffic.batches(_runs(agent, steps, runs, seed=10_000 * steps + 100 * turn), REQUEST_SPANS))
            for turn in range(rounds + 1)
        ]

    long, short = bodies(_LONG, long_runs), bodies(_SHORT, 15 * long_runs)
    with store() as place:
        chain = redacted()
        works = {"5 steps": _take(place, chain, short), "80 steps": _take(place, chain, long)}
        works["5 steps"]()
        sides = side_by_side(works, rounds, say=say)
    few, many = sides["5 steps"], sides["80 steps"]
    grown = (
        sum(map(len, long[0])) / long_runs / _spans(_LONG) / (sum(map(len, short[0])) / 15 / long_runs / _spans(_SHORT))
    )
    yield ROWS[0].row(
        many.median / few.median,
        f"{many.median * 1e6:.0f} against {few.median * 1e6:.0f} microseconds a span, {many.spread}; "
        f"its bytes are {grown:.1f} times as many",
    )


def _runs(agent: traffic.Agent, steps: int, runs: int, seed: int) -> Iterator[traffic.TrafficSpan]:
    for number in range(runs):
        yield from traffic.make_run(steps, seed + number, agent)


def _spans(steps: int) -> int:
    return 2 * steps + steps // traffic.DEFAULT_MIX.retrieval_every


def _take(place: Store, chain: Processing, bodies: Sequence[Sequence[bytes]]) -> Callable[[], float]:
    turns = iter(bodies)
    return lambda: float(place.take(chain, next(turns))[0])
