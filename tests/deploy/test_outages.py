"""Stores that go away while real exporters send: nothing acknowledged is lost, nothing is there twice, and no restart.

`RUNREEL_OUTAGE_S` says how long each outage lasts: a second or two in CI, 60 in `make torture`.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import otlp_build as build
from clickhouse_front import Front, front
from collector_kit import SPOOLED, ask, until
from load_kit import Load, grpc_exporter, http_exporter
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.s3 import S3Blobs, S3Settings
from runreel.exporters.server import Server, ServerSettings
from runreel.runs.load import StoreRuns
from s3_server import ACCESS_KEY, SECRET_KEY, Faults, seaweedfs
from serve_kit import Serving, serve

OUTAGE_S = float(os.environ.get("RUNREEL_OUTAGE_S", "1.5"))
OUTAGES = (
    (("clickhouse",), "refuse"),
    (("objects",), "refuse"),
    (("clickhouse", "objects"), "refuse"),
    (("clickhouse",), "hang"),
    (("objects",), "hang"),
)


def heavy(number: int) -> str:
    """A result that goes to the object store, not the same twice."""
    return f"a long result of tool number {number} " * 1500


@dataclass
class Stack:
    """A collector on stores behind proxies that can be made to fail."""

    serving: Serving
    clickhouse: Faults
    objects: Faults
    server: Front
    settings: S3Settings

    def trace(self, number: int) -> tuple[str, int]:
        """Send a run with a heavy part; return its trace id and the status."""
        trace_id = f"{number + 1:032x}"
        tool = build.tool("00000000000000c1", build.ROOT, "search", {"q": number}, heavy(number), tid=trace_id)
        body = build.req(build.agent(tid=trace_id), tool).SerializeToString()
        return trace_id, ask(f"{self.serving.at.otlp_http}/v1/traces", body).status

    def settled(self) -> None:
        """Wait until nothing waits any more."""
        token = f"Bearer {self.serving.at.token}"
        told = f"{self.serving.at.api}/api/v1/stores"
        until(lambda: ask(told, authorization=token).json()["spool"]["batches"] == 0, 120)


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    with seaweedfs(tmp_path / "s3") as objects, front(tmp_path / "engine") as server:
        to_objects, to_server = Faults(objects.port), Faults(int(server.endpoint.rpartition(":")[2]))
        settings = S3Settings(
            to_objects.endpoint, "runs", access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY, timeout_s=1
        )
        text = SPOOLED.replace(
            "exporters: {files: , clickhouse: }",
            f"exporters: {{s3: {{endpoint: '{to_objects.endpoint}', bucket: runs, access_key_id: {ACCESS_KEY}, "
            f"secret_access_key: {SECRET_KEY}, timeout_s: 1}}, "
            f"clickhouse: {{endpoint: '{to_server.endpoint}', timeout_s: 2}}}}",
        ).replace("[files, clickhouse]", "[s3, clickhouse]")
        with serve(tmp_path / "home", text) as serving:
            yield Stack(serving, to_server, to_objects, server, settings)
        to_objects.close()
        to_server.close()


@contextmanager
def outage(*proxies: Faults, mode: str = "refuse") -> Iterator[None]:
    for proxy in proxies:
        proxy.mode = mode
        proxy.drop()
    time.sleep(OUTAGE_S)
    yield
    for proxy in proxies:
        proxy.mode = "pass"
        proxy.drop()


def stored(stack: Stack, traces: set[str]) -> Counter[tuple[str, str]]:
    database = ClickHouse(Server.connect(ServerSettings(stack.server.endpoint)))
    try:
        rows, _ = database.rows("default", sorted(traces))
    finally:
        database.shutdown()
    return Counter((row.span.key.trace_id, row.span.key.span_id) for row in rows)


@pytest.mark.slow
def test_outages_under_load_lose_nothing_and_double_nothing(stack: Stack) -> None:
    proxies = {"clickhouse": stack.clickhouse, "objects": stack.objects}
    at = stack.serving.at
    assert at.otlp_grpc
    sent: list[tuple[str, int]] = []
    with Load([lambda: grpc_exporter(at.otlp_grpc), lambda: http_exporter(at.otlp_http)]) as load:
        for down, mode in OUTAGES:
            until(lambda: len(load.acknowledged) > 30, 60)
            with outage(*(proxies[name] for name in down), mode=mode):
                before = len(load.acknowledged)
                sent.append(stack.trace(len(sent)))
                until(lambda before=before: len(load.acknowledged) > before + 15, 60)  # answered all the while
    stack.settled()

    found = stored(stack, {trace for trace, _ in load.acknowledged})
    assert load.acknowledged - set(found) == set()
    assert {key: count for key, count in found.items() if count > 1} == {}
    assert [status for _, status in sent] == [200] * len(OUTAGES)
    runs = StoreRuns(ClickHouse(Server.connect(ServerSettings(stack.server.endpoint))), S3Blobs(stack.settings))
    for number, (trace_id, _) in enumerate(sent):
        run = runs.run("default", trace_id)
        (tool,) = [step for step in run.steps if step.kind == "tool"]
        assert run.value(tool.output) == heavy(number)
    runs.close()
    assert stack.serving.process.poll() is None


def test_a_collector_killed_while_a_store_is_away_has_stored_everything_when_it_is_back(tmp_path: Path) -> None:
    with front(tmp_path / "engine") as server:
        proxy = Faults(int(server.endpoint.rpartition(":")[2]))
        text = SPOOLED.replace("clickhouse: }", f"clickhouse: {{endpoint: '{proxy.endpoint}', timeout_s: 2}}}}")
        home = tmp_path / "home"
        with serve(home, text) as serving:
            proxy.mode = "refuse"
            proxy.drop()
            bodies = [build.req(build.agent(tid=f"{number:032x}")).SerializeToString() for number in range(1, 30)]
            assert {ask(f"{serving.at.otlp_http}/v1/traces", body).status for body in bodies} == {200}
            serving.end(signal.SIGKILL)
        proxy.mode = "pass"
        with serve(home, text) as serving:
            listed = ask(f"{serving.at.api}/api/v1/runs?limit=100", authorization=f"Bearer {serving.at.token}").json()
            counted = ask(f"{serving.at.api}/api/v1/stores", authorization=f"Bearer {serving.at.token}").json()
        proxy.close()

    assert {run["run_id"] for run in listed["runs"]} == {f"{number:032x}" for number in range(1, 30)}
    assert counted["ledger"]["default"]["acknowledged_spans"] == 29


def noise() -> str:
    return os.urandom(300_000).hex()


def mounted(folder: Path, size: str) -> bool:
    """Mount a small file system of memory; False where that is not allowed."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "runreel-test", str(folder)], capture_output=True, check=False
    )
    return done.returncode == 0


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting a small disk takes root")
def test_a_full_disk_refuses_what_does_not_fit_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    if not mounted(disk, "6m"):
        pytest.skip("no file system may be mounted here")
    try:
        text = SPOOLED.replace("spool: }", f"spool: {{path: {disk / 'spool'}}}}}")
        with serve(tmp_path / "home", text) as serving:
            filler = disk / "filler"
            filler.write_bytes(b"x" * (5 << 20))
            big = [
                build.req(
                    build.agent(tid=f"{number:032x}"),
                    build.tool("00000000000000c1", build.ROOT, "t", {}, noise(), tid=f"{number:032x}"),
                ).SerializeToString()
                for number in range(1, 9)
            ]
            first = [ask(f"{serving.at.otlp_http}/v1/traces", body).status for body in big]
            filler.unlink()
            again = [
                ask(f"{serving.at.otlp_http}/v1/traces", body).status
                for body, status in zip(big, first, strict=True)
                if status != 200
            ]
            listed = ask(f"{serving.at.api}/api/v1/runs?limit=100", authorization=f"Bearer {serving.at.token}").json()
        log = serving.log
    finally:
        subprocess.run(["umount", str(disk)], check=True)

    assert 503 in first
    assert set(again) == {200}
    assert {run["run_id"] for run in listed["runs"]} == {f"{number:032x}" for number in range(1, 9)}
    assert not re.search(r"Traceback", log)
