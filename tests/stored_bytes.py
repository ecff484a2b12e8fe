"""Every byte that a data folder holds: each file raw, and every compressed frame in it opened."""

import io
import os
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import lz4.block
import zstandard

_ZSTD = b"\x28\xb5\x2f\xfd"
# ClickHouse's compressed block: checksum (16 bytes), method, compressed size with these 9 bytes, size, data.
_HEAD = struct.Struct("<BII")
_METHODS = {0x02, 0x82, 0x90}
_MOST = 1 << 28
_MOST_PASSES = 50


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what is in every file below a folder: the name and the bytes, then those of each frame in it.

    A store at work renames and deletes: what was gone before it was read may be elsewhere by then, and all is looked
    through once more.
    """
    for _ in range(_MOST_PASSES):
        gone: list[OSError] = []
        for top, _, names in os.walk(folder, onerror=gone.append):
            for path in (Path(top, name) for name in sorted(names)):
                try:
                    data = path.read_bytes()
                except FileNotFoundError as error:
                    gone.append(error)
                    continue
                name = str(path.relative_to(folder))
                yield name, data
                yield from ((f"{name} (a frame)", opened) for opened in frames(data))
        if not gone:
            return
    raise gone[0]


def frames(data: bytes) -> Iterator[bytes]:
    """Yield the frames in bytes, opened, and those inside them: ClickHouse blocks, zstd frames wherever they start, zip
    members."""
    for opened in [*_blocks(data), *_zstd(data), *_members(data)]:
        yield opened
        yield from frames(opened)


def _blocks(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + 16 + _HEAD.size <= len(data):
        method, packed, size = _HEAD.unpack_from(data, at + 16)
        body = data[at + 16 + _HEAD.size : at + 16 + packed]
        if method not in _METHODS or size > _MOST or len(body) != packed - _HEAD.size:
            return
        if method == 0x82:
            yield lz4.block.decompress(body, uncompressed_size=size)
        elif method == 0x02:
            yield body
        at += 16 + packed  # zstd blocks are found by their frames


def _zstd(data: bytes) -> Iterator[bytes]:
    at = data.find(_ZSTD)
    while at >= 0:
        try:
            reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(io.BytesIO(data[at:]))
            yield reader.read(_MOST)
        except zstandard.ZstdError:
            pass  # four bytes that look like the start of a frame and are none
        at = data.find(_ZSTD, at + 4)


def _members(data: bytes) -> Iterator[bytes]:
    if data[:4] != b"PK\x03\x04":
        return
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            yield archive.read(name)


def found(folder: Path, needles: dict[str, bytes]) -> dict[str, list[str]]:
    """Return, for each needle that is somewhere, the places that hold it."""
    places: dict[str, list[str]] = {}
    for place, data in contents(folder):
        for name, needle in needles.items():
            if needle in data or needle.decode().encode("utf-16-le") in data:
                places.setdefault(name, []).append(place)
    return places
