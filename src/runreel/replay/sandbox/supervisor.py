"""The thread in the parent that answers each denied call of a sandbox, and notes who tried and where to.

The kernel asks (seccomp user notification) while the caller waits. Nothing is ever let through: a `socket` call for an
internet or Unix socket is given a *stand-in*, one end of a dead Unix stream pair, which is no more than the filter lets
the agent make itself. With it the caller comes as far as `connect`, whose address is read from its memory for the
report; that read can be raced by a hostile caller, which changes the report and never the answer, EACCES. Options of
network protocols, which a Unix socket has none of, are remembered, so that nobody gives up before the connect (gRPC
sets TCP_NODELAY and asks whether it is set).
"""

import contextlib
import errno
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from runreel.replay.sandbox import procfs
from runreel.replay.sandbox.findings import Attempt

_RECEIVE, _SEND, _ID_VALID, _ADD_FD = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_ADDED = struct.Struct("=QIIII")
_ADD_AND_ANSWER = 2
_KINDS = {1: "SOCK_STREAM", 2: "SOCK_DGRAM", 3: "SOCK_RAW", 4: "SOCK_RDM", 5: "SOCK_SEQPACKET", 10: "SOCK_PACKET"}
_STAND_IN_FAMILIES = frozenset({"AF_INET", "AF_INET6", "AF_UNIX"})
_STAND_IN_KINDS = frozenset({"SOCK_STREAM", "SOCK_DGRAM"})
_TYPE_MASK, _NONBLOCK, _CLOEXEC = 0xF, 0o4000, 0o2000000
_ADDRESS_AT = {"connect": (1, 2), "bind": (1, 2), "sendto": (4, 5)}
_OPTIONS = frozenset({"setsockopt", "getsockopt"})
_OPTION_BYTES = 64
_MOST_DIFFERENT = 10_000
"""Attempts that differ are kept up to here; then those of one process and call count as one, without their target."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question of the kernel: a call, its arguments, and the thread that waits for the answer."""

    id: int
    tid: int
    syscall: str
    arguments: tuple[int, ...]


@dataclass(slots=True)
class _Seen:
    tid: int
    at: int
    ns: int
    count: int = 0


