import threading

import pytest

from collector_kit import Store
from runreel.collector.commit import MAX_ROWS, Committer, merge
from runreel.collector.telemetry import Telemetry
from runreel.errors import PermanentError, RetryableError
from runreel.values import Facts, Part, Payload, Ref, Span, SpanKey, SpanRow, SplitBatch


def batch(name, *, tenant="default", rows=1, part=None):
    spans = [
        SpanRow(Span(SpanKey(tenant, "0" * 31 + "1", f"{n:016x}"), None, name, 1, 2), Facts())
        for n in range(1, rows + 1)
    ]
    parts = (Part(tenant, part, b"data"),) if part else ()
    payloads = (Payload(tenant, Ref(part, 4, "whole"), "skeleton"),) if part else ()
    return SplitBatch(tenant, rows=tuple(spans), parts=parts, payloads=payloads)


class Gate:
    """Holds the first export until it is opened, so that others queue up behind it."""

    def __init__(self):
        self.entered, self.open = threading.Event(), threading.Event()

    def __call__(self, _):
        if not self.entered.is_set():
            self.entered.set()
            assert self.open.wait(30)


@pytest.fixture
def committer():
    made = Committer(Telemetry())
    made.start()
    yield made
    made.stop()


def names(store):
    return [[row.span.name for row in stored.rows] for stored in store.batches]


def test_a_batch_alone_is_written_and_answered(committer):
    store = Store()

    committer.submit(batch("a"), {"store": store}, 10).result(30)

    assert names(store) == [["a"]]


def test_batches_that_wait_are_written_together(committer):
    gate = Gate()
    store = Store(hook=gate)
    first = committer.submit(batch("a"), {"store": store}, 10)
    assert gate.entered.wait(30)
    others = [committer.submit(batch(name, part="ab" * 32), {"store": store}, 10) for name in "bcd"]
    gate.open.set()

    for future in (first, *others):
        future.result(30)

    assert names(store) == [["a"], ["b", "c", "d"]]
    assert len(store.batches[1].parts) == len(store.batches[1].payloads) == 1


def test_the_writer_lingers_for_batches_that_are_expected():
    expected = [1]
    store = Store()
    committer = Committer(Telemetry(), lambda: expected[0])
    arrived = threading.Event()

    def second_comes():
        # Asked for how many are expected only once the first batch is in the writer's hands.
        if not arrived.is_set():
            arrived.set()
            futures.append(committer.submit(batch("b"), {"store": store}, 10))
        return 1

    futures = []
    committer._expecting = second_comes
    committer.start()
    futures.append(committer.submit(batch("a"), {"store": store}, 10))
    futures[0].result(30)
    committer.stop()

    assert names(store) == [["a", "b"]]


