"""Segment files of the spool: records one after the other, each with its length and a checksum over all of it.

A record is `magic, CRC-32 of what follows, length of the body, length of the tally` and then the tally (JSON) and the
batch. Reading goes on behind a damaged record: the next one is found by its magic and checksum.
"""

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from runreel.spool.ledger import Tally

MAGIC = b"RRsp"
_HEAD = struct.Struct(">4sI")
_SIZES = struct.Struct(">QI")
HEAD_BYTES = _HEAD.size + _SIZES.size
_SUFFIX = ".spool"


@dataclass(frozen=True, slots=True)
class Found:
    """A whole record: where it begins, how long it is, and what it brings. Without a tally: damaged bytes."""

    offset: int
    size: int
    tally: Tally | None = None


def frame(tally: Tally, record: bytes) -> bytes:
    """Return a batch's record as it stands in a segment."""
    told = json.dumps(asdict(tally)).encode()
    sizes = _SIZES.pack(len(told) + len(record), len(told))
    checksum = zlib.crc32(record, zlib.crc32(told, zlib.crc32(sizes)))
    return b"".join([_HEAD.pack(MAGIC, checksum), sizes, told, record])


def file_of(folder: Path, number: int) -> Path:
    """Return the path of a segment."""
    return folder / f"{number:012d}{_SUFFIX}"


def numbers(folder: Path) -> list[int]:
    """Return the numbers of the segments that are there, in order."""
    names = [file.name.removesuffix(_SUFFIX) for file in folder.glob(f"*{_SUFFIX}")]
    return sorted(int(name) for name in names if name.isdecimal())


def body(file: Path, found_offset: int, size: int) -> bytes:
    """Read a record's batch again. Raises OSError, ValueError where it is damaged by now."""
    with file.open("rb") as opened:
        opened.seek(found_offset)
        data = opened.read(size)
    record = _whole(data, 0)
    if record is None or record.size != size:
        raise ValueError("the record is damaged")
    _, told = _SIZES.unpack_from(data, _HEAD.size)
    return data[HEAD_BYTES + told :]


def scan(file: Path, start: int) -> Iterator[Found]:
    """Yield the records of a segment from an offset on, and the damaged stretches between them. Raises OSError."""
    # A segment is some tens of megabytes: it is read whole.
    data = file.read_bytes()
    at = min(start, len(data))
    while at < len(data):
        found = _whole(data, at)
        if found is None:
            behind = _next(data, at + 1)
            yield Found(at, behind - at)
            at = behind
            continue
        yield found
        at += found.size


def _next(data: bytes, start: int) -> int:
    """Return where the next whole record begins, the end where there is none."""
    at = data.find(MAGIC, start)
    while at >= 0:
        if _whole(data, at) is not None:
            return at
        at = data.find(MAGIC, at + 1)
    return len(data)


def _whole(data: bytes, at: int) -> Found | None:
    """Return the record that begins here; None where there is none, or it is damaged or cut off."""
    if len(data) - at < HEAD_BYTES or data[at : at + len(MAGIC)] != MAGIC:
        return None
    (_, checksum), (length, told) = _HEAD.unpack_from(data, at), _SIZES.unpack_from(data, at + _HEAD.size)
    end = at + HEAD_BYTES + length
    if end > len(data) or told > length or zlib.crc32(memoryview(data)[at + _HEAD.size : end]) != checksum:
        return None
    begin = at + HEAD_BYTES
    try:
        tally = Tally(**json.loads(data[begin : begin + told]))
    except (ValueError, TypeError):
        return None
    return Found(at, end - at, tally)
