"""A collector in this process, for tests: the real service on free ports, in a thread, over a store to look into."""

import asyncio
import contextlib
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from runreel.collector import config as configuration
from runreel.collector.config import Config
from runreel.collector.pipeline import Route
from runreel.collector.service import Parts, Service
from runreel.errors import NotFoundError
from runreel.runs.discovery import Collector
from runreel.storage import RunQuery
from runreel.values import Facts, LogEvent, RawBatch, Run, RunSummary, Span, SpanRow, SplitBatch

T = TypeVar("T")

CONFIG = """
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "127.0.0.1:0"}
      http: {endpoint: "127.0.0.1:0"}
processors: {schema: , redact: , split: }
exporters: {files: , clickhouse: }
extensions: {read_api: }
service:
  extensions: [read_api]
  pipelines:
    traces: {receivers: [otlp], processors: [schema, redact, split], exporters: [files, clickhouse]}
    logs: {receivers: [otlp], processors: [schema, redact, split], exporters: [files, clickhouse]}
"""


SPOOLED = CONFIG.replace("{read_api: }", "{read_api: , spool: }").replace("[read_api]", "[read_api, spool]")


class Plain:
    """The shortest chain there can be: keeps every record whole. Stands in where redaction is not the question."""

    def process(self, batch: RawBatch) -> SplitBatch:
        rows = tuple(SpanRow(span, Facts()) for span in batch.spans)
        return SplitBatch(batch.tenant, rows=rows, logs=batch.logs, rejected=batch.rejected)


@dataclass
class Store:
    """An exporter over lists. `hook` runs before each export: it may wait, or raise what a real store would."""

    batches: list[SplitBatch] = field(default_factory=list)
    hook: Callable[[SplitBatch], object] = lambda _: None
    started: int = 0
    stopped: int = 0

    def start(self) -> None:
        self.started += 1

    def export(self, batch: SplitBatch) -> None:
        self.hook(batch)
        self.batches.append(batch)

    def check(self) -> None:
        self.hook(SplitBatch("default"))

    def shutdown(self) -> None:
        self.stopped += 1

    @property
    def spans(self) -> list[Span]:
        return [row.span for batch in self.batches for row in batch.rows]

    @property
    def logs(self) -> list[LogEvent]:
        return [log for batch in self.batches for log in batch.logs]


class NoRuns:
    """A RunStore with nothing in it."""

    def runs(self, query: RunQuery) -> list[RunSummary]:
        return []

    def resolve(self, tenant: str, text: str) -> str:
        raise NotFoundError(f"no run {text!r}")

    def run(self, tenant: str, run_id: str) -> Run:
        raise NotFoundError(f"no run {run_id!r}")

    def reel(self, tenant: str, run_id: str) -> bytes:
        raise NotFoundError(f"no run {run_id!r}")

    def part(self, tenant: str, sha256: str) -> bytes:
        raise NotFoundError(f"no part {sha256!r}")

    def close(self) -> None:
        pass


@dataclass
class Running:
    """A collector that answers."""

    service: Service
    at: Collector
    loop: asyncio.AbstractEventLoop

    @property
    def http(self) -> str:
        assert self.at.otlp_http
        return self.at.otlp_http

    @property
    def grpc(self) -> str:
        assert self.at.otlp_grpc
        return self.at.otlp_grpc

    @property
    def counts(self) -> dict[str, int]:
        return dict(self.service.counts.snapshot())

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self.service.stop(), self.loop).result(60)


@contextlib.contextmanager
def event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop in a thread of its own, so that a test may call blocking clients."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


@contextlib.contextmanager
def collector(
    home: Path,
    store: Store,
    text: str = CONFIG,
    chain: object = None,
    runs: object = None,
    redact: Callable[[str], str] | None = None,
) -> Iterator[Running]:
    """Run a collector over `store`; stopped at the end."""

    def build(config: Config, _: Path) -> Parts:
        routes = {name: Route(chain or Plain(), {"store": store}) for name in config.pipelines}
        return Parts(routes, runs or NoRuns(), redact)

    with event_loop() as loop:
        service = Service(configuration.parse(text, "test", {}), home, build)
        at = asyncio.run_coroutine_threadsafe(service.start(), loop).result(60)
        running = Running(service, at, loop)
        try:
            yield running
        finally:
            running.stop()


@dataclass(frozen=True)
class Answer:
    """What an HTTP client got."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers["content-type"]

    def json(self) -> Any:
        return json.loads(self.body)


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(url: str, body: Any = None, content_type: str = "application/x-protobuf", **headers: str) -> Answer:
    """Send one request (POST where there is a body); any status is an answer. `_` in header names means `-`."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None and content_type:
        given["Content-Type"] = content_type
    request = urllib.request.Request(url, body, given)
    try:
        with _OPENER.open(request, timeout=60) as got:
            return Answer(got.status, {name.lower(): value for name, value in got.headers.items()}, got.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, {name.lower(): value for name, value in error.headers.items()}, error.read())


def until(condition: Callable[[], T], timeout_s: float = 30.0) -> T:
    """Poll until something is true and return it; fails after the deadline."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "the deadline passed"
        time.sleep(0.01)
    return value


def posted(running: Running, path: str, body: bytes) -> SimpleNamespace:
    """Post to the read API with its token; return the status, and the body as JSON."""
    answer = ask(f"{running.at.api}/api/v1/{path}", body, authorization=f"Bearer {running.at.token}")
    return SimpleNamespace(status=answer.status, body=json.loads(answer.body))
