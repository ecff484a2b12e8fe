"""MCP client sessions as boundaries: what each asks its server is recorded with what came back, and the run goes along.

The library itself writes spans, without content. Here a call of a tool is a tool's step with arguments and result, and
what else a session asks (its handshake, lists, resources, prompts) a read of a memory of our own.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from opentelemetry import trace

from runreel.record import bypass
from runreel.record.calls import observed
from runreel.record.convert import plain
from runreel.record.losses import safely
from runreel.record.said import SESSIONS, Declared
from runreel.record.together import carrier, joined
from runreel.values import Value

CALL: Final = "tools/call"
DISCOVER: Final = "server/discover"
_IDLE: Final = frozenset({"ping", "logging/setLevel"})
_MARK: Final = "_runreel_records"
_recorded: ContextVar[bool] = ContextVar("runreel_mcp_recorded", default=False)


def mcp() -> None:
    """Record what every MCP client session of this process asks its server from now on, whoever made the session.

    Call it once, at the start; it needs the package `mcp`, and does nothing but count the loss where that cannot be
    imported. The run's id and trace go along in `_meta`, and a server that calls this as well goes on with the run.
    """
    safely("mcp", _patch, None)


def is_recorded() -> bool:
    """Say whether the request that is being sent is one that this records."""
    return _recorded.get()


def _patch() -> None:
    from mcp import ClientSession
    from mcp.client.streamable_http import StreamableHTTPTransport
    from mcp.server.lowlevel import Server

    client: Any = ClientSession
    if not getattr(client.send_request, _MARK, False):
        client.send_request = _recording(client.send_request)
        if hasattr(client, "send_discover"):  # from 2.0 on, the handshake that goes past it
            client.send_discover = _discovering(client.send_discover)
    transport: Any = StreamableHTTPTransport
    if not getattr(transport.__init__, _MARK, False):
        transport.__init__ = _naming(transport.__init__)
    server: Any = Server
    handle = getattr(server, "_handle_request", None)  # from 2.0 on, the library joins the trace by itself
    if handle is not None and not getattr(handle, _MARK, False):
        server._handle_request = _joining(handle)


def _recording(send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    async def send_request(self: Any, request: Any, result_type: Any, *args: Any, **kwargs: Any) -> Any:
        nothing: tuple[str, dict[str, Any]] = ("", {})
        method, params = safely("mcp", lambda: _asked(request), nothing)
        if not method or method in _IDLE or not _is_inside():
            return await send(self, request, result_type, *args, **kwargs)

        async def sent(**_: Any) -> _Result:
            with _said():
                carrying = safely("mcp", lambda: _carrying(request), request)
                return _Result(await send(self, carrying, result_type, *args, **kwargs))

        if method == CALL:
            name = str(params.get("name"))
            about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
            got = await observed(sent, Declared("tool", name, sent, about))(**(params.get("arguments") or {}))
        else:
            got = await observed(sent, _read(sent, request_of(method, params)))()
        return got.result

    setattr(send_request, _MARK, True)
    return send_request


def _discovering(send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    async def send_discover(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_inside():
            return await send(self, *args, **kwargs)

        async def sent() -> Any:
            with _said():
                return await send(self, *args, **kwargs)

        return await observed(sent, _read(sent, request_of(DISCOVER, {})))()

    return send_discover


def _is_inside() -> bool:
    """Say whether something is going on that a request may be a step of."""
    return trace.get_current_span().get_span_context().is_valid


@contextmanager
def _said() -> Iterator[None]:
    token = _recorded.set(True)
    try:
        yield
    finally:
        _recorded.reset(token)


def _read(sent: Callable[..., Any], asked: Mapping[str, Value]) -> Declared:
    return Declared("memory", SESSIONS, sent, op="search", key="request", fixed=asked)


def request_of(method: str, params: Mapping[str, Any]) -> dict[str, Value]:
    """Return a request as it is recorded: its method, and its parameters without what only the transport needs."""
    return {"request": method, **{key: plain(value, str) for key, value in params.items() if key != "_meta"}}


def _asked(request: Any) -> tuple[str, dict[str, Any]]:
    sent = request.model_dump(by_alias=True, mode="json", exclude_none=True)
    return str(sent["method"]), dict(sent.get("params") or {})


def _carrying(request: Any) -> Any:
    """Return the request with the run in its `_meta`, where the library does not see to that itself (before 2.0)."""
    if not hasattr(request, "root"):
        return request
    sent = request.model_dump(by_alias=True, mode="json", exclude_none=True)
    meta = sent.setdefault("params", {}).setdefault("_meta", {})
    meta.update({name: value for name, value in carrier().items() if name not in meta})
    return type(request).model_validate(sent)


def _joining(handle: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(handle)
    async def _handle_request(self: Any, message: Any, req: Any, *args: Any, **kwargs: Any) -> Any:
        meta = getattr(getattr(req, "params", None), "meta", None)
        with joined(getattr(meta, "model_extra", None)):
            return await handle(self, message, req, *args, **kwargs)

    setattr(_handle_request, _MARK, True)
    return _handle_request


def _naming(init: Callable[..., Any]) -> Callable[..., Any]:
    """A session's connections are made by tasks of its own, outside of the calls that they are for."""

    @functools.wraps(init)
    def __init__(self: Any, url: str, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it takes the class's place
        init(self, url, *args, **kwargs)
        safely("mcp", lambda: bypass.served(_host(url)), None)

    setattr(__init__, _MARK, True)
    return __init__


def _host(url: str) -> str | None:
    from urllib.parse import urlsplit

    return urlsplit(url).hostname


class _Result:
    """A result that is recorded as it came over the wire."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def model_dump(self, **_: Any) -> Any:
        return self.result.model_dump(by_alias=True, mode="json", exclude_none=True)
