"""Listeners that a sandboxed agent must not reach, and exact counts of who reached them."""

import os
import selectors
import socket
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

_FLUSH, _HELLO = b"flush", b"hello"
_DEADLINE_S = 20.0
_HTTP = b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Listeners:
    """One thread that serves TCP over IPv4 and IPv6, UDP, a resolver, and Unix sockets of three kinds.

    `counts()` first sends a contact of its own through each listener and waits for it, so that everything sent before
    is counted: no waiting, no guessing.
    """

    def __init__(self, folder: Path) -> None:
        self._counts: Counter[str] = Counter()
        self._selector = selectors.DefaultSelector()
        self._flushed = threading.Semaphore(0)
        self._pending = 0
        self._own: set[socket.socket] = set()
        self.addresses: dict[str, object] = {}
        self._sockets: dict[str, socket.socket] = {}
        self._streams("tcp4", socket.AF_INET, ("127.0.0.1", 0))
        self._datagrams("udp4", socket.AF_INET, ("127.0.0.1", 0))
        self._datagrams("resolver", socket.AF_INET, ("127.0.0.1", 0))
        self._streams("unix", socket.AF_UNIX, str(folder / "stream.sock"))
        self._datagrams("unix_dgram", socket.AF_UNIX, str(folder / "dgram.sock"))
        self._streams("abstract", socket.AF_UNIX, f"\0runreel-test-{os.getpid()}")
        if socket.has_dualstack_ipv6():
            self._streams("tcp6", socket.AF_INET6, ("::1", 0))
        for name in ("stream.sock", "dgram.sock"):
            (folder / name).chmod(0o777)
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
