import gzip
import io
import zipfile

import lz4.block
import pytest
import zstandard

from runreel.govern.frames import can_open_blocks, frames


def block(data: bytes, method: int = 0x82) -> bytes:
    packed = lz4.block.compress(data, store_size=False) if method == 0x82 else data
    head = bytes([method]) + (len(packed) + 9).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return b"c" * 16 + head + packed


def zipped(data: bytes) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("member", data)
    return body.getvalue()


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


INSIDE = b"what is inside " * 20


@pytest.mark.parametrize(
    "packed",
    [
        block(INSIDE),
        block(b"first") + block(INSIDE),
        block(INSIDE, 0x02),
        b"around " + zstd(INSIDE) + b" around",
        zipped(INSIDE),
        gzip.compress(INSIDE),
        zipped(zstd(INSIDE)),
        block(b"x" + zstd(zipped(INSIDE))),
    ],
)
def test_what_is_packed_is_opened_at_any_depth(packed: bytes) -> None:
    assert can_open_blocks()
    assert any(INSIDE in opened for opened in frames(packed))


@pytest.mark.parametrize(
    "damaged",
    [
        block(INSIDE)[:-3],
        block(INSIDE)[:30] + b"\xff" * 40,
        zstd(INSIDE)[:9],
        b"\x28\xb5\x2f\xfd no frame",
        zipped(INSIDE)[:40],
        b"PK\x03\x04",
        gzip.compress(INSIDE)[:12] + b"zzzz",
        b"\x1f\x8b\x08",
        b"",
    ],
)
def test_damaged_frames_are_left_out_without_a_complaint(damaged: bytes) -> None:
    assert all(INSIDE not in opened for opened in frames(damaged))


def test_frames_in_frames_end_somewhere() -> None:
    data = INSIDE
    for _ in range(30):
        data = zstd(data)

    assert len(list(frames(data))) <= 30
