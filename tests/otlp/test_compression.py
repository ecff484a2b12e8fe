"""gzip bodies, honest and hostile."""

import gzip
import tracemalloc

import pytest

from runreel import otlp
from runreel.errors import DecodeError

TEXT = b"some text, " * 1000


def test_gzip_data_is_decompressed() -> None:
    assert otlp.gunzip(gzip.compress(TEXT, mtime=0), 1 << 20) == TEXT
    assert otlp.gunzip(gzip.compress(b"", mtime=0), 1 << 20) == b""


def test_members_follow_each_other_and_zeros_may_pad() -> None:
    assert otlp.gunzip(gzip.compress(TEXT, mtime=0) + gzip.compress(b"more") + bytes(7), 1 << 20) == TEXT + b"more"


def test_the_limit_is_on_what_comes_out() -> None:
    data = gzip.compress(TEXT, mtime=0)

    assert otlp.gunzip(data, len(TEXT)) == TEXT
    with pytest.raises(DecodeError) as caught:
        otlp.gunzip(data, len(TEXT) - 1)
    assert caught.value.code == "too_large"


def test_the_limit_counts_all_members() -> None:
    with pytest.raises(DecodeError, match="more than 20 bytes"):
        otlp.gunzip(gzip.compress(b"x" * 15, mtime=0) * 2, 20)


def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(200_000_000), 9, mtime=0)
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError) as caught:
            otlp.gunzip(bomb, 4_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert caught.value.code == "too_large"
    assert peak < 20_000_000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain text",
        gzip.compress(TEXT, mtime=0)[:-9],
        gzip.compress(TEXT, mtime=0)[:12],
        gzip.compress(TEXT, mtime=0) + b"tail",
        b"\x1f\x8b",
    ],
)
def test_what_is_no_whole_gzip_stream_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        otlp.gunzip(data, 1 << 20)

    assert caught.value.code == "malformed"


def test_a_damaged_stream_is_refused() -> None:
    data = bytearray(gzip.compress(TEXT, mtime=0))
    data[-6] ^= 0xFF  # the checksum

    with pytest.raises(DecodeError, match="not gzip data"):
        otlp.gunzip(bytes(data), 1 << 20)
