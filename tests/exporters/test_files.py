import errno
import hashlib
import os
import time
from pathlib import Path

import pytest
import zstandard

from runreel.errors import CorruptError, NotFoundError, PermanentError, RetryableError, StoreError
from runreel.exporters.blobs import BlobsExporter, unpack
from runreel.exporters.files import FileBlobs
from runreel.values import SplitBatch
from stored_rows import part

DATA = b"a heavy text " * 10_000
HASH = hashlib.sha256(DATA).hexdigest()


def file_of(root: Path, tenant: str = "default", sha256: str = HASH) -> Path:
    return root / tenant / "sha256" / sha256[:2] / sha256[2:4] / f"{sha256}.zst"


def test_what_is_put_is_got_and_stands_compressed_under_its_hash(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path / "blobs")

    blobs.put("default", HASH, DATA, "text/plain")

    assert blobs.get("default", HASH) == DATA
    stored = file_of(tmp_path / "blobs").read_bytes()
    assert len(stored) < len(DATA) / 10
    assert zstandard.ZstdDecompressor().decompress(stored) == DATA


def test_an_empty_part_is_a_part(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    empty = hashlib.sha256(b"").hexdigest()

    blobs.put("default", empty, b"", "text/plain")

    assert blobs.get("default", empty) == b""


def test_the_same_bytes_twice_are_written_once(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    blobs.put("default", HASH, DATA, "text/plain")
    first = file_of(tmp_path).stat().st_ino

    blobs.put("default", HASH, DATA, "text/plain")

    assert file_of(tmp_path).stat().st_ino == first


def test_no_temporary_file_stays_behind(tmp_path: Path) -> None:
    FileBlobs(tmp_path).put("default", HASH, DATA, "text/plain")

    assert list((tmp_path / ".tmp").iterdir()) == []


def test_a_tenant_does_not_get_anothers_part(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    blobs.put("default", HASH, DATA, "text/plain")

    with pytest.raises(NotFoundError, match=f"no part sha256:{HASH}"):
        blobs.get("other", HASH)


DAMAGES = pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:-10]),
        lambda file: file.write_bytes(b"not a frame at all"),
        lambda file: file.write_bytes(zstandard.ZstdCompressor().compress(b"other bytes")),
        lambda file: file.write_bytes(b"\x28\xb5\x2f\xfd\xe4" + b"\xff" * 12),
    ],
    ids=["empty", "cut", "garbage", "other bytes", "a frame that claims to be huge"],
)


@DAMAGES
def test_damaged_bytes_that_are_put_again_are_whole_again(tmp_path: Path, damage) -> None:
    blobs = FileBlobs(tmp_path)
    blobs.put("default", HASH, DATA, "text/plain")
    damage(file_of(tmp_path))

    blobs.put("default", HASH, DATA, "text/plain")

    assert blobs.get("default", HASH) == DATA
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file_of(tmp_path)]


def test_whole_bytes_that_are_put_again_are_not_written_again(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    blobs.put("default", HASH, DATA, "text/plain")
    before = file_of(tmp_path).stat()

    blobs.put("default", HASH, DATA, "text/plain")

    assert (file_of(tmp_path).stat().st_ino, file_of(tmp_path).stat().st_mtime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
    )


@DAMAGES
def test_damaged_bytes_are_named_and_never_returned(tmp_path: Path, damage) -> None:
    blobs = FileBlobs(tmp_path)
    blobs.put("default", HASH, DATA, "text/plain")
    damage(file_of(tmp_path))

    with pytest.raises(CorruptError) as caught:
        blobs.get("default", HASH)

    assert HASH in str(caught.value)
    assert str(file_of(tmp_path)) in str(caught.value)


@pytest.mark.parametrize("tenant", ["", "..", ".", "a/b", "../other", "a\0b", "x" * 200])
def test_a_tenant_cannot_climb_out_of_the_folder(tmp_path: Path, tenant: str) -> None:
    with pytest.raises(NotFoundError):
        FileBlobs(tmp_path).get(tenant, HASH)


@pytest.mark.parametrize("sha256", ["", "abc", "../" * 30, HASH.upper(), HASH + "0", "g" * 64])
def test_what_is_no_hash_is_not_found(tmp_path: Path, sha256: str) -> None:
    with pytest.raises(NotFoundError, match="no SHA-256"):
        FileBlobs(tmp_path).get("default", sha256)


def test_what_has_no_place_in_the_folder_is_never_taken(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)

    for tenant, sha256 in (("..", HASH), ("default", "abc")):
        with pytest.raises(PermanentError, match="cannot write a part"):
            blobs.put(tenant, sha256, DATA, "text/plain")

    assert list(tmp_path.rglob("*")) == []


def test_a_folder_that_cannot_be_written_is_retryable(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    (tmp_path / "default").write_text("in the way")

    with pytest.raises(RetryableError, match=f"cannot write part sha256:{HASH}"):
        blobs.put("default", HASH, DATA, "text/plain")


def test_a_full_disk_is_retryable_and_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    blobs = FileBlobs(tmp_path)
    blobs.put("default", hashlib.sha256(b"before").hexdigest(), b"before", "text/plain")
    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(RetryableError, match="No space left on device"):
        blobs.put("default", HASH, DATA, "text/plain")

    monkeypatch.undo()
    assert list((tmp_path / ".tmp").iterdir()) == []
    assert not file_of(tmp_path).exists()


def test_a_file_that_cannot_be_read_is_a_store_error(tmp_path: Path) -> None:
    file_of(tmp_path).mkdir(parents=True)

    with pytest.raises(StoreError, match="cannot read part"):
        FileBlobs(tmp_path).get("default", HASH)


def test_a_root_that_is_a_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("")

    with pytest.raises(StoreError, match=r"cannot use the blob folder .*RUNREEL_HOME"):
        FileBlobs(tmp_path / "blobs")


def test_files_of_writers_that_are_gone_are_swept_and_young_ones_stay(tmp_path: Path) -> None:
    (tmp_path / ".tmp").mkdir()
    old, young = tmp_path / ".tmp" / "old", tmp_path / ".tmp" / "young"
    for file in (old, young):
        file.write_bytes(b"half")
    before = time.time() - 7200
    os.utime(old, (before, before))

    FileBlobs(tmp_path).close()

    assert not old.exists()
    assert young.exists()


def test_only_the_owner_may_look_in(tmp_path: Path) -> None:
    FileBlobs(tmp_path / "blobs").put("default", HASH, DATA, "text/plain")

    for path in [tmp_path / "blobs", *(tmp_path / "blobs").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_frame_of_another_size_than_its_row_says_is_damaged() -> None:
    frame = zstandard.ZstdCompressor().compress(b"four")

    assert unpack(frame, 4) == b"four"
    assert unpack(frame, 5) is None


def test_the_exporter_keeps_heavy_parts_only(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    exporter = BlobsExporter(blobs, inline_bytes=1000)
    light, heavy = part(b"x" * 1000), part(b"y" * 1001)

    exporter.start()
    exporter.export(SplitBatch("default", parts=(light, heavy)))
    exporter.shutdown()
    exporter.shutdown()

    assert blobs.get("default", heavy.sha256) == heavy.data
    with pytest.raises(NotFoundError):
        blobs.get("default", light.sha256)
