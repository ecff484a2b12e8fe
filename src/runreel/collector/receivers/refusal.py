"""What a client is told when its request was not taken: the one place that maps our errors to HTTP and gRPC."""

from dataclasses import dataclass

from runreel.errors import DecodeError, PermanentError, RetryableError, RunReelError

MAX_MESSAGE_CHARS = 300

# gRPC's status numbers; named here so that HTTP needs no grpc.
INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE = 3, 5, 8, 12, 13, 14
UNAUTHENTICATED = 16
_DECODE = {
    "malformed": (INVALID_ARGUMENT, 400),
    "wrong_path": (INVALID_ARGUMENT, 400),
    "too_large": (RESOURCE_EXHAUSTED, 413),  # without RetryInfo: the client must not send it again
    "unsupported_media_type": (INVALID_ARGUMENT, 415),
    "unsupported_encoding": (UNIMPLEMENTED, 415),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as a client sees it. `retry_after_s` is None where the same bytes must not be sent again."""

    grpc_code: int
    http_status: int
    message: str
    outcome: str
    reason: str = ""
    retry_after_s: float | None = None


NOT_LET_IN = Refusal(
    UNAUTHENTICATED,
    401,
    "a bearer token is needed: set OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN",
    "refused",
    "unauthenticated",
)


def refuse(error: RunReelError) -> Refusal:
    """Turn an error of the pipeline into an answer. Its message is bounded; ours never hold payload text."""
    message = str(error)[:MAX_MESSAGE_CHARS]
    if isinstance(error, DecodeError):
        code, status = _DECODE.get(error.code, _DECODE["malformed"])
        return Refusal(code, status, message, "refused", error.code)
    if isinstance(error, RetryableError):
        return Refusal(UNAVAILABLE, 503, message, "retry", retry_after_s=error.retry_after_s)
    if isinstance(error, PermanentError):
        return Refusal(INTERNAL, 500, message, "failed")
    # Nothing else should come here; the client keeps its data and tries again.
    return Refusal(UNAVAILABLE, 503, "storing failed unexpectedly: send again", "retry", retry_after_s=1.0)


def too_large(size_bytes: int, limit_bytes: int) -> DecodeError:
    """Say that a request is over the limit, naming both."""
    return DecodeError(f"the request has {size_bytes} bytes, the limit is {limit_bytes}", "too_large")