class Supervisor:
    """Owns the listener of one sandbox and the thread that serves it; made by launch.py.

    The thread ends when the last process inside has ended, or at `close()`; from then on the kernel refuses each call
    of what may still run there (ENOSYS).
    """

    def __init__(self, listener: int, numbers: Mapping[str, int]) -> None:
        self._listener = listener
        self._names = {number: name for name, number in numbers.items()}
        self._lock = threading.Lock()
        self._seen: dict[Attempt, _Seen] = {}
        # Only the thread touches these three: stand-ins by process and descriptor, their options, and whether the
        # kernel can give any.
        self._given: dict[tuple[int, int], Attempt] = {}
        self._options: dict[tuple[int, ...], bytes] = {}
        self._able = True
        self.progress: Callable[[], int] = lambda: 0
        """Says how far the program's owner has come; noted with each attempt at first sight."""
        self._stop = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._thread = threading.Thread(target=self._serve, name="runreel-sandbox", daemon=True)
        self._thread.start()

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """What was stopped so far, in the order of first sight."""
        with self._lock:
            seen = [(key, one) for key, one in self._seen.items() if one.count]
        return tuple(replace(key, tid=one.tid, count=one.count, at=one.at, seen_ns=one.ns) for key, one in seen)

    def close(self) -> None:
        """Stop answering. Safe to call twice."""
        if self._stop >= 0:
            os.eventfd_write(self._stop, 1)
            self._thread.join()
            os.close(self._stop)
            self._stop = -1

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(self._stop, select.POLLIN)
        try:
            while True:
                ready = dict(poll.poll())
                state = ready.get(self._listener, 0)
                if self._stop in ready or state & (select.POLLHUP | select.POLLERR | select.POLLNVAL):
                    return
                if state & select.POLLIN:
                    self._serve_one()
        finally:
            os.close(self._listener)

    def _serve_one(self) -> None:
        asked = self._receive()
        if asked is None:
            return
        if asked.syscall in _OPTIONS:
            self._reply(asked, self._option(asked))
            return
        attempt = self._describe(asked)
        # The caller waits while we read, but may have been killed, and its number given to another process.
        if not self._alive(asked):
            return
        if attempt.stood_in and self._stand_in(asked, attempt):
            return
        # Noted before the caller goes on: who waits for a process then has everything that it tried.
        self._note(replace(attempt, stood_in=False))
        self._reply(asked, errno.EACCES)

    def _reply(self, asked: _Asked, error: int) -> None:
        self._ioctl(_SEND, bytearray(_ANSWER.pack(asked.id, 0, -error, 0)))

    def _receive(self) -> _Asked | None:
        buffer = bytearray(_NOTIFICATION.size)
        if self._ioctl(_RECEIVE, buffer) is None:
            return None
        number, tid, _, call, _, _, *arguments = _NOTIFICATION.unpack(buffer)
        return _Asked(number, tid, self._names.get(call, f"call {call}"), tuple(arguments))

    def _ioctl(self, request: int, buffer: bytearray) -> int | None:
        """Return the call's result; None where the caller ended or was interrupted meanwhile, or the kernel is old."""
        import fcntl  # not on every system that imports this package

        try:
            return int(fcntl.ioctl(self._listener, request, buffer))
        except OSError:
            return None

    def _alive(self, asked: _Asked) -> bool:
        return self._ioctl(_ID_VALID, bytearray(asked.id.to_bytes(8, "little"))) is not None

    def _describe(self, asked: _Asked) -> Attempt:
        who = procfs.who(asked.tid)
        attempt = Attempt(who.pid, asked.tid, who.command, who.cmdline, asked.syscall)
        first = asked.arguments[0] & 0xFFFFFFFF
        if asked.syscall in _ADDRESS_AT:
            given = self._given_to(who.pid, first)
            pointer, size = (asked.arguments[place] for place in _ADDRESS_AT[asked.syscall])
            family, target = procfs.address(asked.tid, pointer, size)
            kind = given.kind if given else ""
            return replace(attempt, family=family or (given.family if given else ""), kind=kind, target=target)
        family = procfs.family_name(first)
        kind = _KINDS.get(asked.arguments[1] & _TYPE_MASK, "")
        fitting = family in _STAND_IN_FAMILIES and kind in _STAND_IN_KINDS
        return replace(attempt, family=family, kind=kind, stood_in=self._able and fitting and asked.syscall == "socket")

    def _given_to(self, pid: int, descriptor: int) -> Attempt | None:
        """Find the stand-in behind a descriptor. Its `socket` call was the first half of this attempt: the first use
        takes it out of the list."""
        given = self._given.get((pid, descriptor))
        if given is not None and given.stood_in:
            self._note(given, -1)
            given = self._given[pid, descriptor] = replace(given, stood_in=False)
        return given

    def _stand_in(self, asked: _Asked, attempt: Attempt) -> bool:
        """Answer a `socket` call with a dead stream socket. False where the kernel cannot (before 5.14)."""
        ours, peer = socket.socketpair()
        peer.close()
        self._note(attempt)
        with contextlib.closing(ours):
            ours.setblocking(not asked.arguments[1] & _NONBLOCK)
            flags = asked.arguments[1] & _CLOEXEC
            given = self._ioctl(_ADD_FD, bytearray(_ADDED.pack(asked.id, _ADD_AND_ANSWER, ours.fileno(), 0, flags)))
        if given is not None:
            self._given[attempt.pid, given] = attempt
            self._options = {key: value for key, value in self._options.items() if key[:2] != (attempt.pid, given)}
        elif self._alive(asked):
            self._note(attempt, -1)
            self._able = False
            return False
        return True

    def _option(self, asked: _Asked) -> int:
        """Set or get an option of a network protocol; returns the errno to answer with."""
        descriptor, level, option, pointer, size = asked.arguments[:5]
        key = (procfs.who(asked.tid).pid, descriptor, level, option)
        if asked.syscall == "setsockopt":
            if len(self._options) >= _MOST_DIFFERENT:
                self._options.clear()
            self._options[key] = procfs.read_memory(asked.tid, pointer, min(size & 0xFFFFFFFF, _OPTION_BYTES))
            return 0
        room = int.from_bytes(procfs.read_memory(asked.tid, size, 4), "little")
        value = self._options.get(key, bytes(4))[:room]
        written = procfs.write_memory(asked.tid, pointer, value)
        return 0 if written and procfs.write_memory(asked.tid, size, len(value).to_bytes(4, "little")) else errno.EFAULT

    def _note(self, attempt: Attempt, count: int = 1) -> None:
        key = replace(attempt, tid=0)
        with self._lock:
            if key not in self._seen and len(self._seen) >= _MOST_DIFFERENT:
                key = replace(key, target="")
            if key not in self._seen:
                self._seen[key] = _Seen(attempt.tid, self.progress(), time.monotonic_ns())
            self._seen[key].count += count
