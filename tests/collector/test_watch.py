"""How each store is, said over the health check and the read API."""

import json
from pathlib import Path

import pytest

import otlp_build as build
from collector_kit import SPOOLED, Store, ask, collector, until
from runreel.collector.watch import FRESH_S, Watch
from runreel.errors import RetryableError, StoreError
from runreel.exporters.blobs import BlobsExporter
from runreel.exporters.files import FileBlobs
from runreel.exporters.memory import Memory
from runreel.exporters.s3 import S3Blobs, S3Settings
from runreel.exporters.vault import Vault

BODY = build.req(build.agent()).SerializeToString()


class Troubled:
    """A store with a trouble that can be taken away."""

    def __init__(self) -> None:
        self.trouble: Exception | None = None
        self.asked = 0

    def __call__(self, _: object) -> None:
        self.asked += 1
        if self.trouble is not None:
            raise self.trouble


@pytest.fixture
def trouble() -> Troubled:
    return Troubled()


def test_each_store_is_named_with_what_is_wrong_and_bugs_say_no_data(trouble: Troubled) -> None:
    trouble.trouble = RetryableError("cannot write part: nothing listens there")
    bug = Store(hook=lambda _: json.loads("{secret text}"))
    watch = Watch({"clickhouse": Store(), "s3": Store(hook=trouble), "files/x": bug})

    found = watch.stores()

    assert found["clickhouse"] == "ok"
    assert found["s3"] == "cannot write part: nothing listens there"
    assert "secret" not in found["files/x"] != "ok"
    assert not watch.ready()


def test_who_asks_often_does_not_write_often(trouble: Troubled) -> None:
    now = [0.0]
    watch = Watch({"store": Store(hook=trouble)}, clock=lambda: now[0])
    for _ in range(5):
        watch.stores()
    assert trouble.asked == 1

    now[0] = FRESH_S
    watch.stores()

    assert trouble.asked == 2


@pytest.mark.parametrize("kind", ["files", "memory", "vault"])
def test_a_store_that_is_well_is_left_as_it_was(tmp_path: Path, kind: str) -> None:
    if kind == "vault":
        exporter = Vault(tmp_path / "vault.db")
        exporter.start()
    else:
        exporter = BlobsExporter(FileBlobs(tmp_path)) if kind == "files" else Memory()  # type: ignore[assignment]
    before = sorted(tmp_path.rglob("*.zst"))

    exporter.check()

    assert sorted(tmp_path.rglob("*.zst")) == before
    assert not list(tmp_path.glob(".tmp/*"))
    exporter.shutdown()


def test_stores_that_are_away_say_why(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    blobs = FileBlobs(tmp_path / "blobs")
    (tmp_path / "blobs").rmdir()
    (tmp_path / "blobs").write_text("a file")
    away = S3Blobs(S3Settings("http://127.0.0.1:1", "runs", access_key_id="a", secret_access_key="b"))

    with pytest.raises(StoreError, match="cannot write to the blob folder"):
        blobs.check()
    with pytest.raises(StoreError, match="nothing listens there"):
        away.check()


def test_with_a_spool_a_store_that_is_away_is_named_and_requests_are_taken(tmp_path: Path, trouble: Troubled) -> None:
    with collector(tmp_path, Store(hook=trouble), SPOOLED) as running:
        trouble.trouble = RetryableError("away")
        assert ask(f"{running.http}/v1/traces", BODY).status == 200
        told = ask(f"{running.at.api}/api/v1/stores", authorization=f"Bearer {running.at.token}").json()
        trouble.trouble = None
        until(lambda: running.service.spool.waiting() == (0, 0))  # type: ignore[union-attr]
        after = ask(f"{running.at.api}/api/v1/stores", authorization=f"Bearer {running.at.token}").json()

    assert told["stores"] == {"store": "away"}
    assert told["spool"]["batches"] == 1
    assert told["ledger"]["default"]["spooled_spans"] == 1
    assert after["spool"] == {"batches": 0, "bytes": 0, "full": False}
    assert after["ledger"]["default"]["stored_spans"] == 1


def test_the_stores_are_told_to_nobody_without_the_token(tmp_path: Path) -> None:
    with collector(tmp_path, Store()) as running:
        assert ask(f"{running.at.api}/api/v1/stores").status == 401
