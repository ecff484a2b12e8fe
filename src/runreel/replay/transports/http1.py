"""HTTP/1.1 as bytes, both ways: what a library wrote to its connection, and what it is to read there.

Whoever sits above then sees chunk boundaries and a connection lost in the middle as from a socket.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus

from runreel.replay.wire.values import HttpRequest, HttpResponse

Handler = Callable[[HttpRequest], HttpResponse]

_END = b"\r\n\r\n"
_FRAMING = frozenset({"content-length", "transfer-encoding", "connection"})


@dataclass(slots=True)
class Incoming:
    """The bytes of one request to `origin` (scheme, host, port), as they are written."""

    origin: str
    _data: bytearray = field(default_factory=bytearray, repr=False)

    def feed(self, data: bytes) -> None:
        self._data += data

    def taken(self) -> HttpRequest | None:
        """Return the request once it is whole, and forget it; None until then."""
        head, found, rest = bytes(self._data).partition(_END)
        if not found:
            return None
        line, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = (*line.split(" "), "", "")[:3]
        pairs = (one.partition(":") for one in lines)
        headers = tuple((name.strip(), value.strip()) for name, _, value in pairs)
        body = _body({name.lower(): value for name, value in headers}, rest)
        if body is None:
            return None
        self._data.clear()
        url = target if "://" in target else f"{self.origin}{target}"
        return HttpRequest(method, url, headers, body)


def _body(headers: dict[str, str], rest: bytes) -> bytes | None:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return _chunks(rest)
    length = int(headers.get("content-length") or 0)
    return rest[:length] if len(rest) >= length else None


def _chunks(rest: bytes) -> bytes | None:
    """Join the chunks of a body; None while the last one has not come."""
    out = bytearray()
    while True:
        size, found, rest = rest.partition(b"\r\n")
        if not found:
            return None
        length = int(size.partition(b";")[0], 16)
        if length == 0:
            return bytes(out)
        if len(rest) < length + 2:
            return None
        out += rest[:length]
        rest = rest[length + 2 :]


def written(response: HttpResponse, *, keep: bool) -> Iterator[bytes]:
    """Write an answer; `keep` says whether its connection takes another request."""
    reason = HTTPStatus(response.status).phrase if response.status in set(HTTPStatus) else ""
    head = [f"HTTP/1.1 {response.status} {reason}"]
    head += [f"{name}: {value}" for name, value in response.headers if name.lower() not in _FRAMING]
    if not keep:
        head.append("connection: close")
    if isinstance(response.body, bytes):
        head.append(f"content-length: {len(response.body)}")
        yield "\r\n".join([*head, "", ""]).encode("latin-1") + response.body
        return
    head.append("transfer-encoding: chunked")
    try:
        yield "\r\n".join([*head, "", ""]).encode("latin-1")
        for chunk in response.body:
            if chunk:
                yield b"%x\r\n%b\r\n" % (len(chunk), chunk)
        yield b"0\r\n\r\n"
    finally:
        close(response.body)


def close(chunks: Iterator[bytes]) -> None:
    """Close what chunks come from, where it can be."""
    stop = getattr(chunks, "close", None)
    if stop is not None:
        stop()
