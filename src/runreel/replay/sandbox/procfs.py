"""What /proc tells about a process: its name, its command line, an address in its memory, its descendants."""

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FAMILIES = {int(family): family.name for family in socket.AddressFamily}
_ADDRESS_BYTES = 128  # no socket address is longer (sockaddr_storage)


class Who(NamedTuple):
    """A process. `pid` is its number here, that of the calling thread where it could not be read any more."""

    pid: int
    command: str
    cmdline: tuple[str, ...]


def who(tid: int) -> Who:
    """Return the process that a thread belongs to; what cannot be read is empty (it ended, or /proc is not there)."""
    pid, command = tid, "?"
    with contextlib.suppress(OSError, ValueError, IndexError):
        status = Path(f"/proc/{tid}/status").read_text(encoding="utf-8", errors="replace")
        pid = int(status.split("\nTgid:", 1)[1].split(None, 1)[0])
    with contextlib.suppress(OSError):
        command = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").rstrip("\n")
    words: list[str] = []
    with contextlib.suppress(OSError):
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        words = [os.fsdecode(word) for word in raw.removesuffix(b"\0").split(b"\0")] if raw else []
    return Who(pid, command, tuple(words))


def family_name(number: int) -> str:
    """Return `AF_INET` and the like; `family 99` where Python has no name for it."""
    return _FAMILIES.get(number, f"family {number}")


def read_memory(tid: int, pointer: int, size: int) -> bytes:
    """Read a process's memory; empty where that cannot be (a policy against debuggers, a wrong pointer)."""
    with contextlib.suppress(OSError, OverflowError):
        memory = os.open(f"/proc/{tid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(memory, size, pointer)
        finally:
            os.close(memory)
    return b""


def write_memory(tid: int, pointer: int, data: bytes) -> bool:
    """Write into a process's memory; False where that cannot be."""
    with contextlib.suppress(OSError, OverflowError):
        memory = os.open(f"/proc/{tid}/mem", os.O_WRONLY | os.O_CLOEXEC)
        try:
            return os.pwrite(memory, data, pointer) == len(data)
        finally:
            os.close(memory)
    return False


def address(tid: int, pointer: int, size: int) -> tuple[str, str]:
    """Read a socket address in a process: its family and `host:port`, `[v6]:port`, a path or `@abstract`.

    Both are empty where it cannot be read.
    """
    return parse_address(read_memory(tid, pointer, min(size & 0xFFFFFFFF, _ADDRESS_BYTES)))


def parse_address(raw: bytes) -> tuple[str, str]:
    """Take a sockaddr apart: as `address`."""
    if len(raw) < 2:
        return "", ""
    family = int.from_bytes(raw[:2], "little")
    name = family_name(family)
    if family == socket.AF_INET and len(raw) >= 8:
        return name, f"{socket.inet_ntop(socket.AF_INET, raw[4:8])}:{struct.unpack('>H', raw[2:4])[0]}"
    if family == socket.AF_INET6 and len(raw) >= 24:
        return name, f"[{socket.inet_ntop(socket.AF_INET6, raw[8:24])}]:{struct.unpack('>H', raw[2:4])[0]}"
    if family == socket.AF_UNIX and len(raw) > 2:
        path = raw[2:]
        abstract = path.startswith(b"\0")
        return name, "@" + os.fsdecode(path[1:]) if abstract else os.fsdecode(path.split(b"\0", 1)[0])
    return name, ""


def descendants(pid: int) -> Iterator[int]:
    """Walk the children of a process and theirs, as far as they have not been orphaned."""
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text(encoding="ascii").split():
                yield int(child)
                yield from descendants(int(child))
