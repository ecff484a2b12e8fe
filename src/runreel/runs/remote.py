"""Runs read through a running collector's read API: while it runs, it alone may open the embedded store."""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from runreel.errors import CorruptError, NotFoundError, StoreError, UsageError
from runreel.runs import discovery, kept
from runreel.runs.document import summary_from_document
from runreel.storage import KeptGolden, RunQuery
from runreel.values import Run, RunSummary

_PATIENCE_S = 60.0


class RemoteRuns:
    """A RunStore over HTTP. Each call is one request; a run comes as a reel and is verified and assembled here."""

    def __init__(self, api: str, token: str, token_by: str = discovery.FILE) -> None:
        self._api = api.rstrip("/")
        self._token = token
        self._token_by = token_by

    def runs(self, query: RunQuery) -> Sequence[RunSummary]:
        """List runs, newest first."""
        asked = {
            "since_ns": query.since_ns,
            "agent": query.agent,
            "user": query.user,
            "outcome": query.outcome,
            "tool": query.tool,
            "verdict": query.verdict,
            "text": query.text,
            "replays": "true" if query.replays else None,
            "replay_of": query.replay_of,
            "limit": query.limit,
        }
        words = urllib.parse.urlencode({name: value for name, value in asked.items() if value is not None})
        found = self._field(self._bytes(f"/api/v1/runs?{words}"), "runs")
        try:
            return [summary_from_document(item) for item in found]
        except (KeyError, TypeError, AttributeError):
            raise self._another_version() from None

    def resolve(self, tenant: str, text: str) -> str:  # noqa: ARG002  the token decides the tenant
        """Return the run id for an id, a trace id, a unique prefix or `last`."""
        if not text.strip(" /"):
            raise NotFoundError(f"{text!r} is no run id, trace id or prefix: `runreel runs ls` lists what is recorded")
        return str(self._field(self._bytes(f"/api/v1/runs/{_quoted(text)}"), "run_id"))

    def run(self, tenant: str, run_id: str) -> Run:
        """Load a run, every part and payload checked here against its hash."""
        from runreel.runs import reel  # assembles, which a list does not: it would wait for the imports

        store = reel.open_reel(self.reel(tenant, run_id), f"{self._api}/api/v1/runs/{run_id}/reel", tenant)
        return store.run(tenant, run_id)

    def reel(self, tenant: str, run_id: str) -> bytes:  # noqa: ARG002
        """Return the run as a reel."""
        return self._bytes(f"/api/v1/runs/{_quoted(run_id)}/reel")

    def part(self, tenant: str, sha256: str) -> bytes:  # noqa: ARG002
        """Return one part, verified."""
        from runreel.runs import reel

        data = self._bytes(f"/api/v1/parts/{_quoted(sha256)}")
        reel.check(data, sha256, f"part from {self._api}")
        return data

    def redacted(self, text: str) -> str:
        """Return a text as the collector's redactor leaves it: for who has no detectors. Raises as every method."""
        # ASCII alone: a lone surrogate has no other form.
        return str(self._field(self._bytes("/api/v1/redact", json.dumps({"text": text}).encode()), "text"))

    def stores(self) -> Mapping[str, Any]:
        """Return how the collector's stores are, what waits in its spool, and its ledger. Raises as every method."""
        answer = self._bytes("/api/v1/stores")
        self._field(answer, "stores")
        found: Mapping[str, Any] = json.loads(answer)
        return found

    def flag(self, name: str, reason: str) -> str:
        """Flag a run and return its id. Raises as every method."""
        body = json.dumps({"reason": reason}).encode()
        return str(self._field(self._bytes(f"/api/v1/runs/{_quoted(name)}/flag", body), "run_id"))

    def keep_golden(self, tenant: str, golden: KeptGolden) -> None:  # noqa: ARG002
        """Register a golden; the collector redacts its name and ticket. Raises as every method."""
        self._field(self._bytes("/api/v1/goldens", json.dumps(kept.document(golden)).encode()), "run_id")

    def goldens(self, tenant: str) -> Sequence[KeptGolden]:  # noqa: ARG002
        """Return every golden that is registered, by run and name. Raises as every method."""
        found = self._field(self._bytes("/api/v1/goldens"), "goldens")
        try:
            return [kept.from_document(one) for one in found]
        except (ValueError, TypeError):
            raise self._another_version() from None

    def asked(
        self, path: str, field: str = "", body: Mapping[str, Any] | None = None, *, patience_s: float = _PATIENCE_S
    ) -> Any:
        """Return what a path answers, or one field of it. Raises as every method."""
        answer = self._bytes(path, None if body is None else json.dumps(body).encode(), patience_s)
        return self._field(answer, field) if field else self._document(answer)

    def close(self) -> None:
        """Nothing is held open."""

    def _field(self, answer: bytes, name: str) -> Any:
        try:
            return json.loads(answer)[name]
        except (ValueError, KeyError, TypeError):
            raise self._another_version() from None

    def _document(self, answer: bytes) -> Any:
        try:
            return json.loads(answer)
        except ValueError:
            raise self._another_version() from None

    def _another_version(self) -> StoreError:
        return StoreError(f"the collector at {self._api} answers what this version does not know: is it another one's?")

    def _bytes(self, path: str, body: bytes | None = None, patience_s: float = _PATIENCE_S) -> bytes:
        request = urllib.request.Request(self._api + path, body, {"Authorization": f"Bearer {self._token}"})  # noqa: S310
        try:
            with discovery.opener(self._api).open(request, timeout=patience_s) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            raise self._failure(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise StoreError(f"the collector at {self._api} does not answer ({error}): is it still running?") from None

    def _failure(self, error: urllib.error.HTTPError) -> Exception:
        try:
            text = str(json.loads(error.read())["error"])
        except (ValueError, KeyError, TypeError):
            text = f"the collector answered {error.code}"
        match error.code:
            case HTTPStatus.NOT_FOUND:
                return NotFoundError(text)
            case HTTPStatus.CONFLICT:
                return UsageError(text)
            case HTTPStatus.UNPROCESSABLE_ENTITY:
                return CorruptError(text)
            case HTTPStatus.UNAUTHORIZED:
                text = f"the collector at {self._api} refuses the token from {self._token_by}: was it started again?"
                return StoreError(text)
            case _:
                return StoreError(text)


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")
