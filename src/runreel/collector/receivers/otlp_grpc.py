"""OTLP over gRPC: the Export calls of traces, logs and metrics, on raw bytes, plain and gzip."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]

from runreel import otlp
from runreel.collector import ports, telemetry
from runreel.collector.auth import BearerTokens
from runreel.collector.http import GRACE_S
from runreel.collector.logs import describe
from runreel.collector.pipeline import Request
from runreel.collector.receivers.intake import Intake
from runreel.collector.receivers.refusal import NOT_LET_IN, Refusal, refuse, too_large
from runreel.collector.tls import Renewed
from runreel.errors import DecodeError, RunReelError

SignalName = Literal["traces", "logs", "metrics"]
_METHODS: dict[str, SignalName] = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": "traces",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": "logs",
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": "metrics",
}
# The library refuses what is over its own limit without a word to us. Ours is lower by this much, so that most of what
# is too large is counted and told the limit in our words.
_MARGIN_BYTES = 16 * 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"  # no OTLP request starts so: as a protobuf tag it has a wire type that does not exist
_IDENTITY_AND_GZIP = 0b101
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_log = logging.getLogger(__name__)
Handler = Callable[[AsyncIterator[bytes], Any], Awaitable[bytes]]


class OtlpGrpc:
    """A gRPC server. `bind`, `start`, `stop`, all in the event loop."""

    def __init__(self, intake: Intake, limit_bytes: int, tokens: BearerTokens | None = None) -> None:
        self._intake = intake
        self._limit_bytes = limit_bytes
        self._tokens = tokens
        self._server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", limit_bytes + _MARGIN_BYTES),
                # Else a second collector takes half of our connections without anybody noticing.
                ("grpc.so_reuseport", 0),
                # We decompress: the library would unpack a gzip bomb whole before anybody could look at its size.
                ("grpc.per_message_decompression", 0),
                ("grpc.compression_enabled_algorithms_bitset", _IDENTITY_AND_GZIP),
            ]
        )
        self._server.add_generic_rpc_handlers((_Methods(self._handlers()),))

    def bind(self, endpoint: str, where: str, certificate: Renewed | None = None) -> str:
        """Take the port and return `host:port` as bound. Raises UsageError, as `ports.bind`."""
        # The library only says that it failed, on stderr at that: find out beforehand, in our words.
        probe: socket.socket = ports.bind(endpoint, where)
        address = ports.address(probe)
        probe.close()
        try:
            if certificate is None:
                self._server.add_insecure_port(address)
            else:
                self._server.add_secure_port(address, certificate.grpc())
        except RuntimeError:
            ports.bind(address, where).close()
            raise
        return address

    async def start(self) -> None:
        """Start answering."""
        await self._server.start()

    async def stop(self) -> None:
        """Refuse new calls, and wait for those in flight, up to the grace period."""
        await self._server.stop(GRACE_S)

    def _handlers(self) -> dict[str, Handler]:
        handlers: dict[str, Handler] = {}
        for method, signal in _METHODS.items():
            if signal == "metrics" or signal in self._intake.signals:
                handlers[method] = self._export(signal)
        return handlers

    def _export(self, signal: SignalName) -> Handler:
        async def export(messages: AsyncIterator[bytes], context: Any) -> bytes:
            if not self._let_in(context):
                self._intake.refused("grpc", signal, NOT_LET_IN)
                await context.abort(_CODES[NOT_LET_IN.grpc_code], NOT_LET_IN.message)
            try:
                answer = await self._take(signal, await self._message(messages))
            except RunReelError as error:
                refusal = refuse(error)
            except asyncio.CancelledError:
                raise  # the client gave up; what it sent is stored all the same
            except Exception as error:  # noqa: BLE001  a bug: the library would put its text into the answer and the log
                self._intake.counts.add(telemetry.BUGS, where="grpc")
                _log.error("a request failed unexpectedly", extra={"signal": signal, "error": describe(error)})
                refusal = refuse(RunReelError())
            else:
                return answer
            self._intake.refused("grpc", signal, refusal)
            await context.abort(_CODES[refusal.grpc_code], refusal.message, _trailers(refusal))
            raise AssertionError  # abort raises

        return export

    def _let_in(self, context: Any) -> bool:
        if self._tokens is None:
            return True
        given = [value for name, value in context.invocation_metadata() or () if name == "authorization"]
        return bool(given) and isinstance(given[0], str) and self._tokens.allows(given[0])

    async def _message(self, messages: AsyncIterator[bytes]) -> bytes:
        """Return the message of a call. The library refuses one that is over its own limit before we see it, and then
        there is none: a call whose message we wait for ourselves is one that we can count."""
        async for body in messages:
            return body
        raise DecodeError(f"no message came, or one far over the limit of {self._limit_bytes} bytes", "too_large")

    async def _take(self, path: SignalName, body: bytes) -> bytes:
        if len(body) > self._limit_bytes:
            raise too_large(len(body), self._limit_bytes)
        with self._intake.admission.lease() as lease:
            lease.grow(len(body))
            gzipped = body.startswith(_GZIP_MAGIC)
            signal = path
            if signal == "metrics":
                held = await self._intake.pipeline.astray(body, "protobuf", gzipped, self._limit_bytes)
                if held is None:
                    self._intake.dropped_metrics("grpc")
                    return otlp.encode_response("metrics", "protobuf", ())
                signal = held
            strayed: Literal["", "metrics"] = "metrics" if path != signal else ""
            request = Request(signal, "protobuf", body, gzipped, self._limit_bytes, path=strayed)
            del body
            rejected = await self._intake.pipeline.consume(request, lease)
            self._intake.took("grpc", signal)
            return otlp.encode_response(path, "protobuf", rejected)


class _Methods(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Finds the handler of a method; others are UNIMPLEMENTED."""

    def __init__(self, handlers: dict[str, Handler]) -> None:
        self._handlers = {name: grpc.stream_unary_rpc_method_handler(handler) for name, handler in handlers.items()}

    def service(self, details: Any) -> Any:
        """Return the handler, None where there is none."""
        return self._handlers.get(details.method)


def _trailers(refusal: Refusal) -> tuple[tuple[str, bytes], ...]:
    """Tell when to come back, in the standard details and under the name that Python's exporter reads."""
    if refusal.retry_after_s is None:
        return ()
    delay = Duration()
    delay.FromNanoseconds(round(refusal.retry_after_s * 1e9))
    return (
        ("grpc-status-details-bin", otlp.encode_retry_info(refusal.retry_after_s, refusal.grpc_code, refusal.message)),
        ("google.rpc.retryinfo-bin", RetryInfo(retry_delay=delay).SerializeToString()),
    )
