"""Keeps a collector under load for long, and says whether it stays as it was: memory, parts of the store, ledger.

    python bench/soak.py --minutes 10 [--rate SPANS_A_SECOND] [--output FILE]

The collector is the product as it comes, in a process of its own. First it is found out how many spans a second it
stores; then it is sent half as many, over HTTP, every run a new one. At the end it is stopped, and what the sender
counted, what the ledger says and what the tables hold must be the same number. The exit code is 1 where it is not.
"""

import argparse
import http.client
import json
import multiprocessing
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import traffic
from rich.console import Console
from rich.text import Text

from runreel.exporters.engine import Engine
from runreel.runs import discovery
from runreel.spool import ledger

_CONFIG = """
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors: {schema: , redact: , split: }
exporters: {files: , clickhouse: }
extensions: {read_api: {endpoint: "127.0.0.1:0"}, spool: }
service:
  extensions: [read_api, spool]
  pipelines:
    traces: {receivers: [otlp], processors: [schema, redact, split], exporters: [files, clickhouse]}
"""
_TENANT = "default"
_SPANS, _RUNS, _SENDERS, _AHEAD = 64, 8, 4, 16
_FIRST_SEED = 1000  # runs of later seeds start later: a hundred thousand of them reach the end of time
_SAMPLE_S = 5.0
_PATIENCE_S, _STARVED_S = 300.0, 60.0
_PART = re.compile(r"[^_]+(?:_\d+){3,4}")
Body = tuple[bytes, int]
"""A request, and how many spans it holds."""


def _make(bodies: "Queue[Body]", seed: int) -> None:
    """Make requests for ever, each of runs that were never sent."""
    while True:
        seed += 1
        spans = list(traffic.make_runs(_RUNS, seed))
        for start in range(0, len(spans), _SPANS):
            some = spans[start : start + _SPANS]
            bodies.put((traffic.encode(some), len(some)))


