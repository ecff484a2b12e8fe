"""Sweeps the blob store for a command, while the collector has the rows open that say which parts are named."""

import json
import logging
import threading
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runreel.collector.answers import answered, as_error, body_of
from runreel.collector.commit import Exporters
from runreel.errors import StoreError, UsageError
from runreel.exporters.aside import Aside, aside_of
from runreel.exporters.blobs import BlobsExporter
from runreel.exporters.clickhouse import ClickHouse
from runreel.govern.sweep import Named, Sweep

PATH = "/api/v1/sweep"
_MOST_BYTES = 1000
_WANTED = 'send {"grace_s": 86400, "dry": false, "force": false}'
_log = logging.getLogger(__name__)


class SweepApi:
    """The path of the read API under which the collector's blob store is swept. One sweep at a time."""

    def __init__(self, named: Named, blobs: Aside) -> None:
        self._named = named
        self._blobs = blobs
        self._busy = threading.Lock()
        self.routes = [Route(PATH, self._sweep, methods=["POST"])]

    async def _sweep(self, request: Request) -> Response:
        try:
            given = json.loads(await body_of(request, _MOST_BYTES) or b"null")
            grace_s, dry, force = given["grace_s"], given["dry"], given["force"]
            seconds = float(grace_s) if type(grace_s) in (int, float) else None  # true and false are integers, too
        except (ValueError, TypeError, KeyError, OverflowError):  # the last: no float is as large as some integers
            return as_error(400, _WANTED)
        if seconds is None or not isinstance(dry, bool) or not isinstance(force, bool):
            return as_error(400, _WANTED)
        return await answered(lambda: self._swept(seconds, dry=dry, force=force))

    def _swept(self, grace_s: float, *, dry: bool, force: bool) -> dict[str, Any]:
        sweep = Sweep(self._named, self._blobs, grace_s)
        if not self._busy.acquire(blocking=False):
            raise UsageError("a sweep is under way already: wait until it is done")
        try:
            swept = asdict(sweep.run(dry=dry, force=force))
        except OSError as error:
            raise StoreError(f"the blob store cannot be swept: {error.strerror}") from None
        finally:
            self._busy.release()
        if not dry:
            _log.info("heavy parts were swept", extra=swept)
        return swept


def routes_of(exporters: Exporters) -> list[Route]:
    """Return the path for the blob store of these exporters; none where nothing can be swept."""
    rows = next((one for one in exporters.values() if isinstance(one, ClickHouse)), None)
    blobs = next((one.blobs for one in exporters.values() if isinstance(one, BlobsExporter)), None)
    aside = None if blobs is None else aside_of(blobs)
    return [] if aside is None or rows is None else SweepApi(rows.parts, aside).routes
