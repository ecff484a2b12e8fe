"""Answer HTTP requests inside the agent's process, one step above the socket.

Only the transports of the libraries are replaced (httpx and httpx2 `handle_request`, the connections of aiohttp and of
the standard library, which urllib3, requests and botocore use), so that the SDK above builds its own types, streams,
retries and errors, and its instrumentation sees what it always sees. Nothing is imported: each library is patched when
the agent imports it.
"""

from collections.abc import Callable
from functools import partial
from types import ModuleType

from runreel.replay.imports import when_imported
from runreel.replay.transports import connections, httpx_like
from runreel.replay.transports.http1 import Handler
from runreel.replay.transports.versions import TESTED, check, require_tested

__all__ = ["TESTED", "Handler", "install", "require_tested"]


def install(handler: Handler) -> None:
    """Have every HTTP request of the known libraries answered by `handler`, whatever host it names.

    `handler` may be called from any thread and must not block. What it raises reaches the caller as it is, except
    ConnectionError and TimeoutError, which become the library's own. A library outside the tested range raises
    RefusedError where the agent imports it; `require_tested` says so before.
    """
    for name in ("httpx", "httpx2"):
        when_imported(name, partial(_checked, name, httpx_like.patch, handler))
    when_imported("http.client", partial(connections.patch, handler))
    when_imported("urllib3.connection", partial(_checked, "urllib3", connections.patch, handler))
    when_imported("requests", partial(_checked, "requests", _nothing, handler))
    when_imported("aiohttp.connector", partial(_checked, "aiohttp", _aiohttp, handler))
    # urllib3 opens and binds a socket when it is imported, to see whether there is IPv6: an attempt that is no agent's.
    when_imported("socket", _without_ipv6)


def _checked(package: str, patch: Callable[[Handler, ModuleType], None], handler: Handler, module: ModuleType) -> None:
    check(package)
    patch(handler, module)


def _aiohttp(handler: Handler, module: ModuleType) -> None:
    from runreel.replay.transports import aiohttp_connections  # with asyncio, which not every agent wants

    aiohttp_connections.patch(handler, module)


def _nothing(handler: Handler, module: ModuleType) -> None:
    """Requests speaks through urllib3; only its version is looked at."""


def _without_ipv6(module: ModuleType) -> None:
    module.has_ipv6 = False  # type: ignore[attr-defined]
