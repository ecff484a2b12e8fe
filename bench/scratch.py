"""An embedded store in a folder of its own, and the way of requests into it, in this process."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runreel import otlp
from runreel.collector.commit import merge
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.engine import Engine
from runreel.exporters.files import FileBlobs
from runreel.processors.chain import Chain
from runreel.processors.redact.keys import TenantKey
from runreel.processors.redact.redactor import Redactor
from runreel.processors.redact.settings import RedactSettings
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.values import CleanBatch, RawBatch, SplitBatch

TENANT = "default"
KEY = TenantKey("bench", b"\x17" * 32)
REQUEST_SPANS = 64
COMMIT_REQUESTS = 16
"""How many requests one write holds: what a busy collector's writer finds waiting."""


class Processing(Protocol):
    """What a batch goes through between its receiver and the store."""

    def process(self, batch: RawBatch) -> SplitBatch: ...


@dataclass(frozen=True, slots=True)
class Store:
    """An open store: tables in chDB, heavy parts in files."""

    folder: Path
    engine: Engine
    exporter: ClickHouse

    @property
    def blobs(self) -> Path:
        return self.folder / "blobs"

    @property
    def database(self) -> Path:
        return self.folder / "store"

    def take(self, chain: Processing, bodies: Sequence[bytes]) -> tuple[int, int]:
        """Decode, process and store requests as a collector does; return how many spans and bytes they had."""
        spans, waiting = 0, []
        for number, body in enumerate(bodies, 1):
            waiting.append(chain.process(decode(body)))
            if number % COMMIT_REQUESTS == 0 or number == len(bodies):
                batch = merge(waiting)
                self.exporter.export(batch)
                spans += len(batch.rows)
                waiting = []
        return spans, sum(map(len, bodies))


@contextmanager
def store() -> Iterator[Store]:
    """Open a store in a temporary folder, gone at the end. chDB allows one a process."""
    folder = Path(tempfile.mkdtemp(prefix="runreel-bench-"))
    try:
        engine = Engine.open(folder / "store", tmp=folder / "tmp")
        exporter = ClickHouse(engine, FileBlobs(folder / "blobs"))
        try:
            exporter.start()
            yield Store(folder, engine, exporter)
        finally:
            exporter.shutdown()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def decode(body: bytes) -> RawBatch:
    """Decode a request as a receiver does."""
    return otlp.decode("traces", body, "protobuf", TENANT)


def redacted(settings: RedactSettings | None = None) -> Chain:
    """Return the chain of the product: schema, redact, split."""
    return Chain(Schema(), Redactor(KEY, settings or RedactSettings()), Split())


class Unredacted:
    """The chain with redaction left out, to measure the rest: no configuration of the product does that."""

    def __init__(self) -> None:
        self._schema, self._split = Schema(), Split()

    def process(self, batch: RawBatch) -> SplitBatch:
        known = self._schema.process(batch)
        return self._split.process(CleanBatch(known.tenant, known.spans, known.logs, known.facts, known.rejected))
