"""The read API on loopback: lists of runs, one run, its reel, one part; a text redacted, a run flagged, a golden
registered. Every request needs the bearer token."""

import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runreel import __version__
from runreel.collector.answers import answered, as_error, as_json, body_of, refused
from runreel.collector.goldens import Goldens
from runreel.collector.watch import Watch
from runreel.errors import RunReelError
from runreel.runs import kept
from runreel.runs.document import replays_document, run_document, summary_document
from runreel.storage import RunQuery, RunStore
from runreel.values import DEFAULT_TENANT

_MOST_TEXT_BYTES = 16 * 1024 * 1024
_MOST_REASON = 4000
_MOST_REPLAYS = 20
Scope = MutableMapping[str, Any]
Flag = Callable[[str, str, str], Awaitable[str]]
"""Flags a run: tenant, its name, the reason; returns its id."""


class ReadApi:
    """An ASGI application over a RunStore. Reads run in threads; the store is thread-safe."""

    def __init__(
        self,
        runs: RunStore,
        token: str,
        tenant: str = DEFAULT_TENANT,
        *,
        redact: Callable[[str], str] | None = None,
        flag: Flag | None = None,
        goldens: Goldens | None = None,
        more: Sequence[Route] = (),
    ) -> None:
        self.otlp: Callable[[Scope, Any, Any], Awaitable[None]] | None = None
        """Takes OTLP over HTTP under this address, too, where the receiver's own wants a certificate."""
        self.otlp_http: str | None = None
        self.watch: Watch | None = None
        """Where the collector takes OTLP over HTTP, once it does: for clients that know the read API alone."""
        self._runs = runs
        self._flag = flag
        self._goldens = goldens
        self._redact = redact
        self._token = token.encode()
        self._tenant = tenant
        self._app = Starlette(
            routes=[
                Route("/api/v1/health", self._health),
                Route("/api/v1/stores", self._stores),
                Route("/api/v1/runs", self._list),
                Route("/api/v1/runs/{name:path}/reel", self._reel),
                Route("/api/v1/runs/{name:path}/flag", self._flagged, methods=["POST"]),
                Route("/api/v1/runs/{name:path}", self._one),
                Route("/api/v1/parts/{sha256}", self._part),
                Route("/api/v1/goldens", self._golden, methods=["GET", "POST"]),
                Route("/api/v1/redact", self._redacted, methods=["POST"]),
                *more,
            ],
            exception_handlers={404: _no_route, 405: _no_method},
        )

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer one request; 401 without the token, whatever it asks for."""
        answer: Callable[[Scope, Any, Any], Awaitable[None]] = self._app
        if not self._allowed(scope):
            answer = as_error(401, "a bearer token is needed: collector.json holds it", {"WWW-Authenticate": "Bearer"})
        elif self.otlp is not None and scope["path"].startswith("/v1/"):
            answer = self.otlp
        # Routed as it was written: a slash in the name of a run, written %2F, is none of the path.
        raw = scope.get("raw_path")
        await answer({**scope, "path": raw.decode("latin-1")} if raw else scope, receive, send)

    def _allowed(self, scope: Scope) -> bool:
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        kind, _, token = given.partition(b" ")
        return kind.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)

    async def _health(self, _: Request) -> Response:
        return as_json({"status": "ok", "version": __version__, "otlp_http": self.otlp_http})

    async def _stores(self, _: Request) -> Response:
        """Say how each store is, what waits, and what became of everything."""
        watch = self.watch
        return as_json({"stores": {}} if watch is None else await run_in_threadpool(watch.document))

    async def _list(self, request: Request) -> Response:
        try:
            query = self._query(request)
        except ValueError as error:
            return as_error(400, str(error))
        return await answered(
            lambda: self._runs.runs(query),
            lambda found: as_json({"runs": [summary_document(summary) for summary in found]}),
        )

    def _query(self, request: Request) -> RunQuery:
        given = request.query_params
        known = {"since_ns", "agent", "user", "outcome", "tool", "verdict", "text", "replays", "replay_of", "limit"}
        for name in given:
            if name not in known:
                raise ValueError(f"unknown parameter {name[:40]!r}: known are {', '.join(sorted(known))}")
        since = given.get("since_ns")
        return RunQuery(
            tenant=self._tenant,
            since_ns=None if since is None else _number("since_ns", since),
            agent=given.get("agent"),
            user=given.get("user"),
            outcome=given.get("outcome"),
            tool=given.get("tool"),
            verdict=given.get("verdict"),
            text=given.get("text"),
            replays=given.get("replays", "false").lower() in {"1", "true", "yes"},
            replay_of=given.get("replay_of"),
            limit=_number("limit", given.get("limit", "100")),
        )

    async def _one(self, request: Request) -> Response:
        return await answered(lambda: self._shown(self._resolved(request)), as_json)

    def _shown(self, run_id: str) -> dict[str, Any]:
        replays = self._runs.runs(RunQuery(self._tenant, replay_of=run_id, limit=_MOST_REPLAYS))
        return run_document(self._runs.run(self._tenant, run_id)) | replays_document(replays)

    async def _reel(self, request: Request) -> Response:
        return await answered(
            lambda: self._runs.reel(self._tenant, self._resolved(request)),
            lambda reel: Response(reel, media_type="application/zip"),
        )

    async def _part(self, request: Request) -> Response:
        sha256 = unquote(request.path_params["sha256"]).removeprefix("sha256:")
        return await answered(
            lambda: self._runs.part(self._tenant, sha256),
            lambda part: Response(part, media_type="application/octet-stream"),
        )

    async def _redacted(self, request: Request) -> Response:
        """Redact a text for a client that has no detectors: a replay shows what an agent said live."""
        redact = self._redact
        if redact is None:
            return as_error(404, "this collector has no redactor to lend")
        body = await body_of(request, _MOST_TEXT_BYTES)
        if body is None:
            return as_error(413, f"a text to redact may have {_MOST_TEXT_BYTES} bytes")
        try:
            text = json.loads(body)["text"]
        except (ValueError, TypeError, KeyError):
            text = None
        if not isinstance(text, str):
            return as_error(400, 'send {"text": "..."}')
        return await answered(lambda: {"text": redact(text)}, as_json)

    async def _flagged(self, request: Request) -> Response:
        """Flag a run; the reason is stored redacted."""
        flag = self._flag
        if flag is None:
            return as_error(404, "this collector takes no flags")
        body = await body_of(request, _MOST_TEXT_BYTES)
        try:
            given = json.loads(body or b"{}")
            reason = given.get("reason", "") if isinstance(given, dict) and body is not None else None
        except ValueError:
            reason = None
        if not isinstance(reason, str) or len(reason) > _MOST_REASON:
            return as_error(400, f'send {{"reason": "..."}} of at most {_MOST_REASON} characters, or nothing')
        try:
            run_id = await flag(self._tenant, unquote(request.path_params["name"]), reason)
        except RunReelError as error:
            return refused(error)
        return as_json({"run_id": run_id})

    async def _golden(self, request: Request) -> Response:
        """List the goldens that are registered, or register one."""
        goldens = self._goldens
        if goldens is None:
            return as_error(404, "this collector's store registers no goldens")
        if request.method == "GET":
            return await answered(lambda: goldens.list(self._tenant), as_json)
        body = await body_of(request, _MOST_TEXT_BYTES)
        try:
            golden = kept.from_document(json.loads(body or b"null"))
        except (ValueError, RecursionError) as error:
            return as_error(400, "send a golden as JSON" if isinstance(error, json.JSONDecodeError) else str(error))
        return await answered(lambda: goldens.keep(self._tenant, golden), as_json)

    def _resolved(self, request: Request) -> str:
        return self._runs.resolve(self._tenant, unquote(request.path_params["name"]))


def _number(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise ValueError(f"{name} must be a whole number")
    return int(text)


def _no_route(_: Request, __: Exception) -> Response:
    return as_error(404, "no such path in the read API")


def _no_method(_: Request, __: Exception) -> Response:
    posted = "/api/v1/redact, /api/v1/goldens and /api/v1/runs/RUN/flag"
    return as_error(405, f"the read API answers GET, and POST to {posted} alone")
