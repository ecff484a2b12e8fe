"""Answer HTTP requests inside the agent's process, one step above the socket.

Only the transports of the libraries are replaced (httpx and httpx2 `handle_request`, requests' adapter), so that the
SDK above builds its own types, streams, retries and errors, and its instrumentation sees what it always sees. Nothing
is imported: each library is patched when the agent imports it.
"""

import io
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from types import ModuleType
from typing import Any

from runreel.errors import RefusedError
from runreel.replay.imports import when_imported
from runreel.replay.wire.values import HttpRequest, HttpResponse

Handler = Callable[[HttpRequest], HttpResponse]

# First version and first version beyond, of what the tests run.
TESTED = {"httpx": ((0, 24), (1,)), "httpx2": ((2,), (3,)), "requests": ((2, 28), (3,))}


def install(handler: Handler) -> None:
    """Have every HTTP request of httpx, httpx2 and requests answered by `handler`, whatever host it names.

    `handler` may be called from any thread and must not block. What it raises reaches the caller as it is, except
    ConnectionError and TimeoutError, which become the library's own. A library outside the tested range raises
    RefusedError where the agent imports it.
    """
    for name in ("httpx", "httpx2"):
        when_imported(name, partial(_httpx, handler))
    when_imported("requests.adapters", partial(_requests, handler))
    # urllib3 opens and binds a socket when it is imported, to see whether there is IPv6: an attempt that is no agent's.
    when_imported("socket", _without_ipv6)


def _without_ipv6(module: ModuleType) -> None:
    module.has_ipv6 = False  # type: ignore[attr-defined]


def _check(package: str) -> None:
    first, beyond = TESTED[package]
    text = version(package)
    numbers = tuple(int(digits) for digits in text.split(".")[:2] if digits.isdigit())
    if not first <= numbers < beyond:
        span = f"{'.'.join(map(str, first))} to below {'.'.join(map(str, beyond))}"
        raise RefusedError(f"replay cannot answer for {package} {text}: it is tested with {span}; install one of these")


# --- httpx and httpx2 -------------------------------------------------------------------------------------------------


def _httpx(handler: Handler, module: ModuleType) -> None:
    _check(module.__name__)
    streams = _httpx_streams(module)

    def ask(request: Any, body: bytes) -> HttpResponse:
        headers = tuple(request.headers.multi_items())
        with _httpx_errors(module, request, module.ConnectError):
            return handler(HttpRequest(request.method, str(request.url), headers, body))

    def respond(request: Any, response: HttpResponse, stream: type) -> Any:
        headers = list(response.headers)
        if isinstance(response.body, bytes):
            return module.Response(response.status, headers=headers, content=response.body, request=request)
        return module.Response(response.status, headers=headers, stream=stream(response.body, request), request=request)

    def handle_request(self: Any, request: Any) -> Any:  # noqa: ARG001
        return respond(request, ask(request, request.read()), streams[0])

    async def handle_async_request(self: Any, request: Any) -> Any:  # noqa: ARG001
        body = await request.aread()
        # A request to a real server lets other tasks run, and code is written for that.
        await _checkpoint()
        return respond(request, ask(request, body), streams[1])

    module.HTTPTransport.handle_request = handle_request
    module.AsyncHTTPTransport.handle_async_request = handle_async_request


def _httpx_streams(module: ModuleType) -> tuple[type, type]:
    """Make the two stream classes of a module: its client checks what they derive from."""

    class Base:
        def __init__(self, chunks: Iterator[bytes], request: Any) -> None:
            self.chunks, self.request = chunks, request

        def pull(self) -> bytes | None:
            with _httpx_errors(module, self.request, module.RemoteProtocolError):
                return next(self.chunks, None)

        def stop(self) -> None:
            _close(self.chunks)

    class Sync(Base, module.SyncByteStream):  # type: ignore[name-defined, misc]
        def __iter__(self) -> Iterator[bytes]:
            while (chunk := self.pull()) is not None:
                yield chunk

        def close(self) -> None:
            self.stop()

    class Async(Base, module.AsyncByteStream):  # type: ignore[name-defined, misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while (chunk := self.pull()) is not None:
                yield chunk
                await _checkpoint()

        async def aclose(self) -> None:
            self.stop()

    return Sync, Async


@contextmanager
def _httpx_errors(module: ModuleType, request: Any, lost: Any) -> Iterator[None]:
    try:
        yield
    except ConnectionError as error:
        raise lost(str(error), request=request) from error
    except TimeoutError as error:
        raise module.ReadTimeout(str(error), request=request) from error


async def _checkpoint() -> None:
    """Let other tasks run, under asyncio and trio alike."""
    import anyio.lowlevel  # a requirement of httpx and httpx2

    await anyio.lowlevel.checkpoint()


# --- requests ---------------------------------------------------------------------------------------------------------


def _requests(handler: Handler, adapters: ModuleType) -> None:
    _check("requests")
    import http.client

    import requests
    import urllib3
    from urllib3._collections import HTTPHeaderDict  # where 1.26 and 2 both have it

    def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG001
        headers = tuple((_text(name), _text(value)) for name, value in request.headers.items())
        try:
            answer = handler(HttpRequest(request.method, request.url, headers, _body(request.body)))
        except ConnectionError as error:
            raise requests.exceptions.ConnectionError(str(error), request=request) from error
        except TimeoutError as error:
            raise requests.exceptions.ReadTimeout(str(error), request=request) from error
        inner = http.client.HTTPResponse(_Socket(_frames(answer)), method=request.method)  # type: ignore[arg-type]
        inner.begin()
        raw = urllib3.HTTPResponse(
            body=inner,
            headers=HTTPHeaderDict(inner.getheaders()),
            status=inner.status,
            reason=inner.reason,
            preload_content=False,
            original_response=inner,
            request_method=request.method,
        )
        return self.build_response(request, raw)

    adapters.HTTPAdapter.send = send


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _body(body: str | bytes | Iterable[bytes] | None) -> bytes:
    """Read whatever requests takes as a body: nothing, text, bytes, a file, an iterable."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray)):
        return bytes(body)
    read = getattr(body, "read", None)
    if read is not None:
        return _body(read())
    return b"".join(body)


def _frames(response: HttpResponse) -> Iterator[bytes]:
    """Write an answer as HTTP/1.1, so that the standard library and urllib3 read it as they read any other.

    Whoever sits above then sees chunk boundaries and a connection lost in the middle as from a socket.
    """
    reason = HTTPStatus(response.status).phrase if response.status in set(HTTPStatus) else ""
    head = [f"HTTP/1.1 {response.status} {reason}"]
    head += [f"{name}: {value}" for name, value in response.headers if name.lower() not in _FRAMING]
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
        _close(response.body)


_FRAMING = frozenset({"content-length", "transfer-encoding", "connection"})


class _Socket:
    """As much of a socket as http.client wants."""

    def __init__(self, frames: Iterator[bytes]) -> None:
        self._frames = frames

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002
        return io.BufferedReader(_Frames(self._frames))


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
        _close(self._frames)
        super().close()


def _close(chunks: Iterator[bytes]) -> None:
    close = getattr(chunks, "close", None)
    if close is not None:
        close()
