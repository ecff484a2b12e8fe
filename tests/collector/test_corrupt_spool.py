"""A record of the spool is damaged on the disk while no collector runs: it alone is lost, and that is said."""

import threading
from pathlib import Path

import otlp_build as build
from collector_kit import SPOOLED, Store, ask, collector, until
from runreel.collector import forward
from runreel.errors import RetryableError
from runreel.spool import segments
from runreel.values import SplitBatch

METRICS = SPOOLED.replace("service:\n", 'service:\n  telemetry: {metrics: {address: "127.0.0.1:0"}}\n')
SENT = 8


def test_a_corrupt_spool_record_is_set_aside_and_counted_and_everything_else_is_stored(
    tmp_path: Path, monkeypatch: object
) -> None:
    gone = threading.Event()

    def away(_: SplitBatch) -> None:
        if not gone.is_set():
            raise RetryableError("away")

    monkeypatch.setattr(forward, "DRAIN_S", 0.2)  # type: ignore[attr-defined]
    with collector(tmp_path, Store(hook=away), SPOOLED) as running:
        for number in range(SENT):
            body = build.req(build.agent(name=f"n{number}")).SerializeToString()
            assert ask(f"{running.http}/v1/traces", body).status == 200
    (file,) = (tmp_path / "spool").glob("*.spool")
    third = [*segments.scan(file, 0)][3]
    data = bytearray(file.read_bytes())
    data[third.offset + third.size // 2] ^= 0xFF
    file.write_bytes(data)
    store = Store()

    with collector(tmp_path, store, METRICS) as running:
        until(lambda: len(store.spans) == SENT - 1)
        told = ask(f"http://{running.service.metrics_at}/metrics").body.decode()
        stores = ask(f"{running.at.api}/api/v1/stores", authorization=f"Bearer {running.at.token}").json()
        assert ask(f"{running.http}/v1/traces", build.req(build.agent(name="more")).SerializeToString()).status == 200
        until(lambda: len(store.spans) == SENT)

    assert "runreel_spool_damaged_records 1.0" in told
    assert stores["ledger"][""] == {"damaged_bytes": third.size, "damaged_records": 1}
    (kept,) = (tmp_path / "spool" / "damaged").iterdir()
    assert kept.stat().st_size == third.size
    # Set aside once: the next start finds nothing damaged any more.
    with collector(tmp_path, store, METRICS) as running:
        assert running.service.spool is not None
        assert running.service.spool.counted()[""]["damaged_records"] == 1
    assert len(store.spans) == SENT
