import pytest

from runreel.collector.receivers import refusal
from runreel.errors import DecodeError, PermanentError, RetryableError, StoreError


@pytest.mark.parametrize(
    ("error", "grpc_code", "http_status", "retry_after_s"),
    [
        (DecodeError("x"), refusal.INVALID_ARGUMENT, 400, None),
        (DecodeError("x", "a code of tomorrow"), refusal.INVALID_ARGUMENT, 400, None),
        (DecodeError("x", "wrong_path"), refusal.INVALID_ARGUMENT, 400, None),
        (DecodeError("x", "too_large"), refusal.RESOURCE_EXHAUSTED, 413, None),
        (DecodeError("x", "unsupported_media_type"), refusal.INVALID_ARGUMENT, 415, None),
        (DecodeError("x", "unsupported_encoding"), refusal.UNIMPLEMENTED, 415, None),
        (RetryableError("x", 4.0), refusal.UNAVAILABLE, 503, 4.0),
        (PermanentError("x"), refusal.INTERNAL, 500, None),
        (StoreError("x"), refusal.UNAVAILABLE, 503, 1.0),
    ],
)
def test_every_error_has_its_answer(error, grpc_code, http_status, retry_after_s):
    found = refusal.refuse(error)

    assert (found.grpc_code, found.http_status, found.retry_after_s) == (grpc_code, http_status, retry_after_s)


def test_messages_are_bounded():
    assert len(refusal.refuse(DecodeError("x" * 10_000)).message) == refusal.MAX_MESSAGE_CHARS


def test_a_request_that_is_too_large_names_limit_and_size():
    error = refusal.too_large(70, 64)

    assert (str(error), error.code) == ("the request has 70 bytes, the limit is 64", "too_large")
