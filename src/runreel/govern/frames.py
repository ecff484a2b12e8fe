"""Opens what stored bytes are wrapped in: ClickHouse's blocks, zstd frames wherever they start, members of archives."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from types import ModuleType

import zstandard

_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b\x08"
# ClickHouse's compressed block: checksum (16 bytes), method, compressed size with these 9 bytes, size, data.
_HEAD = struct.Struct("<BII")
_LZ4, _NONE, _ZSTD_METHOD = 0x82, 0x02, 0x90
_MOST = 1 << 28
_DEEPEST = 6


def frames(data: bytes) -> Iterator[bytes]:
    """Yield what is in bytes, opened, and what is in that, each content once. Damaged frames are left out: their bytes
    were seen raw."""
    yield from _opened(data, 0, set())


def _opened(data: bytes, depth: int, seen: set[bytes]) -> Iterator[bytes]:
    if depth >= _DEEPEST:
        return
    for opened in (*_blocks(data), *_zstd(data), *_members(data), *_gzip(data)):
        digest = blake2b(opened, digest_size=16).digest()
        if digest not in seen:
            seen.add(digest)
            yield opened
            yield from _opened(opened, depth + 1, seen)


def can_open_blocks() -> bool:
    """Tell whether ClickHouse's usual compression can be opened here."""
    return _lz4() is not None


@lru_cache(maxsize=1)
def _lz4() -> ModuleType | None:
    try:
        import lz4.block  # type: ignore[import-untyped]
    except ImportError:
        return None
    return lz4.block  # type: ignore[no-any-return]


def _blocks(data: bytes) -> Iterator[bytes]:
    lz4, at = _lz4(), 0
    while at + 16 + _HEAD.size <= len(data):
        method, packed, size = _HEAD.unpack_from(data, at + 16)
        body = data[at + 16 + _HEAD.size : at + 16 + packed]
        if method not in (_LZ4, _NONE, _ZSTD_METHOD) or size > _MOST or len(body) != packed - _HEAD.size:
            return
        if method == _LZ4 and lz4 is not None:
            try:
                yield lz4.decompress(body, uncompressed_size=size)
            except (lz4.LZ4BlockError, ValueError, MemoryError):
                return  # bytes that only look like a block
        elif method == _NONE:
            yield body
        at += 16 + packed  # zstd blocks are found by their frames


def _zstd(data: bytes) -> Iterator[bytes]:
    at = data.find(_ZSTD)
    while at >= 0:
        try:
            reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(io.BytesIO(data[at:]))
            yield reader.read(_MOST)
        except (zstandard.ZstdError, MemoryError):
            pass  # four bytes that look like the start of a frame and are none
        at = data.find(_ZSTD, at + 4)


def _members(data: bytes) -> Iterator[bytes]:
    if data[:4] != b"PK\x03\x04":
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield name.encode() + b"\n" + archive.read(name)
    except (zipfile.BadZipFile, RuntimeError, OSError, NotImplementedError):
        return  # damaged, or encrypted by somebody


def _gzip(data: bytes) -> Iterator[bytes]:
    if data[:3] != _GZIP:
        return
    try:
        yield zlib.decompressobj(31).decompress(data, _MOST)
    except zlib.error:
        return
