"""Behind another collector, `rotel`: real exporters send to it, it batches, retries and forwards, and nothing is lost.

It is an alpha with a binary of its own, and no part of the development requirements: `RUNREEL_ROTEL` names its
`rotel-agent` (in the wheel `rotel`); without it the test is skipped.
"""

import os
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collector_kit import SPOOLED, ask, until
from load_kit import Load, grpc_exporter, http_exporter
from runreel.components import open_database, open_runs
from s3_server import Faults
from serve_kit import serve

ROTEL = os.environ.get("RUNREEL_ROTEL", "")
pytestmark = pytest.mark.skipif(not ROTEL, reason="RUNREEL_ROTEL names no rotel-agent")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def rotel(folder: Path, endpoint: str, protocol: str) -> Iterator[tuple[str, str]]:
    """Run it in front of an endpoint; yields where it takes gRPC and HTTP."""
    grpc, http = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    arguments = {
        "otlp-grpc-endpoint": grpc,
        "otlp-http-endpoint": http,
        "exporter": "otlp",
        "otlp-exporter-endpoint": endpoint,
        "otlp-exporter-protocol": protocol,
        "otlp-exporter-retry-initial-backoff": "200ms",
        "batch-timeout": "100ms",
        "pid-file": str(folder / "rotel.pid"),
    }
    words = [word for name, value in arguments.items() for word in (f"--{name}", value)]
    with (folder / "rotel.log").open("wb") as log:
        process = subprocess.Popen([ROTEL, "start", *words], stdout=log, stderr=log)
        try:
            until(lambda: _listens(grpc) and _listens(http), 30)
            yield grpc, http
        finally:
            process.terminate()
            process.wait(30)


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_everything_that_it_took_arrives_once_also_over_an_outage(tmp_path: Path, protocol: str) -> None:
    home = tmp_path / "home"
    with serve(home, SPOOLED) as serving:
        at = serving.at
        target = at.otlp_grpc if protocol == "grpc" else str(at.otlp_http).removeprefix("http://")
        between = Faults(int(str(target).rpartition(":")[2]))
        with rotel(tmp_path, between.endpoint, protocol) as (grpc, http):
            clients = [lambda: grpc_exporter(grpc), lambda: http_exporter(f"http://{http}")]
            with Load(clients) as load:
                until(lambda: len(load.acknowledged) > 60, 60)
                if protocol == "http":  # over gRPC it drops what it cannot send, and says so in its log
                    between.mode = "refuse"
                    between.drop()
                before = len(load.acknowledged)
                until(lambda: len(load.acknowledged) > before + 60, 60)
                between.mode = "pass"
                until(lambda: len(load.acknowledged) > before + 120, 60)
            told = f"{at.api}/api/v1/stores"

            def counts() -> dict[str, int]:
                nothing = {"acknowledged_spans": 0, "spooled_spans": 0}
                found: dict[str, int] = (
                    ask(told, authorization=f"Bearer {at.token}").json()["ledger"].get("default", nothing)
                )
                return found

            until(lambda: counts()["acknowledged_spans"] >= len(load.acknowledged), 60)
            until(lambda: counts()["spooled_spans"] == 0, 60)
            ledger = counts()
        between.close()
    open_runs(home).close()
    database = open_database(home)
    rows, _ = database.rows("default", sorted({trace for trace, _ in load.acknowledged}))
    database.shutdown()

    stored = Counter((row.span.key.trace_id, row.span.key.span_id) for row in rows)
    assert load.acknowledged - set(stored) == set()
    assert {key: count for key, count in stored.items() if count > 1} == {}
    assert ledger["acknowledged_spans"] == ledger["stored_spans"] >= len(load.acknowledged)
