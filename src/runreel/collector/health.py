"""The extension `health_check`: says whether the collector is ready and, where asked, which store is not."""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any

from runreel.collector.http import answer
from runreel.collector.watch import Watch


class Health:
    """An ASGI application: 200 while `ready`, else 503. With `?stores` each store is written to and read, and 503 is
    the answer, too, where requests cannot be taken; what it says names stores, and holds no text of a run."""

    def __init__(self, path: str) -> None:
        self.ready = False
        self.watch: Watch | None = None
        self._path = path
        self._since = datetime.now(UTC).isoformat()

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        _: Any,
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        """Answer GET and HEAD on the path."""
        document: dict[str, Any]
        if scope["path"] != self._path:
            status, document = 404, {"error": "no such path"}
        elif scope["method"] not in {"GET", "HEAD"}:
            status, document = 405, {"error": "only GET"}
        elif self.ready:
            status, document = 200, {"status": "Server available", "upSince": self._since}
            if self.watch is not None and scope.get("query_string", b"").split(b"=")[0] == b"stores":
                document["stores"] = await asyncio.to_thread(self.watch.stores)
                document["quarantine"] = await asyncio.to_thread(self.watch.quarantine)
                if not await asyncio.to_thread(self.watch.ready):
                    status, document["status"] = 503, "Server not available"
        else:
            status, document = 503, {"status": "Server not available"}
        await answer(scope, send, status, "application/json", json.dumps(document).encode())
