"""kill -9 in the middle of writing: what was acknowledged is there, once and whole."""

import os
import random
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runreel.canonical import payload_marker
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.engine import Engine
from runreel.exporters.files import FileBlobs
from runreel.runs.join import Shelf
from runreel.values import SplitBatch
from stored_rows import log, payload, row

SPANS = 10
ROUNDS = 3

WRITER = """
import sys
from pathlib import Path
from test_kill import numbered, open_store
database = open_store(Path(sys.argv[1]))
database.start()
number = int(sys.argv[2])
while True:
    database.export(numbered(number))
    print(number, flush=True)  # the acknowledgement
    number += 1
"""


def open_store(home: Path) -> ClickHouse:
    return ClickHouse(Engine.open(home / "store", tmp=home / "tmp"), FileBlobs(home / "blobs"))


def trace_of(number: int) -> str:
    return f"{number:032x}"


def numbered(number: int) -> SplitBatch:
    """A batch with a trace of its own: spans, a log event, a payload with a light and a heavy part."""
    marked, light = payload({"prompt": f"light {number} " * 40, "document": f"heavy {number} " * 4000})
    spans = [row(f"{place + 1:016x}", trace_id=trace_of(number)) for place in range(SPANS - 1)]
    last = row(
        f"{SPANS:016x}", trace_id=trace_of(number), attributes={"gen_ai.output.messages": payload_marker(marked.ref)}
    )
    return SplitBatch("default", (*spans, last), (log(trace_of(number)),), (marked,), tuple(light))


def written_until_killed(home: Path, first: int, after: int, delay_s: float) -> list[int]:
    """Start a writer, kill it `delay_s` after so many acknowledgements, return what it acknowledged."""
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, str(Path(here).parent)])
    command = [sys.executable, "-c", WRITER, str(home), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}) as writer:
        assert writer.stdout
        said = b""
        while said.count(b"\n") < after:
            more = os.read(writer.stdout.fileno(), 65536)
            assert more, "the writer ended by itself"
            said += more
        select.select([], [], [], delay_s)  # somewhere inside one of the next batches
        writer.send_signal(signal.SIGKILL)
        said += writer.stdout.read()
        assert writer.wait(60) == -signal.SIGKILL
    return [int(line) for line in said.splitlines(keepends=True) if line.endswith(b"\n")]


@pytest.mark.slow
def test_every_acknowledged_span_is_there_once_and_no_span_without_its_payload(tmp_path: Path) -> None:
    chance = random.Random(20261129)
    acknowledged: list[int] = []
    for _ in range(ROUNDS):
        first = max(acknowledged, default=0) + 100
        acknowledged += written_until_killed(tmp_path, first, chance.randint(1, 12), chance.random() * 0.06)

        database = open_store(tmp_path)
        try:
            check(database, FileBlobs(tmp_path / "blobs"), acknowledged)
        finally:
            database.shutdown()
        assert list((tmp_path / "tmp").iterdir()) == []


def check(database: ClickHouse, blobs: FileBlobs, acknowledged: list[int]) -> None:
    stored = {trace.trace_id for trace in database.recent("default", since_ns=None, limit=100_000, offset=0)}
    assert {trace_of(number) for number in acknowledged} <= stored
    for trace_id in stored:
        batch = numbered(int(trace_id, 16))
        rows, logs = database.rows("default", [trace_id])
        if int(trace_id, 16) in acknowledged:
            assert len(rows) == SPANS
            assert list(logs) == list(batch.logs)
        # Never acknowledged, and there all the same: then all of it, since one insert brought its spans.
        assert len(rows) in {0, SPANS}
        assert {found.span.key for found in rows} <= {expected.span.key for expected in batch.rows}
        shelf = Shelf(database, blobs, "default")
        shelf.fetch(rows, logs)
        for found in rows:
            shelf.span(found)  # raises where a part or payload is missing or damaged
