"""OTLP over HTTP: POST /v1/traces, /v1/logs and /v1/metrics, protobuf and JSON, plain and gzip."""

import math
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from runreel import otlp
from runreel.collector.admission import Lease
from runreel.collector.auth import BearerTokens
from runreel.collector.pipeline import Request
from runreel.collector.receivers.intake import Intake
from runreel.collector.receivers.refusal import NOT_FOUND, NOT_LET_IN, UNIMPLEMENTED, refuse, too_large
from runreel.errors import DecodeError, RunReelError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
SignalName = Literal["traces", "logs", "metrics"]

_PATHS: dict[str, SignalName] = {"/v1/traces": "traces", "/v1/logs": "logs", "/v1/metrics": "metrics"}
_TYPES: dict[str, otlp.Encoding] = {"application/x-protobuf": "protobuf", "application/json": "json"}
_CONTENT_TYPE = {encoding: name.encode() for name, encoding in _TYPES.items()}
# A client that is still sending does not read our answer, and sees a reset instead of it: what is refused is read to
# its end and forgotten, up to here.
_DRAIN_BYTES = 512 * 1024 * 1024
_STRANGERS_BYTES = 1024 * 1024


class _HungUpError(Exception):
    """The client went away before its request was whole."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    encoding: otlp.Encoding
    headers: tuple[tuple[bytes, bytes], ...] = ()


class OtlpHttp:
    """An ASGI application. Every answer is in the encoding of its request; none holds text of one."""

    def __init__(self, intake: Intake, limit_bytes: int, tokens: BearerTokens | None = None) -> None:
        self._intake = intake
        self._limit_bytes = limit_bytes
        self._tokens = tokens

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            answer = await self._answer(scope, receive)
        except _HungUpError:
            return
        headers = [(b"content-type", _CONTENT_TYPE[answer.encoding]), *answer.headers]
        headers.append((b"content-length", str(len(answer.body)).encode()))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive) -> _Answer:
        signal = _PATHS.get(scope["path"])
        served = signal is not None and (signal == "metrics" or signal in self._intake.signals)
        if signal is None or not served:
            await _drain(receive, 0)
            known = ", ".join(path for path, name in _PATHS.items() if name in {*self._intake.signals, "metrics"})
            return _Answer(404, otlp.encode_status("json", NOT_FOUND, f"no such path: POST to {known}"), "json")
        if scope["method"] != "POST":
            await _drain(receive, 0)
            status = otlp.encode_status("json", UNIMPLEMENTED, "OTLP requests are POSTed")
            return _Answer(405, status, "json", ((b"allow", b"POST"),))
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if self._tokens is not None and not self._tokens.allows(headers.get(b"authorization", "")):
            # Not read to its end: who is not let in does not make us read half a gigabyte.
            await _drain(receive, _DRAIN_BYTES - _STRANGERS_BYTES)
            self._intake.refused("http", signal, NOT_LET_IN)
            status = otlp.encode_status("json", NOT_LET_IN.grpc_code, NOT_LET_IN.message)
            return _Answer(401, status, "json", ((b"www-authenticate", b"Bearer"),))
        encoding = _TYPES.get(headers.get(b"content-type", "").partition(";")[0].strip().lower())
        try:
            with self._intake.admission.lease() as lease:
                body = await self._body(headers, receive, lease)
                return await self._take(signal, encoding, headers, body, lease)
        except RunReelError as error:
            return self._refused(signal, encoding or "json", error)

    async def _take(
        self,
        signal: SignalName,
        encoding: otlp.Encoding | None,
        headers: dict[bytes, str],
        body: bytes,
        lease: Lease,
    ) -> _Answer:
        if encoding is None:
            raise DecodeError(f"the content type must be one of {', '.join(_TYPES)}", "unsupported_media_type")
        compression = headers.get(b"content-encoding", "").strip().lower()
        if compression not in {"", "identity", "gzip"}:
            raise DecodeError("the content encoding must be gzip or none", "unsupported_encoding")
        gzipped, path = compression == "gzip", signal
        if signal == "metrics":
            held = await self._intake.pipeline.astray(body, encoding, gzipped, self._limit_bytes)
            if held is None:
                self._intake.dropped_metrics("http")
                return _Answer(200, otlp.encode_response(signal, encoding, ()), encoding)
            signal = held
        request = Request(signal, encoding, body, gzipped, self._limit_bytes, path="metrics" if path != signal else "")
        del body
        rejected = await self._intake.pipeline.consume(request, lease)
        self._intake.took("http", signal)
        return _Answer(200, otlp.encode_response(path, encoding, rejected), encoding)

    async def _body(self, headers: dict[bytes, str], receive: Receive, lease: Lease) -> bytes:
        """Read the body, within the limit and admission. What is refused is read to its end first."""
        declared = headers.get(b"content-length", "")
        size = int(declared) if declared.isdigit() else 0
        if size > self._limit_bytes:
            if headers.get(b"expect", "").lower() != "100-continue":  # else nothing comes before we ask for it
                await _drain(receive, 0)
            raise too_large(size, self._limit_bytes)
        chunks: list[bytes] = []
        size, more = 0, True
        while more:
            message = await _next(receive)
            chunk, more = message.get("body", b""), message.get("more_body", False)
            size += len(chunk)
            try:
                if size > self._limit_bytes:
                    raise DecodeError(f"the request has more bytes than the limit of {self._limit_bytes}", "too_large")
                lease.grow(len(chunk))
            except RunReelError:
                chunks.clear()
                if more:
                    await _drain(receive, size)
                raise
            chunks.append(chunk)
        return b"".join(chunks)

    def _refused(self, signal: SignalName, encoding: otlp.Encoding, error: RunReelError) -> _Answer:
        refusal = refuse(error)
        self._intake.refused("http", signal, refusal)
        headers: tuple[tuple[bytes, bytes], ...] = ()
        if refusal.retry_after_s is not None:
            headers = ((b"retry-after", str(max(1, math.ceil(refusal.retry_after_s))).encode()),)
        body = otlp.encode_status(encoding, refusal.grpc_code, refusal.message)
        return _Answer(refusal.http_status, body, encoding, headers)


async def _next(receive: Receive) -> Message:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise _HungUpError
    return message


async def _drain(receive: Receive, size: int) -> None:
    """Read what is left of a body and forget it."""
    more = True
    while more and size <= _DRAIN_BYTES:
        message = await _next(receive)
        size += len(message.get("body", b""))
        more = cast("bool", message.get("more_body", False))
