import threading
from pathlib import Path

import pytest

from collector_kit import Store
from runreel.errors import PermanentError, RetryableError, StoreError
from runreel.spool import Entry, Spool, drain, segments
from runreel.values import Rejection, SplitBatch
from spool_kit import again, all_of, batch, name_of, names, nobody


def test_what_is_appended_is_taken_in_order_and_whole(spool: Spool) -> None:
    sent = [batch(name, size=500) for name in "abc"]
    for one in sent:
        spool.append(one).result(30)

    assert [spool.load(entry) for entry in all_of(spool)] == sent


def test_what_is_not_finished_is_there_again_after_a_crash(spool: Spool) -> None:
    for name in "abc":
        spool.append(batch(name)).result(30)
    spool.finish(all_of(spool)[:1])

    opened = again(spool)

    assert names(opened) == ["b", "c"]
    opened.close()


def test_a_finished_spool_is_empty_the_next_time_and_counts_on(spool: Spool) -> None:
    spool.append(batch("a", rows=3)).result(30)
    spool.finish(all_of(spool))

    opened = again(spool)
    opened.append(batch("b", rows=2)).result(30)
    opened.finish(all_of(opened))
    opened = again(opened)

    assert opened.waiting() == (0, 0)
    assert opened.ledger.document()["default"]["stored_spans"] == 5
    opened.close()


def test_a_batch_is_in_the_file_when_its_append_is_done(spool: Spool) -> None:
    spool.append(batch("unmistakable")).result(30)

    found = b"".join(file.read_bytes() for file in spool.folder.glob("*.spool"))
    assert b"unmistakable" in found