def test_a_write_holds_no_more_than_its_limit_and_a_batch(committer):
    gate = Gate()
    store = Store(hook=gate)
    first = committer.submit(batch("a"), {"store": store}, 10)
    assert gate.entered.wait(30)
    big = [committer.submit(batch(name, rows=MAX_ROWS // 2), {"store": store}, 10) for name in "bcd"]
    gate.open.set()

    for future in (first, *big):
        future.result(30)

    assert [len(stored.rows) for stored in store.batches] == [1, MAX_ROWS, MAX_ROWS // 2]


def test_tenants_and_destinations_are_never_mixed(committer):
    gate = Gate()
    store, other = Store(hook=gate), Store()
    futures = [committer.submit(batch("a"), {"store": store}, 10)]
    assert gate.entered.wait(30)
    futures.append(committer.submit(batch("b", tenant="one"), {"store": store}, 10))
    futures.append(committer.submit(batch("c", tenant="two"), {"store": store}, 10))
    futures.append(committer.submit(batch("d", tenant="two"), {"other": other}, 10))
    gate.open.set()

    for future in futures:
        future.result(30)

    assert (names(store), names(other)) == ([["a"], ["b"], ["c"]], [["d"]])


@pytest.mark.parametrize("raised", [PermanentError("no"), ValueError("dana.fields@example.com")])
def test_a_bad_batch_does_not_take_its_neighbours(committer, raised, caplog):
    gate = Gate()

    def hook(stored):
        gate(stored)
        if any(row.span.name == "bad" for row in stored.rows):
            raise raised

    store = Store(hook=hook)
    first = committer.submit(batch("a"), {"store": store}, 10)
    assert gate.entered.wait(30)
    futures = {name: committer.submit(batch(name), {"store": store}, 10) for name in ("b", "bad", "c")}
    gate.open.set()

    for future in (first, futures["b"], futures["c"]):
        future.result(30)
    with pytest.raises(PermanentError if isinstance(raised, PermanentError) else RetryableError):
        futures["bad"].result(30)
    assert names(store) == [["a"], ["b"], ["c"]]
    assert "dana" not in caplog.text
    assert not any(record.exc_info for record in caplog.records)


def test_a_store_that_is_down_is_asked_once_and_every_client_told(committer):
    gate, asked = Gate(), []

    def hook(stored):
        gate(stored)
        asked.append(len(stored.rows))
        if len(asked) > 1:
            raise RetryableError("down", 3.0)

    store = Store(hook=hook)
    first = committer.submit(batch("a"), {"store": store}, 10)
    assert gate.entered.wait(30)
    others = [committer.submit(batch(name), {"store": store}, 10) for name in "bc"]
    gate.open.set()

    first.result(30)
    for future in others:
        with pytest.raises(RetryableError, match="down") as refused:
            future.result(30)
        assert refused.value.retry_after_s == 3.0
    assert asked == [1, 2]


def test_an_outage_is_logged_when_it_begins_and_when_it_ends(committer, caplog):
    down = [True]

    def hook(_):
        if down[0]:
            raise RetryableError("the disk is full")

    store = Store(hook=hook)
    with caplog.at_level("INFO", logger="runreel"):
        for _ in range(3):
            with pytest.raises(RetryableError):
                committer.submit(batch("a"), {"store": store}, 10).result(30)
        down[0] = False
        for _ in range(2):
            committer.submit(batch("a"), {"store": store}, 10).result(30)

    assert [record.getMessage() for record in caplog.records] == [
        "a store did not take a batch",
        "a store takes batches again",
    ]
    assert "the disk is full" in caplog.records[0].error


def test_exporters_are_called_in_order_and_the_rest_left_out_after_a_failure(committer):
    order = []
    blobs = Store(hook=lambda _: order.append("blobs"))
    down = Store(hook=lambda _: (order.append("down"), (_ for _ in ()).throw(RetryableError("down"))))
    rows = Store(hook=lambda _: order.append("rows"))

    with pytest.raises(RetryableError):
        committer.submit(batch("a"), {"blobs": blobs, "down": down, "rows": rows}, 10).result(30)

    assert order == ["blobs", "down"]


def test_the_writer_outlives_what_nobody_expected(committer, monkeypatch):
    def out_of_memory(_):
        raise MemoryError

    store = Store()
    with monkeypatch.context() as patched:
        patched.setattr("runreel.collector.commit.merge", out_of_memory)
        with pytest.raises(RetryableError, match="unexpectedly"):
            committer.submit(batch("a"), {"store": store}, 10).result(30)
    committer.submit(batch("b"), {"store": store}, 10).result(30)

    assert names(store) == [["b"]]


def test_a_cancelled_batch_does_not_end_the_writer(committer):
    gate = Gate()
    store = Store(hook=gate)
    first = committer.submit(batch("a"), {"store": store}, 10)
    assert gate.entered.wait(30)
    cancelled = committer.submit(batch("b"), {"store": store}, 10)
    assert cancelled.cancel()
    last = committer.submit(batch("c"), {"store": store}, 10)
    gate.open.set()

    first.result(30)
    last.result(30)
    assert names(store) == [["a"], ["c"]]


def test_stop_writes_what_waits_and_refuses_what_comes_after():
    gate = Gate()
    store = Store(hook=gate)
    Committer(Telemetry()).stop()  # safe without start
    committer = Committer(Telemetry())
    committer.start()
    futures = [committer.submit(batch("a"), {"store": store}, 10)]
    assert gate.entered.wait(30)
    futures.append(committer.submit(batch("b"), {"store": store}, 10))
    gate.open.set()
    committer.stop()
    committer.stop()

    assert [future.result(0) for future in futures] == [(), ()]
    with pytest.raises(RetryableError, match="stopping"):
        committer.submit(batch("c"), {"store": store}, 10).result(0)


def test_merging_one_batch_is_that_batch():
    one = batch("a", part="ab" * 32)

    assert merge([one]) is one
