import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from minio import Minio

from clickhouse_front import PASSWORD, front
from runreel import components
from runreel.errors import LockedError, NotFoundError, StoreError
from runreel.exporters.blobs import BlobsExporter
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.memory import Memory
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.runs import discovery
from runreel.runs.discovery import Collector
from runreel.runs.remote import RemoteRuns
from runreel.storage import RunQuery
from runreel.values import SplitBatch
from s3_server import ACCESS_KEY, SECRET_KEY, seaweedfs
from store_kit import HEAVY, a_run
from stored_rows import TRACE, part, row


def site(home: Path) -> components.Site:
    return components.Site(home)


def test_what_is_stored_in_a_home_is_listed_from_it(tmp_path: Path) -> None:
    database = components.open_database(tmp_path)
    database.start()
    database.export(a_run())
    database.shutdown()
    said: list[str] = []

    runs = components.open_runs(tmp_path, say=said.append)
    listed = runs.runs(RunQuery())
    whole = runs.run("default", listed[0].run_id)
    runs.close()

    assert [summary.tool_calls for summary in listed] == [1]
    assert HEAVY in whole.payloads.values()
    assert said == [f"opening the store in {tmp_path}"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blobs", "store", "store.lock", "tmp"]


def test_a_home_in_which_nothing_was_recorded_is_not_made(tmp_path: Path) -> None:
    said: list[str] = []

    runs = components.open_runs(tmp_path / "nowhere", say=said.append)

    assert runs.runs(RunQuery()) == []
    with pytest.raises(NotFoundError, match="nothing is recorded here yet"):
        runs.resolve("default", "last")
    runs.close()
    assert not (tmp_path / "nowhere").exists()
    assert said == [f"nothing is recorded in {tmp_path / 'nowhere'} yet"]


def test_a_stale_collector_file_is_said_and_the_store_is_opened(tmp_path: Path) -> None:
    components.open_database(tmp_path).shutdown()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    discovery.write(tmp_path, Collector(os.getpid(), "then", None, None, f"http://127.0.0.1:{port}", "token"))
    said: list[str] = []

    runs = components.open_runs(tmp_path, say=said.append)
    runs.close()

    assert "is stale" in said[0]
    assert said[1] == f"opening the store in {tmp_path}"


def test_a_running_collector_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Collector(4711, "now", None, None, "http://127.0.0.1:1", "token")
    monkeypatch.setattr(discovery, "find", lambda home, say: running)
    said: list[str] = []

    runs = components.open_runs(tmp_path, say=said.append)

    assert isinstance(runs, RemoteRuns)
    assert said == ["asking the collector at http://127.0.0.1:1 (process 4711)"]


def test_a_home_that_another_process_has_open_is_refused(tmp_path: Path) -> None:
    database = components.open_database(tmp_path)
    try:
        code = "import sys, pathlib; from runreel import components; components.open_runs(pathlib.Path(sys.argv[1]))"
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
        )
        with pytest.raises(LockedError, match="in this process already"):
            components.open_runs(tmp_path)
    finally:
        database.shutdown()

    assert done.returncode == 1
    assert f"LockedError: the store {tmp_path / 'store'} is open in process {os.getpid()}" in done.stderr


def test_a_home_that_is_a_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match="RUNREEL_HOME"):
        components.open_database(tmp_path / "file")


