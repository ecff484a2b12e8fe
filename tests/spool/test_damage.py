"""Disks that are full or lie, and records that are damaged: only what is damaged is lost, and all of it is said."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector_kit import Store
from runreel.errors import RetryableError
from runreel.spool import Spool, drain, segments
from spool_kit import again, all_of, batch, name_of, names


def test_a_full_disk_refuses_the_batch_and_leaves_no_half_record(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.append(batch("a")).result(30)
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 20_000:
            return real(descriptor, data[:7_000])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(RetryableError, match="No space left on device: send again"):
            spool.append(batch("b", size=24_000)).result(30)
    spool.append(batch("c")).result(30)

    opened = again(spool)
    assert names(opened) == ["a", "c"]
    assert list((opened.folder / "damaged").iterdir()) == []
    opened.close()


def test_a_disk_that_does_not_flush_refuses_the_batch(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", broken)
        with pytest.raises(RetryableError, match="Input/output error"):
            spool.append(batch("a")).result(30)

    spool.append(batch("b")).result(30)
    assert names(spool) == ["b"]


def test_a_file_where_half_a_record_could_not_be_taken_back_is_left_behind(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.append(batch("a")).result(30)
    real = os.write

    def torn(descriptor: int, data: bytes) -> int:
        real(descriptor, data[:50])
        raise OSError(errno.EIO, "Input/output error")

    def stuck(_: int, __: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", torn)
        patched.setattr(os, "ftruncate", stuck)
        with pytest.raises(RetryableError):
            spool.append(batch("b")).result(30)
    spool.append(batch("c")).result(30)

    opened = again(spool)
    assert names(opened) == ["a", "c"]
    assert len(list((opened.folder / "damaged").iterdir())) == 1
    opened.close()


def test_a_torn_record_at_the_end_is_set_aside_and_the_rest_goes_on(spool: Spool) -> None:
    for name in "ab":
        spool.append(batch(name)).result(30)
    spool.close()
    (file,) = spool.folder.glob("*.spool")
    os.truncate(file, file.stat().st_size - 5)

    opened = again(spool)

    assert names(opened) == ["a"]
    assert opened.ledger.document()[""] == {
        "damaged_records": 1,
        "damaged_bytes": file.stat().st_size - all_end(opened),
    }
    opened.append(batch("c")).result(30)
    opened = again(opened)
    assert names(opened) == ["a", "c"]
    assert opened.ledger.document()[""]["damaged_records"] == 1  # counted once, however often it is seen
    opened.close()


def all_end(spool: Spool) -> int:
    (entry,) = all_of(spool)
    return entry.offset + entry.size


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(1, 255))
def test_whatever_byte_is_damaged_only_its_record_is_lost(
    tmp_path_factory: pytest.TempPathFactory, place: float, byte: int
) -> None:
    spool = Spool(tmp_path_factory.mktemp("spool"))
    spool.open()
    for name in "abcde":
        spool.append(batch(name)).result(30)
    ends = [entry.offset + entry.size for entry in all_of(spool)]
    spool.close()
    (file,) = spool.folder.glob("*.spool")
    data = bytearray(file.read_bytes())
    at = int(place * len(data))
    data[at] ^= byte
    file.write_bytes(data)
    hit = next(number for number, end in enumerate(ends) if at < end)

    opened = again(spool)

    assert names(opened) == [name for number, name in enumerate("abcde") if number != hit]
    assert opened.ledger.document()[""]["damaged_records"] == 1
    (kept,) = (opened.folder / "damaged").iterdir()
    assert kept.stat().st_size == ends[hit] - (ends[hit - 1] if hit else 0)
    opened.close()


def test_a_damaged_cursor_means_to_store_again_and_loses_nothing(
    spool: Spool, caplog: pytest.LogCaptureFixture
) -> None:
    for name in "ab":
        spool.append(batch(name)).result(30)
    spool.finish(all_of(spool)[:1])
    spool.close()
    for text in ("{", '{"format": 1}', '{"format": 9}', "[]"):
        (spool.folder / "cursor.json").write_text(text)
        opened = again(spool)
        assert names(opened) == ["a", "b"], text
        opened.close()

    assert "the spool's cursor is damaged" in caplog.text


def test_a_cursor_that_cannot_be_written_is_said_once_and_work_goes_on(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in "abc":
        spool.append(batch(name)).result(30)
    with monkeypatch.context() as patched:
        patched.setattr("runreel.spool.ledger.json.dump", full)
        spool.finish(all_of(spool)[:1])
        spool.finish(all_of(spool)[:1])
    assert caplog.text.count("cursor cannot be written") == 1

    spool.finish(all_of(spool)[:1])

    opened = again(spool)
    assert opened.waiting() == (0, 0)
    assert opened.ledger.document()["default"]["stored_spans"] == 3
    opened.close()


def test_a_record_damaged_while_it_waits_is_refused_and_nothing_else(tmp_path: Path) -> None:
    spool = Spool(tmp_path, memory_bytes=0)
    spool.open()
    for name in "abc":
        spool.append(batch(name)).result(30)
    entry = all_of(spool)[1]
    file = segments.file_of(tmp_path, entry.segment)
    data = bytearray(file.read_bytes())
    data[entry.offset + entry.size - 3] ^= 1
    file.write_bytes(data)
    store = Store()
    said: list[str] = []

    assert drain(spool, [store], said.append) == 2

    assert [name_of(stored) for stored in store.batches] == ["a", "c"]
    assert said == ["a batch of the spool was set aside: a record of the spool cannot be read (ValueError)"]
    assert spool.ledger.document()["default"] == {
        "acknowledged_logs": 0,
        "acknowledged_spans": 3,
        "quarantined_spans": 1,
        "spooled_logs": 0,
        "spooled_spans": 0,
        "stored_logs": 0,
        "stored_spans": 2,
    }
    spool.close()


def test_a_refused_batch_that_cannot_be_set_aside_is_not_taken_out(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.append(batch("a")).result(30)
    entries = all_of(spool)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            spool.finish(entries, entries)
    # What could not be flushed must not be taken for kept.
    assert names(spool) == ["a"]
    spool.finish(entries, entries)
    assert spool.ledger.document()["default"]["quarantined_spans"] == 1
