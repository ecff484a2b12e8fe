"""Sends records to a running collector as any client does: over OTLP, and its chain redacts them."""

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from http import HTTPStatus

from runreel import otlp
from runreel.errors import StoreError
from runreel.runs import discovery
from runreel.runs.discovery import Collector
from runreel.values import LogEvent, RawBatch, Span

# A collector that is busy says when to come back, as to every client.
_TRIES = 20
_MOST_WAIT_S = 30.0
_PATIENCE_S = 300.0


class Sender:
    """Sends batches to a collector; it comes back when told so, and halves what is too large.

    Args:
        collector: Where to. Raises StoreError where it takes no OTLP over HTTP.
        lost: Told of each record that is too large by itself.
        token_by: Where the token comes from, for what is said.
    """

    def __init__(self, collector: Collector, lost: Callable[[str], object], token_by: str = discovery.FILE) -> None:
        if collector.otlp_http is None:
            raise StoreError(
                f"the collector at {collector.api} has no OTLP/HTTP receiver, and holds the store: "
                "give it one (receivers::otlp::protocols::http), or stop it first"
            )
        self._endpoint, self._token = collector.otlp_http, collector.token
        self._lost = lost
        self._token_by = token_by

    def take(self, batch: RawBatch) -> None:
        """Send a batch, acknowledged on return. Raises StoreError."""
        self._send("traces", batch.spans)
        self._send("logs", batch.logs)

    def close(self) -> None:
        """Nothing is held open."""

    def _send(self, signal: otlp.Signal, items: Sequence[Span] | Sequence[LogEvent]) -> None:
        if not items:
            return
        url = f"{self._endpoint}/v1/{signal}"
        body = otlp.encode(signal, items, "protobuf")
        status = self._status(url, body)
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and len(items) > 1:
            half = len(items) // 2
            self._send(signal, items[:half])
            self._send(signal, items[half:])
        elif status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            self._lost(
                f"{_name(items[0])}: {len(body)} bytes are more than the collector takes; raise its "
                "max_request_body_size, or stop it and import again"
            )
        elif status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise StoreError(
                f"what takes OTLP at {url} refuses the token from {self._token_by} ({status}). If that is a receiver "
                "with tokens of its own, have its proxy pass /v1 on to the collector's read API, which takes OTLP with "
                "the token that reads runs; or put a token that both take into RUNREEL_TOKEN"
            )
        elif status != HTTPStatus.OK:
            raise StoreError(f"the collector answered {status} to {url}: see its log; what came before is stored")

    def _status(self, url: str, body: bytes) -> int:
        for _ in range(_TRIES):
            status, wait_s = self._post(url, body)
            if status not in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS}:
                break
            time.sleep(min(wait_s, _MOST_WAIT_S))
        return status

    def _post(self, url: str, body: bytes) -> tuple[int, float]:
        """Return the status, and after how many seconds to come back. Raises StoreError where nobody answers."""
        headers = {"Content-Type": "application/x-protobuf", "Authorization": f"Bearer {self._token}"}
        request = urllib.request.Request(url, body, headers)  # noqa: S310
        try:
            with discovery.opener(url).open(request, timeout=_PATIENCE_S) as answer:
                answer.read()
                return answer.status, 0.0
        except urllib.error.HTTPError as error:
            after = error.headers.get("Retry-After", "")
            return error.code, float(after) if after.isascii() and after.isdigit() else 1.0
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "reason", error)
            advice = "what came before is stored, and importing again stores nothing twice"
            raise StoreError(f"the collector at {url} does not answer ({why}): {advice}") from None


def _name(item: Span | LogEvent) -> str:
    if isinstance(item, Span):
        return f"span {item.key.span_id} of trace {item.key.trace_id}"
    return f"a log record of trace {item.trace_id or '-'}"