def test_a_home_without_permission_is_refused_to_an_ordinary_user(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    (tmp_path / "closed").mkdir(mode=0o700)
    code = """
import os, sys, pathlib
from runreel import components
from runreel.errors import StoreError
import chdb, clickhouse_connect.driver.exceptions
os.setuid(65534)
try:
    components.open_database(pathlib.Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "closed" / "home")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert f"cannot use the blob folder {tmp_path / 'closed' / 'home'}" in done.stdout
    assert "Permission denied" in done.stdout
    assert "RUNREEL_HOME" in done.stdout


def test_processors_are_built_by_the_name_of_their_type(tmp_path: Path) -> None:
    built = {name: make({}, site(tmp_path)) for name, make in components.PROCESSORS.items() if name != "redact"}

    assert {name: type(one) for name, one in built.items()} == {"schema": Schema, "split": Split}


def test_the_redactor_is_built_with_the_key_of_the_home(tmp_path: Path) -> None:
    redactor = components.PROCESSORS["redact"]({"entities": ("EMAIL",), "regions": ("US",)}, site(tmp_path))

    assert hasattr(redactor, "process")
    assert (tmp_path / "keys" / "default.json").stat().st_mode & 0o777 == 0o600


def test_clickhouse_puts_heavy_parts_where_files_say(tmp_path: Path) -> None:
    heavy = part(b"y" * 50_000)
    wanted = {"clickhouse": {}, "files/parts": {"path": str(tmp_path / "elsewhere")}}

    built = components.open_exporters(wanted, site(tmp_path))
    for exporter in built.values():
        exporter.start()
    built["clickhouse"].export(SplitBatch("default", (row(),), parts=(heavy,)))
    runs = components.runs_in(built)
    stored = runs.part("default", heavy.sha256)
    listed = runs.runs(RunQuery())
    for exporter in built.values():
        exporter.shutdown()

    assert list(built) == ["clickhouse", "files/parts"]
    assert isinstance(built["clickhouse"], ClickHouse)
    assert isinstance(built["files/parts"], BlobsExporter)
    assert stored == heavy.data
    assert [summary.run_id for summary in listed] == [TRACE]
    assert list((tmp_path / "elsewhere").rglob(f"{heavy.sha256}.zst"))


def test_clickhouse_puts_heavy_parts_into_the_bucket(tmp_path: Path) -> None:
    heavy = part(b"y" * 50_000)
    with seaweedfs(tmp_path / "s3") as server:
        wanted = {
            "clickhouse": {},
            "s3": {
                "endpoint": server.endpoint,
                "bucket": "runs",
                "access_key_id": ACCESS_KEY,
                "secret_access_key": SECRET_KEY,
            },
        }
        built = components.open_exporters(wanted, site(tmp_path))
        built["s3"].export(SplitBatch("default", (row(),), parts=(heavy,)))
        built["clickhouse"].export(SplitBatch("default", (row(),), parts=(heavy,)))
        stored = components.runs_in(built).part("default", heavy.sha256)
        client = Minio(server.endpoint.removeprefix("http://"), ACCESS_KEY, SECRET_KEY, secure=False)
        names = [str(found.object_name) for found in client.list_objects("runs", recursive=True)]
        for exporter in built.values():
            exporter.shutdown()

    assert stored == heavy.data
    assert [name.rpartition("/")[2] for name in names] == [f"{heavy.sha256}.zst"]
    assert not (tmp_path / "blobs").exists()


def test_clickhouse_may_be_a_server(tmp_path: Path) -> None:
    with front(tmp_path / "engine") as server:
        wanted = {"files": {}, "clickhouse": {"endpoint": server.endpoint, "password": PASSWORD}}
        built = components.open_exporters(wanted, site(tmp_path))
        built["clickhouse"].export(SplitBatch("default", (row(),)))
        listed = components.runs_in(built).runs(RunQuery())
        for exporter in built.values():
            exporter.shutdown()

    assert [summary.run_id for summary in listed] == [TRACE]
    assert not (tmp_path / "store").exists()


def test_clickhouse_without_files_keeps_every_part_itself(tmp_path: Path) -> None:
    heavy = part(b"y" * 50_000)

    built = components.open_exporters({"clickhouse": {"path": str(tmp_path / "engine")}}, site(tmp_path))
    built["clickhouse"].export(SplitBatch("default", parts=(heavy,)))
    runs = components.runs_in(built)
    stored = runs.part("default", heavy.sha256)
    runs.close()

    assert stored == heavy.data
    assert (tmp_path / "engine").is_dir()
    assert not (tmp_path / "blobs").exists()


def test_what_was_opened_is_closed_again_where_a_later_one_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    wanted = {"clickhouse": {}, "clickhouse/second": {"path": str(tmp_path / "file")}}

    with pytest.raises(StoreError):
        components.open_exporters(wanted, site(tmp_path))

    components.open_database(tmp_path).shutdown()


def test_runs_can_be_kept_in_memory(tmp_path: Path) -> None:
    built = components.open_exporters({"memory": {}}, site(tmp_path))
    built["memory"].export(a_run())

    assert isinstance(built["memory"], Memory)
    assert len(components.runs_in(built).runs(RunQuery())) == 1


def test_exporters_that_keep_no_rows_have_no_runs(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="keeps rows"):
        components.runs_in(components.open_exporters({"files": {}}, site(tmp_path)))


def test_importing_the_registry_loads_nothing_heavy() -> None:
    code = "import sys, runreel.components; print([name for name in sys.modules if name.partition('.')[0] in sys.argv])"
    heavy = ["chdb", "clickhouse_connect", "presidio_analyzer", "hyperscan", "pydantic", "yaml", "grpc", "starlette"]

    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.strip() == "[]"
