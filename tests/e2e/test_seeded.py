"""5,000 planted secrets and personal values, in every field and encoding: none is anywhere once a collector took them.

The scan that finds none is proven on a collector without redaction, where it finds each of them.
"""

import http.client
import os
import subprocess
import sys
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from collector_kit import SPOOLED, until
from planted import ENCODINGS, KINDS, Plant, Request, Scan, garden
from runreel.runs import discovery
from runreel.runs.discovery import Collector
from stored_bytes import contents

COUNT = 5000
SERVE = """if True:
    import sys
    from runreel.cli import main
    sys.exit(main(sys.argv[1:]))
"""
# The product's collector with nothing changed but its redactor, which lets everything through.
UNREDACTED = """if True:
    from runreel import components
    from runreel.values import CleanBatch

    class Nothing:
        def process(self, batch):
            return CleanBatch(batch.tenant, batch.spans, batch.logs, batch.facts, batch.rejected)

        def text(self, text):
            return text

    components.PROCESSORS["redact"] = lambda settings, site: Nothing()
"""
# Every column of every table, as SQL returns it.
DUMP = """if True:
    import sys
    from pathlib import Path
    from runreel.exporters.engine import Engine

    engine = Engine.open(Path(sys.argv[1]) / "store", tmp=Path(sys.argv[1]) / "tmp")
    tables = engine.query("SELECT name FROM system.tables WHERE database = 'runreel'")
    for (name,) in tables:
        rows = engine._reader.raw_query(f"SELECT * FROM runreel.{name} FORMAT RowBinary")
        (Path(sys.argv[2]) / name).write_bytes(rows)
    engine.close()
"""


@pytest.fixture(scope="module")
def planted() -> tuple[list[Plant], list[Request], Scan]:
    plants, requests = garden(COUNT)
    return plants, requests, Scan(plants)


@contextmanager
def running(folder: Path, script: str) -> Iterator[tuple["subprocess.Popen[bytes]", Collector]]:
    """Run a collector on `folder/home`; its configuration and what it says are in the folder, too."""
    config, home = folder / "config.yaml", folder / "home"
    config.write_text(SPOOLED, encoding="utf-8")
    with (folder / "log.txt").open("ab") as said:
        argv = [sys.executable, "-c", script, "serve", "--home", str(home), "--config", str(config)]
        process = subprocess.Popen(argv, stdout=said, stderr=said, env={**os.environ, "TMPDIR": str(folder)})
        try:
            assert until(lambda: process.poll() is not None or _answers(home, process.pid), 60)
            yield process, discovery.read(home)
        finally:
            process.terminate()
            process.wait(60)


def _answers(home: Path, pid: int) -> bool:
    with suppress(Exception):  # no file yet, or half of one
        found = discovery.read(home)
        return found is not None and found.pid == pid
    return False


def send(at: Collector, requests: Sequence[Request], sent: Counter[str] | None = None) -> None:
    """Send requests as an exporter does, one after the other."""
    url = urllib.parse.urlsplit(str(at.otlp_http))
    connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=60)
    for request in requests:
        for signal, body in request.bodies():
            connection.request("POST", f"/v1/{signal}", body, {"Content-Type": "application/x-protobuf"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            if sent is not None:
                sent["requests"] += 1
    connection.close()


def left(folder: Path, plants: Sequence[Plant], scan: Scan) -> list[Plant]:
    """Return the values that are in any file below a folder: raw, or in a frame of it."""
    return [plants[place] for place in sorted(scan.found(data for _, data in contents(folder)))]


def dumped(folder: Path) -> Path:
    """Write what every table of the store below a folder holds into files, and return where they are."""
    tables = folder / "tables"
    tables.mkdir()
    subprocess.run([sys.executable, "-c", DUMP, str(folder / "home"), str(tables)], check=True, timeout=120)
    assert {"spans", "parts", "payloads", "log_events"} <= {path.name for path in tables.iterdir()}
    return tables


@pytest.mark.slow
def test_none_of_the_planted_values_is_anywhere_nor_after_a_kill_in_the_middle(
    tmp_path: Path, planted: tuple[list[Plant], list[Request], Scan]
) -> None:
    plants, requests, scan = planted
    half = len(requests) // 2
    sent, gone = Counter[str](), Event()

    with running(tmp_path, SERVE) as (process, at):

        def sending() -> None:
            with suppress(OSError, http.client.HTTPException):  # what the kill cuts off
                send(at, requests, sent)
            gone.set()

        sender = Thread(target=sending)
        sender.start()
        until(lambda: sent["requests"] >= half or gone.is_set(), 60)
        process.kill()
        process.wait(60)
        sender.join(60)
    assert half <= sent["requests"] < 2 * len(requests)
    assert left(tmp_path, plants, scan) == []

    with running(tmp_path, SERVE) as (_, at):
        send(at, requests)
        assert left(tmp_path, plants, scan) == []
    tables = dumped(tmp_path)

    assert left(tmp_path, plants, scan) == []
    spans = (tables / "spans").read_bytes()
    assert spans.count(b"please see ") > 100  # what is nobody's is there, and was looked into
    assert spans.count(b"<SECRET:") > 100


@pytest.mark.slow
def test_the_scan_finds_each_of_them_where_redaction_is_off(
    tmp_path: Path, planted: tuple[list[Plant], list[Request], Scan]
) -> None:
    plants, requests, scan = planted

    with running(tmp_path, UNREDACTED + SERVE.removeprefix("if True:\n")) as (_, at):
        send(at, requests)
    home = {one.number for one in left(tmp_path / "home", plants, scan)}
    tables = {one.number for one in left(dumped(tmp_path), plants, scan)}

    assert home == {one.number for one in plants}
    assert tables == home


def test_the_garden_has_every_kind_in_every_encoding_and_field(
    planted: tuple[list[Plant], list[Request], Scan],
) -> None:
    plants, requests, _ = planted

    assert len({one.value for one in plants}) == COUNT
    assert {one.kind for one in plants} == set(KINDS)
    assert {one.encoding for one in plants} == set(ENCODINGS)
    assert {one.field for one in plants} == set(requests[0].fields())
    assert len({(one.kind, one.encoding) for one in plants}) == len(KINDS) * len(ENCODINGS)
