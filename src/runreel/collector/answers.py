"""How the read API answers: documents as JSON, errors of ours with their status, and nothing of a bug but its place."""

import json
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from runreel.collector.logs import describe
from runreel.errors import CorruptError, NotFoundError, RunReelError, UsageError

_STATUS: dict[type[RunReelError], int] = {NotFoundError: 404, UsageError: 409, CorruptError: 422}
_log = logging.getLogger(__name__)
T = TypeVar("T")


def as_json(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a document as an answer."""
    # ASCII alone, unlike Starlette's own: a lone surrogate, in the name of a tool say, has no other form.
    return Response(json.dumps(document), status, headers, media_type="application/json")


def as_error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as an answer."""
    return as_json({"error": message}, status, headers)


def refused(error: RunReelError) -> Response:
    """Return what an error of ours is to whoever asked."""
    return as_error(next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 503), str(error))


async def answered(read: Callable[[], T], answer: Callable[[T], Response] = as_json) -> Response:
    """Read and render in a thread, and turn errors into answers. What is read is never cached on the way."""
    try:
        response = await run_in_threadpool(lambda: answer(read()))
    except RunReelError as error:
        return refused(error)
    except Exception as error:  # noqa: BLE001  a bug: the server would log its text, which may quote a run
        _log.error("a read failed unexpectedly", extra={"error": describe(error)})
        return as_error(500, "reading failed unexpectedly: see the collector's log")
    response.headers["Cache-Control"] = "no-store"
    return response


async def body_of(request: Request, most_bytes: int) -> bytearray | None:
    """Read the body, None where it is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            return None
    return body
