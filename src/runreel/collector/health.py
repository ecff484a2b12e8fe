"""The extension `health_check`: says whether the collector is ready, and nothing else."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any


class Health:
    """An ASGI application: 200 while `ready`, else 503."""

    def __init__(self, path: str) -> None:
        self.ready = False
        self._path = path
        self._since = datetime.now(UTC).isoformat()

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        _: Any,
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        """Answer GET and HEAD on the path."""
        if scope["path"] != self._path:
            status, document = 404, {"error": "no such path"}
        elif scope["method"] not in {"GET", "HEAD"}:
            status, document = 405, {"error": "only GET"}
        elif self.ready:
            status, document = 200, {"status": "Server available", "upSince": self._since}
        else:
            status, document = 503, {"status": "Server not available"}
        body = json.dumps(document).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
