"""Redacts text that was never seen before for some minutes, and says how fast memory grows once it is warm.

    python bench/memory.py [--minutes 10] [--warm-up 0.5] [--limit 1.0]

Requests of new runs go through decoding, schema, redaction and splitting in this process, with the memos at the sizes
that the product has. What they remember fills up first: how fast memory grows is a straight line through the samples
behind the warm-up, a share of the time. The exit code is 1 where it grows by more than the limit, in MB a minute.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import traffic
from rich.console import Console
from rich.text import Text
from scratch import REQUEST_SPANS, decode, redacted

from runreel.collector.garbage import collect_rarely

_RUNS = 4
_SAMPLE_S = 1.0
_TOLD_S = 15.0
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class Sample:
    """This process at one moment: seconds since the start, resident megabytes, megabytes of requests so far."""

    at_s: float
    memory_mb: float
    taken_mb: float


def slope_per_minute(samples: Sequence[Sample], warm_up: float) -> float:
    """Return by how many megabytes a minute memory grew behind the warm-up, a share of the time from 0 to 1.

    Raises ValueError where fewer than two samples are behind it.
    """
    warm = [one for one in samples if one.at_s >= samples[-1].at_s * warm_up]
    if len(warm) < 2:
        raise ValueError(f"{len(warm)} samples behind the warm-up; give it more minutes")
    return 60 * statistics.linear_regression([one.at_s for one in warm], [one.memory_mb for one in warm]).slope


def resident_mb() -> float:
    """Return the memory of this process, as Linux tells it."""
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def bodies() -> Iterator[bytes]:
    """Yield requests for ever, each of runs that were never sent."""
    seed = time.time_ns() % 50_000  # a run's times follow from it, and must fit into 64 bits
    while True:
        seed += 1
        yield from traffic.batches(traffic.make_runs(_RUNS, seed), REQUEST_SPANS)


def watched(seconds: float, say: Callable[[Sample], object]) -> list[Sample]:
    """Redact for so long; return a sample for about every second."""
    chain = redacted()
    samples: list[Sample] = []
    started = time.monotonic()
    taken = 0
    for body in bodies():
        chain.process(decode(body))
        taken += len(body)
        now = time.monotonic() - started
        if not samples or now - samples[-1].at_s >= _SAMPLE_S or now >= seconds:
            samples.append(Sample(now, resident_mb(), taken / 1e6))
            say(samples[-1])
        if now >= seconds:
            break
    return samples


def main(argv: Sequence[str]) -> int:
    """Redact, print what came of it; return the exit code."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--minutes", type=float, default=10.0)
    options.add_argument("--warm-up", type=float, default=0.5, metavar="SHARE", help="of the time; default: half")
    options.add_argument("--limit", type=float, default=1.0, metavar="MB", help="a minute; default: 1")
    args = options.parse_args(argv)
    console = Console(stderr=True)
    told = -_TOLD_S

    def say(sample: Sample) -> None:
        nonlocal told
        if sample.at_s - told >= _TOLD_S:
            told = sample.at_s
            console.print(Text(f"{sample.at_s:5.0f} s  {sample.memory_mb:6.0f} MB  {sample.taken_mb:8.0f} MB taken"))

    collect_rarely()  # as the collector does
    samples = watched(60 * args.minutes, say)
    slope = slope_per_minute(samples, args.warm_up)
    warm, last = next(one for one in samples if one.at_s >= samples[-1].at_s * args.warm_up), samples[-1]
    print(
        f"{slope:+.2f} MB a minute (limit {args.limit:g}): {warm.memory_mb:.0f} MB after {warm.at_s / 60:.1f} minutes, "
        f"{last.memory_mb:.0f} MB after {last.at_s / 60:.1f}; {last.taken_mb:.0f} MB of new requests"
    )
    return 0 if slope <= args.limit else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