def test_nobody_else_may_read_the_spool(spool: Spool) -> None:
    spool.append(batch("a")).result(30)
    spool.finish(all_of(spool), all_of(spool))

    for path in (spool.folder, *spool.folder.rglob("*.spool"), *spool.folder.rglob("*.bin")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_large_batches_that_wait_are_read_from_the_disk_again(tmp_path: Path) -> None:
    spool = Spool(tmp_path, memory_bytes=10_000)
    spool.open()
    sent = [batch(name, size=6_000) for name in "abcd"]
    for one in sent:
        spool.append(one).result(30)

    entries = all_of(spool)

    assert [entry.batch is None for entry in entries] == [False, True, True, True]
    assert [spool.load(entry) for entry in entries] == sent
    spool.close()


def test_segments_that_are_done_are_removed(tmp_path: Path) -> None:
    spool = Spool(tmp_path, segment_bytes=10_000)
    spool.open()
    for name in "abcdef":
        spool.append(batch(name, size=8_000)).result(30)
    assert len(segments.numbers(tmp_path)) == 3

    spool.finish(all_of(spool)[:4])

    assert len(segments.numbers(tmp_path)) == 1
    opened = again(spool)
    assert names(opened) == ["e", "f"]
    opened.close()


def test_a_full_spool_takes_nothing_until_there_is_room(tmp_path: Path) -> None:
    spool = Spool(tmp_path, limit_bytes=20_000)
    spool.open()
    spool.append(batch("a", size=15_000)).result(30)

    with pytest.raises(RetryableError, match=r"the spool is full \(20000 bytes wait\): send again"):
        spool.append(batch("b", size=15_000)).result(30)
    spool.finish(all_of(spool))
    spool.append(batch("c", size=15_000)).result(30)

    assert names(spool) == ["c"]
    spool.close()


def test_a_batch_larger_than_the_limit_goes_through_when_nothing_waits(tmp_path: Path) -> None:
    spool = Spool(tmp_path, limit_bytes=1_000)
    spool.open()

    spool.append(batch("a", size=15_000)).result(30)

    assert names(spool) == ["a"]
    spool.close()


def test_after_the_end_appends_are_refused(spool: Spool) -> None:
    spool.close()

    with pytest.raises(RetryableError, match="stopping"):
        spool.append(batch("a")).result(30)


def test_appends_from_many_threads_are_all_there(spool: Spool) -> None:
    def send(start: int) -> None:
        for number in range(start, start + 25):
            spool.append(batch(str(number))).result(30)

    threads = [threading.Thread(target=send, args=(25 * number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    opened = again(spool)
    assert sorted(names(opened), key=int) == [str(number) for number in range(200)]
    opened.close()


def test_what_no_store_takes_is_kept_aside(spool: Spool) -> None:
    def refuse(stored: SplitBatch) -> None:
        if name_of(stored) == "bad":
            raise PermanentError("a value that fits no column")

    store = Store(hook=refuse)
    for name in ("good", "bad", "fine"):
        spool.append(batch(name)).result(30)

    drain(spool, [store], nobody)

    (kept,) = (spool.folder / "refused").iterdir()
    assert b'"bad"' in kept.read_bytes()
    assert [name_of(stored) for stored in store.batches] == ["good", "fine"]


def test_draining_stops_where_a_store_is_away_and_keeps_the_rest(spool: Spool) -> None:
    away = [True]

    def hook(stored: SplitBatch) -> None:
        if name_of(stored) == "b" and away[0]:
            raise RetryableError("away")

    store = Store(hook=hook)
    for name in "abc":
        spool.append(batch(name)).result(30)
    with pytest.raises(RetryableError):
        drain(spool, [store], nobody)
    away[0] = False

    drain(spool, [store], nobody)

    assert [name_of(stored) for stored in store.batches] == ["a", "b", "c"]


def test_the_ledger_counts_by_tenant_what_became_of_everything(spool: Spool) -> None:
    spool.append(batch("a", rows=2, tenant="one")).result(30)
    spool.append(batch("b", rows=3, tenant="two")).result(30)
    rejected = SplitBatch("two", rejected=(Rejection("span", "invalid_id"), Rejection("span", "invalid_id")))
    spool.append(rejected).result(30)
    spool.finish(all_of(spool)[:1])

    found = again(spool)

    counts = found.ledger.document()
    assert (counts["one"]["stored_spans"], counts["one"]["spooled_spans"]) == (2, 0)
    assert (counts["two"].get("stored_spans", 0), counts["two"]["spooled_spans"]) == (0, 3)
    found.finish(all_of(found))
    assert found.ledger.document()["two"]["rejected:span:invalid_id"] == 2
    assert found.ledger.document()["two"]["acknowledged_spans"] == 3
    found.close()


def test_who_settles_waits_for_what_is_acknowledged_and_no_longer(spool: Spool) -> None:
    assert spool.settle(0)
    spool.append(batch("a")).result(30)
    assert not spool.settle(0.01)

    taken: list[Entry] = []

    def consume() -> None:
        taken.extend(spool.take(most_rows=100, most_bytes=10**9, linger_s=60))  # would linger, but somebody waits
        spool.finish(taken)

    consumer = threading.Thread(target=consume)
    consumer.start()

    assert spool.settle(30)
    consumer.join(30)
    assert len(taken) == 1


def test_whoever_takes_is_let_go_at_the_end(spool: Spool) -> None:
    got: list[list[Entry]] = []
    consumer = threading.Thread(target=lambda: got.append(spool.take(most_rows=1, most_bytes=1)))
    consumer.start()

    spool.let_go()

    consumer.join(30)
    assert got == [[]]


def test_a_take_is_no_more_than_its_limits_and_one_batch(spool: Spool) -> None:
    for name in "abcd":
        spool.append(batch(name, rows=10)).result(30)

    assert len(spool.take(most_rows=1, most_bytes=10**9)) == 1
    assert len(spool.take(most_rows=25, most_bytes=10**9)) == 3
    assert len(spool.take(most_rows=1000, most_bytes=1)) == 1


@pytest.mark.parametrize("what", ["a file", "read only"])
def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path, what: str) -> None:
    place = tmp_path / "spool"
    if what == "a file":
        place.write_text("")
    else:
        place = Path("/proc/spool")

    with pytest.raises(StoreError, match=f"cannot use the spool {place}"):
        Spool(place).open()
