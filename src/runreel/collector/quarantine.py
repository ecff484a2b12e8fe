"""Keeps the quarantine within its limits, says how much is in it, and answers the read API about it."""

import json
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runreel.collector import telemetry
from runreel.collector.answers import answered, as_error, body_of
from runreel.collector.commit import Exporters
from runreel.collector.pipeline import Pipeline
from runreel.collector.regularly import Regularly
from runreel.collector.settings import ClickHouseConfig
from runreel.collector.telemetry import Telemetry
from runreel.component import KeepsQuarantine, Kept, Quarantine
from runreel.runs.quarantined import document
from runreel.spool import Spool
from runreel.spool.custody import ALL_REFUSED, Custody
from runreel.spool.spool import REFUSED
from runreel.values import DEFAULT_TENANT

INTERVAL_S = 10.0
_DAY_NS = 86_400 * 10**9
_CHUNK = 500
_MOST_IDS = 10_000
_log = logging.getLogger(__name__)


class Keeper:
    """Looks after one quarantine: `look`, again and again.

    Args:
        quarantine: What is kept.
        counts: Where what is taken out is counted.
        keep_days: For how long anything is kept.
        limit_bytes: How much may be kept; then `room` is False.
        folder: Where batches are that no table took.
        clock: Our time in nanoseconds since 1970.
        steady: Seconds that only ever go on.
    """

    def __init__(
        self,
        quarantine: Quarantine,
        counts: Telemetry,
        *,
        keep_days: float,
        limit_bytes: int,
        folder: Path | None = None,
        clock: Callable[[], int] = time.time_ns,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quarantine = quarantine
        self._counts = counts
        self._keep_ns = int(keep_days * _DAY_NS)
        self._limit = limit_bytes
        self._folder = folder
        self._clock = clock
        self._steady = steady
        self._began = clock(), steady()
        self.kept: Mapping[tuple[str, str], Kept] = {}
        """How much there was at the last look, by tenant and reason."""

    def room(self) -> bool:
        """Say whether more may be put there."""
        return sum(kept.bytes for kept in self.kept.values()) < self._limit

    def document(self) -> dict[str, Any]:
        """Return `full`, and the records and bytes of each tenant and reason at the last look."""
        kept = [
            {"tenant": tenant, "reason": reason, "records": one.items, "bytes": one.bytes}
            for (tenant, reason), one in self.kept.items()
        ]
        files = [file.stat().st_size for file in self._folder.glob("*.bin")] if self._folder else []
        if files:
            kept.append({"tenant": "", "reason": ALL_REFUSED, "records": len(files), "bytes": sum(files)})
        return {"full": not self.room(), "kept": kept}

    def look(self) -> None:
        """Take out what has been there too long, and count what is left. Raises StoreError, ConsumeError."""
        before = self._now() - self._keep_ns
        while expired := self._quarantine.expired(before, limit=_CHUNK):
            self._quarantine.remove(expired, "expired")
            self._counts.add(telemetry.UNQUARANTINED, len(expired), fate="expired")
            _log.warning("records in quarantine were kept as long as they may be", extra={"records": len(expired)})
        self.kept = self._quarantine.kept()

    def _now(self) -> int:
        """Return our time, and never more than has passed since the start: a clock that is set forward must not make
        everything old at once."""
        wall, steady = self._began
        return min(self._clock(), wall + int((self._steady() - steady) * 1e9))


def start(
    exporters: Exporters, pipeline: Pipeline, counts: Telemetry, settings: ClickHouseConfig, spool: Spool | None
) -> tuple[Keeper, Custody, Regularly] | None:
    """Return what keeps the quarantine of these exporters, what people do with it, and what has it looked at, started;
    None without one."""
    kept = next((one.quarantine for one in exporters.values() if isinstance(one, KeepsQuarantine)), None)
    if kept is None:
        return None
    keeper = Keeper(
        kept,
        counts,
        keep_days=settings.quarantine_days,
        limit_bytes=settings.quarantine_limit_mib * 1024 * 1024,
        folder=spool.folder / REFUSED if spool else None,
    )
    pipeline.has_room_aside(keeper.room)
    looking = Regularly(
        keeper.look,
        INTERVAL_S,
        name="runreel-quarantine",
        failing="the quarantine cannot be looked at",
        at_once=True,
    )
    looking.start()
    return keeper, Custody(kept, pipeline.store_again, spool.folder if spool else None), looking


class QuarantineApi:
    """The paths of the read API under /api/v1/quarantine."""

    def __init__(self, custody: Custody, counts: Telemetry, tenant: str = DEFAULT_TENANT) -> None:
        self._custody = custody
        self._counts = counts
        self._tenant = tenant
        self.routes = [
            Route("/api/v1/quarantine", self._list),
            Route("/api/v1/quarantine/release", self._release, methods=["POST"]),
            Route("/api/v1/quarantine/drop", self._drop, methods=["POST"]),
            Route("/api/v1/quarantine/{id}", self._one),
        ]

    async def _list(self, request: Request) -> Response:
        text = request.query_params.get("limit", "0")
        limit = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
        if limit is None:
            return as_error(400, "limit must be a whole number")

        def answer() -> dict[str, Any]:
            return {"items": [document(one) for one in self._custody.items(self._tenant, limit)]}

        return await answered(answer)

    async def _one(self, request: Request) -> Response:
        name = str(request.path_params["id"])

        return await answered(lambda: self._custody.shown(self._tenant, name))

    async def _release(self, request: Request) -> Response:
        ids = await _ids(request)
        if ids is None:
            return as_error(400, _WANTED)

        def answer() -> dict[str, Any]:
            released, said = self._custody.release(self._tenant, ids)
            self._counts.add(telemetry.UNQUARANTINED, released, fate="released")
            return {"released": released, "stay": list(said)}

        return await answered(answer)

    async def _drop(self, request: Request) -> Response:
        ids = await _ids(request)
        if ids is None:
            return as_error(400, _WANTED)

        def answer() -> dict[str, Any]:
            dropped = self._custody.drop(self._tenant, ids)
            self._counts.add(telemetry.UNQUARANTINED, dropped, fate="dropped")
            return {"dropped": dropped}

        return await answered(answer)


_WANTED = f'send {{"ids": ["..."]}}, at most {_MOST_IDS} of them'


async def _ids(request: Request) -> list[str] | None:
    """Return the ids that a request names, None where it does not."""
    body = await body_of(request, 64 * _MOST_IDS)
    try:
        ids = json.loads(body or b"null")["ids"]
    except (ValueError, TypeError, KeyError):
        return None
    right = isinstance(ids, list) and 0 < len(ids) <= _MOST_IDS and all(isinstance(one, str) for one in ids)
    return ids if right else None
