"""The collector with a spool: answered once it is on the disk, stored behind that, whatever the stores do."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import otlp_build as build
from collector_kit import SPOOLED, Running, Store, ask, collector, until
from runreel.collector import forward
from runreel.collector.commit import Committer
from runreel.collector.forward import Forwarder
from runreel.collector.telemetry import Telemetry
from runreel.errors import PermanentError, RetryableError
from runreel.spool import Spool
from runreel.values import SplitBatch
from stored_rows import row


def body(name: str) -> bytes:
    return build.req(build.agent(name=name)).SerializeToString()


def send(running: Running, name: str) -> int:
    return ask(f"{running.http}/v1/traces", body(name)).status


def span_names(store: Store) -> list[str]:
    return [span.name for span in store.spans]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(forward, "LONGEST_PAUSE_S", 0.05)
    monkeypatch.setattr(forward, "DRAIN_S", 0.2)


class Away:
    """A store that takes nothing until it is back."""

    def __init__(self) -> None:
        self.back = threading.Event()
        self.asked = 0

    def __call__(self, _: SplitBatch) -> None:
        self.asked += 1
        if not self.back.is_set():
            raise RetryableError("away")


def test_a_request_is_answered_while_the_store_is_away_and_stored_when_it_is_back(tmp_path: Path) -> None:
    away = Away()
    store = Store(hook=away)
    with collector(tmp_path, store, SPOOLED) as running:
        assert [send(running, name) for name in ("a", "b", "c")] == [200, 200, 200]
        until(lambda: away.asked > 2)
        assert store.batches == []

        away.back.set()

        until(lambda: len(store.spans) == 3)


def test_what_waits_after_an_outage_is_stored_by_a_store_that_cannot_take_it_in_one_write(tmp_path: Path) -> None:
    away = Away()

    def slow(batch: SplitBatch) -> None:
        away(batch)
        if len(batch.rows) > 3:
            raise RetryableError("it takes longer than the time limit")

    store = Store(hook=slow)
    with collector(tmp_path, store, SPOOLED) as running:
        for number in range(20):
            assert send(running, f"run {number}") == 200
        until(lambda: away.asked > 2)

        away.back.set()

        until(lambda: len(store.spans) == 20)


def test_what_a_store_did_not_take_before_the_end_is_stored_by_the_next_collector(tmp_path: Path) -> None:
    away = Away()
    with collector(tmp_path, Store(hook=away), SPOOLED) as running:
        assert send(running, "a") == 200
        assert send(running, "b") == 200
    store = Store()

    with collector(tmp_path, store, SPOOLED):
        until(lambda: len(store.spans) == 2)


def test_what_waits_is_stored_before_a_collector_stops(tmp_path: Path) -> None:
    store = Store()
    with collector(tmp_path, store, SPOOLED) as running:
        assert send(running, "a") == 200

    assert len(store.spans) == 1


def test_a_full_spool_tells_clients_to_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runreel.collector.service.MIB", 1)  # limit_mib counts single bytes, and so does admission
    away = Away()
    text = SPOOLED.replace("spool: }", "spool: {limit_mib: 4096}}").replace(
        'grpc: {endpoint: "127.0.0.1:0"}', 'grpc: {endpoint: "127.0.0.1:0", max_recv_msg_size_mib: 64}'
    )
    text = text.replace("  otlp:\n", "  otlp:\n    admission: {request_limit_mib: 65536}\n")
    with collector(tmp_path, Store(hook=away), text) as running:
        statuses = [ask(f"{running.http}/v1/traces", body(str(number))) for number in range(12)]
        away.back.set()

    refused = [answer for answer in statuses if answer.status != 200]
    assert statuses[0].status == 200
    assert {answer.status for answer in refused} == {503}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)


def test_who_reads_sees_what_was_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "LINGER_S", 60.0)  # nothing would be stored for a minute, were it not for the reader
    store = Store()

    class Counting:
        def runs(self, _: object) -> list[object]:
            seen.append(len(store.spans))
            return []

        def close(self) -> None:
            pass

    seen: list[int] = []
    with collector(tmp_path, store, SPOOLED, runs=Counting()) as running:
        assert send(running, "a") == 200
        answer = ask(f"{running.at.api}/api/v1/runs", authorization=f"Bearer {running.at.token}")

    assert answer.status == 200
    assert seen == [1]


# --- the forwarder alone ---


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    made = Spool(tmp_path / "spool")
    made.open()
    yield made
    made.close()


def forwarded(spool: Spool, store: Store, counts: Telemetry | None = None) -> Forwarder:
    committer = Committer(counts or Telemetry())
    committer.start()
    made = Forwarder(spool, committer, {"store": store}, counts or Telemetry())
    made.start()
    return made


def batch(name: str) -> SplitBatch:
    return SplitBatch("default", (row(name=name),))


def test_batches_are_stored_in_the_order_they_came(spool: Spool) -> None:
    flaky = iter([RetryableError("once"), None, RetryableError("twice")])

    def hook(_: SplitBatch) -> None:
        error = next(flaky, None)
        if error is not None:
            raise error

    store = Store(hook=hook)
    for number in range(50):
        spool.append(batch(f"{number:02}")).result(30)
    forwarder = forwarded(spool, store)

    assert spool.settle(30)
    forwarder.stop()

    assert list(dict.fromkeys(span_names(store))) == [f"{number:02}" for number in range(50)]


def test_a_batch_that_no_store_takes_goes_aside_alone(spool: Spool) -> None:
    def hook(stored: SplitBatch) -> None:
        if any(one.span.name == "bad" for one in stored.rows):
            raise PermanentError("a value that fits no column")

    store, counts = Store(hook=hook), Telemetry()
    for name in ("a", "bad", "c"):
        spool.append(batch(name)).result(30)
    forwarder = forwarded(spool, store, counts)

    assert spool.settle(30)
    forwarder.stop()

    assert sorted(set(span_names(store))) == ["a", "c"]
    assert len(list((spool.folder / "refused").iterdir())) == 1
    assert counts.total("runreel_spool_refused_batches") == 1


def test_a_bug_of_a_store_is_no_end(spool: Spool) -> None:
    bugs = iter([ZeroDivisionError(), ZeroDivisionError()])

    def hook(_: SplitBatch) -> None:
        error = next(bugs, None)
        if error is not None:
            raise error

    store = Store(hook=hook)
    spool.append(batch("a")).result(30)
    forwarder = forwarded(spool, store)

    assert spool.settle(30)
    forwarder.stop()
    assert span_names(store) == ["a"]


def test_a_spool_that_cannot_set_aside_tries_again(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = iter([OSError(28, "No space left on device")])
    real = spool.finish

    def finish(*given: object) -> None:
        for error in failures:
            raise error
        real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(spool, "finish", finish)
    store, counts = Store(), Telemetry()
    spool.append(batch("a")).result(30)
    forwarder = forwarded(spool, store, counts)

    assert spool.settle(30)
    forwarder.stop()
    assert counts.total("runreel_unexpected_errors") == 1


def test_stopping_does_not_wait_for_a_store_that_stays_away(spool: Spool, caplog: pytest.LogCaptureFixture) -> None:
    spool.append(batch("a")).result(30)
    forwarder = forwarded(spool, Store(hook=Away()))

    forwarder.stop(drain_s=0.05)
    forwarder.stop(drain_s=0.05)

    assert spool.waiting()[0] == 1
    assert "batches stay in the spool until the next start" in caplog.text


def test_stop_is_safe_without_start(spool: Spool) -> None:
    Forwarder(spool, Committer(Telemetry()), {}, Telemetry()).stop()
