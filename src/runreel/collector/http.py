"""Serves one ASGI application on one socket, in the running event loop, with nothing of a web server's own habits."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator, MutableMapping
from typing import Any

import uvicorn

from runreel.collector.tls import Renewed

GRACE_S = 30
# Exporters keep connections open between exports, a minute apart or less: closing earlier races with their next one.
_KEEP_ALIVE_S = 75


async def answer(scope: MutableMapping[str, Any], send: Any, status: int, kind: str, body: bytes) -> None:
    """Send one whole answer; without its body to HEAD."""
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: the service has several servers and stops them in order."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


class HttpServer:
    """Owns the socket from `start` on. `stop` closes it, then waits for requests in flight; twice is no error."""

    def __init__(self, app: Any, listener: socket.socket, certificate: Renewed | None = None) -> None:
        config = uvicorn.Config(
            app,
            http="httptools",
            loop="none",
            lifespan="off",
            ws="none",
            interface="asgi3",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=GRACE_S,
            **(certificate.uvicorn() if certificate else {}),
        )
        config.load()
        if certificate is not None:
            config.ssl = certificate.context()
        self._server = _Server(config)
        self._listener = listener
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start serving; on return connections are answered."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        up = asyncio.create_task(self._server.up.wait())
        await asyncio.wait({self._task, up}, return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if self._task.done():
            await self._task  # raises what went wrong

    async def stop(self) -> None:
        """Stop taking connections and wait for what is in flight, up to GRACE_S."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task
        self._listener.close()
