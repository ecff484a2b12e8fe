"""The connections of the standard library's http.client, and urllib3's: requests, botocore and urllib.request use them.

A connection that connects gets, instead of a socket, something that keeps what is written until an answer is read.
"""

import io
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from runreel.replay.transports.http1 import Handler, Incoming, close, written


def patch(handler: Handler, module: ModuleType) -> None:
    """Answer for the two connection classes of a module, http.client's or urllib3's."""

    def connecting(scheme: str) -> Any:
        def connect(self: Any) -> None:
            host = f"[{self.host}]" if ":" in self.host else self.host
            # Through a proxy, the host asked for is the tunnel's.
            tunnel = getattr(self, "_tunnel_host", None)
            origin = f"{scheme}://{tunnel or host}"
            port = getattr(self, "_tunnel_port", None) if tunnel else self.port
            if port and port != _PORTS[scheme]:
                origin = f"{origin}:{port}"
            self.sock = Socket(handler, origin)
            # urllib3 warns of connections whose certificate nobody looked at.
            self.is_verified = True
            self.proxy_is_verified = None

        return connect

    for name, scheme in (("HTTPConnection", "http"), ("HTTPSConnection", "https")):
        kind = getattr(module, name, None)
        # Without ssl there is no HTTPSConnection of its own.
        if kind is not None and "connect" in vars(kind):
            kind.connect = connecting(scheme)


_PORTS = {"http": 80, "https": 443}


class Socket:
    """As much of a socket as http.client and urllib3 want. Takes one request: its answer closes the connection."""

    def __init__(self, handler: Handler, origin: str) -> None:
        self._handler, self._incoming = handler, Incoming(origin)

    def sendall(self, data: bytes) -> None:
        self._incoming.feed(bytes(data))

    def makefile(self, mode: str, *args: Any, **kwargs: Any) -> io.BufferedReader:  # noqa: ARG002
        """Return the answer to what has been written. What the handler raises leaves here."""
        request = self._incoming.taken()
        if request is None:
            raise ConnectionError("the request was not written to its end")
        return io.BufferedReader(_Frames(written(self._handler(request), keep=False)))

    def settimeout(self, seconds: float | None) -> None:
        """Answers come at once."""

    def setsockopt(self, *args: Any) -> None:
        """There is nothing to tune."""

    def shutdown(self, how: int) -> None:
        """There is nobody to tell."""

    def close(self) -> None:
        """The answer is closed by who reads it."""


class _Frames(io.RawIOBase):
    """A readable file over an iterator of bytes; one read never goes beyond one item."""

    def __init__(self, frames: Iterator[bytes]) -> None:
        self._frames = frames
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            frame = next(self._frames, None)
            if frame is None:
                return 0
            self._rest = frame
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def close(self) -> None:
        close(self._frames)
        super().close()
