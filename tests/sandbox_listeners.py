"""Listeners that a sandboxed agent must not reach, and exact counts of who reached them."""

import os
import selectors
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

_FLUSH, _HELLO = b"flush", b"hello"
_DEADLINE_S = 20.0
_HTTP = b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"


def _every_kind(folder: Path) -> dict[str, tuple[int, int, object]]:
    inet, unix, stream, datagram = socket.AF_INET, socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM
    wanted: dict[str, tuple[int, int, object]] = {
        "tcp4": (inet, stream, ("127.0.0.1", 0)),
        "udp4": (inet, datagram, ("127.0.0.1", 0)),
        "resolver": (inet, datagram, ("127.0.0.1", 0)),
        "unix": (unix, stream, str(folder / "stream.sock")),
        "unix_dgram": (unix, datagram, str(folder / "dgram.sock")),
        "abstract": (unix, stream, f"\0runreel-test-{os.getpid()}"),
    }
    if socket.has_dualstack_ipv6():
        wanted["tcp6"] = (socket.AF_INET6, stream, ("::1", 0))
    return wanted


def _here(query: bytes) -> bytes:
    """Answer a question for an IPv4 address with 127.0.0.1, any other with nothing."""
    question = query[12 : query.index(0, 12) + 5]
    wanted = question[-4:-2] == b"\0\x01"
    head = query[:2] + b"\x81\x80\0\x01" + (b"\0\x01" if wanted else b"\0\0") + bytes(4)
    return head + question + (b"\xc0\x0c\0\x01\0\x01\0\0\0\0\0\x04\x7f\0\0\x01" if wanted else b"")


class Listeners:
    """One thread that serves TCP over IPv4 and IPv6, UDP, a resolver, and Unix sockets of three kinds; or what is
    `wanted`: by name, its family, type and address. A resolver named `DNS` knows every name.

    `counts()` first sends a contact of its own through each listener and waits for it, so that everything sent before
    is counted: no waiting, no guessing.
    """

    def __init__(self, folder: Path, wanted: Mapping[str, tuple[int, int, object]] | None = None) -> None:
        self._counts: Counter[str] = Counter()
        self._selector = selectors.DefaultSelector()
        self._flushed = threading.Semaphore(0)
        self._pending = 0
        self._own: set[socket.socket] = set()
        self.addresses: dict[str, object] = {}
        self._sockets: dict[str, socket.socket] = {}
        for name, (family, kind, address) in (wanted or _every_kind(folder)).items():
            (self._streams if kind == socket.SOCK_STREAM else self._datagrams)(name, family, address)
            if family == socket.AF_UNIX and not str(address).startswith("\0"):
                Path(str(address)).chmod(0o777)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _open(self, name: str, family: int, kind: int, address: object) -> socket.socket:
        it = socket.socket(family, kind)
        it.bind(address)
        it.setblocking(False)
        self._sockets[name] = it
        self.addresses[name] = address if family == socket.AF_UNIX else it.getsockname()
        return it

    def _streams(self, name: str, family: int, address: object) -> None:
        it = self._open(name, family, socket.SOCK_STREAM, address)
        it.listen(50)
        self._selector.register(it, selectors.EVENT_READ, lambda: self._accept(name, it))

    def _datagrams(self, name: str, family: int, address: object) -> None:
        it = self._open(name, family, socket.SOCK_DGRAM, address)
        self._selector.register(it, selectors.EVENT_READ, lambda: self._datagram(name, it))

    def _accept(self, name: str, listener: socket.socket) -> None:
        it, _ = listener.accept()
        self._selector.register(it, selectors.EVENT_READ, lambda: self._stream(name, it))

    def _stream(self, name: str, it: socket.socket) -> None:
        """A connection counts when it sends or ends; one that says hello is our own: only what else it sends counts."""
        try:
            data = it.recv(65536)
        except ConnectionError:
            data = b""
        if data == _HELLO:
            self._own.add(it)
            return
        if data or it not in self._own:
            self._note(name, data)
        try:
            it.sendall(_HTTP)
        except OSError:
            pass  # it has gone: counted all the same
        self._selector.unregister(it)
        self._own.discard(it)
        it.close()

    def _datagram(self, name: str, it: socket.socket) -> None:
        data, peer = it.recvfrom(65536)
        self._note(name, data)
        if name == "resolver" and data != _FLUSH:
            it.sendto(data[:2] + b"\x81\x83" + data[4:], peer)
        if name == "DNS" and data != _FLUSH:
            it.sendto(_here(data), peer)

    def _note(self, name: str, data: bytes) -> None:
        if data == _FLUSH:
            self._pending += 1
        else:
            self._counts[name] += 1

    def _serve(self) -> None:
        while True:
            events = self._selector.select(0 if self._pending else None)
            if not events:
                for _ in range(self._pending):
                    self._flushed.release()
                self._pending = 0
            for key, _ in events:
                run: Callable[[], None] = key.data
                run()

    def counts(self) -> dict[str, int]:
        """Return the contacts since the last call, by listener; those without any are left out."""
        for listener in self._sockets.values():
            with socket.socket(listener.family, listener.type) as it:
                it.connect(listener.getsockname())
                it.send(_FLUSH)
            assert self._flushed.acquire(timeout=_DEADLINE_S)
        found, self._counts = dict(self._counts), Counter()
        return found
