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


# Named, since two of the formats note when something was packed.
PACKED = {
    "block": block(INSIDE),
    "second block": block(b"first") + block(INSIDE),
    "block without compression": block(INSIDE, 0x02),
    "zstd between other bytes": b"around " + zstd(INSIDE) + b" around",
    "zip": zipped(INSIDE),
    "gzip": gzip.compress(INSIDE),
    "zstd in zip": zipped(zstd(INSIDE)),
    "zip in zstd in a block": block(b"x" + zstd(zipped(INSIDE))),
}
DAMAGED = {
    "block cut": block(INSIDE)[:-3],
    "block of nonsense": block(INSIDE)[:30] + b"\xff" * 40,
    "zstd cut": zstd(INSIDE)[:9],
    "no zstd": b"\x28\xb5\x2f\xfd no frame",
    "zip cut": zipped(INSIDE)[:40],
    "no zip": b"PK\x03\x04",
    "gzip of nonsense": gzip.compress(INSIDE)[:12] + b"zzzz",
    "no gzip": b"\x1f\x8b\x08",
    "nothing": b"",
}


@pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)
def test_what_is_packed_is_opened_at_any_depth(packed: bytes) -> None:
    assert can_open_blocks()
    assert any(INSIDE in opened for opened in frames(packed))


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_damaged_frames_are_left_out_without_a_complaint(damaged: bytes) -> None:
    assert all(INSIDE not in opened for opened in frames(damaged))


def test_frames_in_frames_end_somewhere() -> None:
    data = INSIDE
    for _ in range(30):
        data = zstd(data)

    assert len(list(frames(data))) <= 30
