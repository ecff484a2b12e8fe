"""httpx and httpx2: one request handled by their transports."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from runreel.replay.transports.http1 import Handler, close
from runreel.replay.wire.values import HttpRequest, HttpResponse


def patch(handler: Handler, module: ModuleType) -> None:
    """Answer for the transports of httpx or httpx2."""
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
            close(self.chunks)

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