@dataclass
class Sender:
    """Sends requests at a rate, as fast as they are taken where it is None; counts what was acknowledged."""

    address: str
    bodies: "Queue[Body]"
    acknowledged: int = 0
    retried: int = 0
    failure: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _due: float = 0.0

    def send_for(self, seconds: float, rate: float | None) -> None:
        """Send until the time is over. Raises RuntimeError where a request is refused for good."""
        end = self._due = time.monotonic()
        end += seconds
        threads = [threading.Thread(target=self._send, args=(end, rate), daemon=True) for _ in range(_SENDERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failure:
            raise RuntimeError(self.failure)

    def _send(self, end: float, rate: float | None) -> None:
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=_PATIENCE_S)
        while time.monotonic() < end and not self.failure:
            try:
                body, spans = self.bodies.get(timeout=_STARVED_S)
            except queue.Empty:
                self.failure = "nothing more to send is made"
                break
            if rate is not None:
                with self._lock:
                    # Late is not made up for: a stall must not be followed by a burst.
                    self._due = due = max(self._due + spans / rate, time.monotonic() - 1.0)
                time.sleep(max(0.0, due - time.monotonic()))
            try:
                self._until_taken(connection, body)
            except (OSError, http.client.HTTPException, RuntimeError) as error:
                self.failure = f"a request failed: {error}"
                break
            with self._lock:
                self.acknowledged += spans
        connection.close()

    def _until_taken(self, connection: http.client.HTTPConnection, body: bytes) -> None:
        while True:
            connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
            answer = connection.getresponse()
            answer.read()
            if answer.status == http.HTTPStatus.OK:
                return
            if answer.status not in (http.HTTPStatus.TOO_MANY_REQUESTS, http.HTTPStatus.SERVICE_UNAVAILABLE):
                raise RuntimeError(f"answered with {answer.status}")
            self.retried += 1
            time.sleep(float(answer.headers.get("Retry-After", "1")))


@dataclass(frozen=True, slots=True)
class Sample:
    """The collector at one moment: seconds since the start, its memory, the parts of all its tables on disk."""

    at_s: float
    memory_mb: float
    parts: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a soak came to."""

    minutes: float
    measured_rate: float
    rate: float
    spans: int
    ledger_stored: int
    rows: int
    retried: int
    memory_start_mb: float
    memory_end_mb: float
    slope_mb_per_hour: float
    parts_most: int
    parts_end: int

    @property
    def exact(self) -> bool:
        return self.spans == self.ledger_stored == self.rows


@contextmanager
def collector(home: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run a collector with its data in a folder. Raises RuntimeError where it does not start."""
    config = home.parent / "config.yaml"
    config.write_text(_CONFIG, encoding="utf-8")
    command = [sys.executable, "-m", "runreel", "serve", "--home", str(home), "--config", str(config)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None or not process.stdout.readline().startswith("ready"):
            raise RuntimeError("the collector did not start; it said why")
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()


def stored(home: Path) -> int:
    """Return how many spans the ledger says are stored."""
    known = ledger.read(home / "spool")
    return known[1].document().get(_TENANT, {}).get("stored_spans", 0) if known else 0


def wait_until_stored(home: Path, spans: int) -> None:
    """Wait until so many spans are stored. Raises RuntimeError where they are not in time."""
    deadline = time.monotonic() + _PATIENCE_S
    while stored(home) < spans:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{stored(home)} of {spans} spans are stored after {_PATIENCE_S:.0f} s")
        time.sleep(0.1)


def sample(home: Path, pid: int, started: float) -> Sample:
    """Look at the collector's memory and its parts on disk, those just replaced by a merge included."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    parts = sum(1 for folder in (home / "store" / "store").glob("*/*/*") if _PART.fullmatch(folder.name))
    return Sample(time.monotonic() - started, resident / 1024, parts)


def slope_per_hour(samples: Sequence[Sample]) -> float:
    """Return by how many megabytes an hour memory grew in the second half, in which nothing warms up any more."""
    half = [one for one in samples if one.at_s >= samples[-1].at_s / 2]
    if len(half) < 2:
        return 0.0
    return 3600 * statistics.linear_regression([one.at_s for one in half], [one.memory_mb for one in half]).slope


def rows_in(home: Path) -> int:
    """Return how many different spans the tables hold; the collector must have ended."""
    engine = Engine.open(home / "store", tmp=home / "tmp")
    try:
        ((rows,),) = engine.query("SELECT uniqExact(tenant, trace_id, span_id, copy) FROM runreel.spans")
        return int(rows)
    finally:
        engine.close()


def soak(minutes: float, rate: float | None, measure_s: float, say: Callable[[str], object]) -> Result:
    """Run it. Raises RuntimeError where the collector fails."""
    folder = Path(tempfile.mkdtemp(prefix="runreel-soak-"))
    context = multiprocessing.get_context("spawn")
    bodies: Queue[Body] = context.Queue(_AHEAD)
    maker = context.Process(target=_make, args=(bodies, _FIRST_SEED), daemon=True)
    maker.start()
    home = folder / "home"
    try:
        with collector(home) as process:
            sender = Sender(discovery.read(home).otlp_http or "", bodies)
            measured = _measured(home, sender, measure_s, say)
            rate = rate or measured / 2
            samples = _watched(home, process.pid, sender, 60 * minutes, rate, say)
            wait_until_stored(home, sender.acknowledged)
            last = sample(home, process.pid, time.monotonic())
        return Result(
            minutes=minutes,
            measured_rate=round(measured, 1),
            rate=round(rate, 1),
            spans=sender.acknowledged,
            ledger_stored=stored(home),
            rows=rows_in(home),
            retried=sender.retried,
            memory_start_mb=round(samples[0].memory_mb, 1),
            memory_end_mb=round(last.memory_mb, 1),
            slope_mb_per_hour=round(slope_per_hour(samples), 1),
            parts_most=max(one.parts for one in samples),
            parts_end=last.parts,
        )
    finally:
        maker.terminate()
        maker.join()
        shutil.rmtree(folder, ignore_errors=True)


def _measured(home: Path, sender: Sender, seconds: float, say: Callable[[str], object]) -> float:
    """Return how many spans a second are stored while there is more than enough to take."""
    say("warming up")
    sender.send_for(seconds / 4, None)
    wait_until_stored(home, sender.acknowledged)
    say("measuring the rate")
    before, started = sender.acknowledged, time.monotonic()
    sender.send_for(seconds, None)
    wait_until_stored(home, sender.acknowledged)
    return (sender.acknowledged - before) / (time.monotonic() - started)


def _watched(
    home: Path, pid: int, sender: Sender, seconds: float, rate: float, say: Callable[[str], object]
) -> list[Sample]:
    """Send at a rate, and look at the collector every few seconds."""
    started = time.monotonic()
    samples = [sample(home, pid, started)]
    sending = threading.Thread(target=sender.send_for, args=(seconds, rate), daemon=True)
    sending.start()
    while sending.is_alive():
        sending.join(_SAMPLE_S)
        samples.append(now := sample(home, pid, started))
        say(
            f"{now.at_s:.0f} of {seconds:.0f} s at {rate:.0f} spans/s: {sender.acknowledged} acknowledged, "
            f"{now.memory_mb:.0f} MB, {now.parts} parts"
        )
    if sender.failure:
        raise RuntimeError(sender.failure)
    return samples


def main(argv: Sequence[str]) -> int:
    """Soak, print what came of it, write it; return the exit code."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--minutes", type=float, default=10.0)
    options.add_argument("--rate", type=float, help="spans a second; default: half of what is measured first")
    options.add_argument("--measure", type=float, default=30.0, metavar="SECONDS", help="for how long to measure that")
    options.add_argument("--output", type=Path, help="write the figures there as JSON")
    args = options.parse_args(argv)
    console = Console(stderr=True)
    with console.status("starting") as status:
        if console.is_terminal:
            result = soak(args.minutes, args.rate, args.measure, lambda text: status.update(Text(text)))
        else:
            result = soak(args.minutes, args.rate, args.measure, lambda text: console.print(Text(text)))
    told: dict[str, Any] = {**asdict(result), "exact": result.exact}
    for name, value in told.items():
        print(f"{name:20} {value}")
    if args.output:
        args.output.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0 if result.exact else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
