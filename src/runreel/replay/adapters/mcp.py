"""MCP client sessions: no server is started and none is connected to; the record answers in its place.

Every transport (stdio, SSE, streamable HTTP, websocket) gives its session two streams. In a replay these lead nowhere
but here, so that all of the session above them runs as always: its handshake, its validation, its timeouts, its spans.
A request is answered inside the call that sends it, in the agent's own task and with the agent's frames above.
"""

import functools
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any, Self

from runreel.replay.adapters.answers import Answers
from runreel.replay.adapters.mcp_server import Listing, ProtocolError, Server
from runreel.replay.boundaries import functions
from runreel.replay.imports import when_imported

TRANSPORTS: Mapping[str, tuple[str, ...]] = {
    "mcp.client.stdio": ("stdio_client",),
    "mcp.client.sse": ("sse_client",),
    "mcp.client.streamable_http": ("streamable_http_client", "streamablehttp_client"),
    "mcp.client.websocket": ("websocket_client",),
}
"""The modules of the transports, and what opens one, in either generation of the library."""


def install(answers: Answers) -> None:
    """Have every session answered whose transport is opened from now on, once the agent imports the library."""
    listing = Listing(answers)
    for module in TRANSPORTS:
        when_imported(module, functools.partial(_replace, answers, listing))


def _replace(answers: Answers, listing: Listing, module: ModuleType) -> None:
    for name in TRANSPORTS[module.__name__]:
        if (original := getattr(module, name, None)) is not None:
            setattr(module, name, _recorded(answers, listing, module, original))


def _recorded(answers: Answers, listing: Listing, module: ModuleType, original: Callable[..., Any]) -> Any:
    # Before 2.0, a session over streamable HTTP came with a function that tells its id.
    more = (lambda: None,) if hasattr(module, "GetSessionIdCallback") else ()

    @functools.wraps(original)
    @asynccontextmanager
    async def transport(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        import anyio  # the library stands on it

        server = Server(_name(args, kwargs), answers, listing)
        send, receive = anyio.create_memory_object_stream[Any](math.inf)
        async with send, receive:
            yield receive, Writer(server, send), *more

    return transport


def _name(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return what tells one server from another: its command line, or its address."""
    server = args[0] if args else kwargs.get("server", kwargs.get("url"))
    command = getattr(server, "command", None)
    return str(server) if command is None else " ".join([str(command), *map(str, getattr(server, "args", None) or ())])


class Writer:
    """The stream that a session sends its messages to. What is sent is answered before `send` returns."""

    def __init__(self, server: Server, replies: Any) -> None:
        self._server, self._replies = server, replies

    async def send(self, item: Any) -> None:
        """Answer a request; notifications and responses are for nobody. Raises DivergedError for what was not
        recorded."""
        message = getattr(item.message, "root", item.message)
        method, number = getattr(message, "method", None), getattr(message, "id", None)
        await functions.checkpoint()
        if method is None or number is None:
            return
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": number}
        try:
            answer["result"] = self._server.reply(method, message.params or {})
        except ProtocolError as error:
            answer["error"] = {"code": error.code, "message": error.message}
        self._replies.send_nowait(_message(answer))

    async def aclose(self) -> None:
        """Let the session's reading end, as it does when its server is gone."""
        self._replies.close()

    def close(self) -> None:
        self._replies.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _message(answer: Mapping[str, Any]) -> Any:
    """Return a message of the library's own type, as its transports make them."""
    from mcp import types
    from mcp.shared.message import SessionMessage

    either = getattr(types, "jsonrpc_message_adapter", None)
    older: Any = types.JSONRPCMessage  # a model of its own before 2.0
    made = older.model_validate(answer) if either is None else either.validate_python(answer)
    return SessionMessage(made)
