"""Recorded failures of model calls: which HTTP status they were, what the API said, or that it said nothing at all."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from runreel.replay.values import Raised
from runreel.replay.wire.values import HttpResponse

LOST: Final = "the recorded connection was lost here"

# By the class that the official SDK raises for a status; one table for all: the names are the same.
_STATUS: Final[Mapping[str, int]] = {
    "BadRequestError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "ConflictError": 409,
    "RequestTooLargeError": 413,
    "UnprocessableEntityError": 422,
    "RateLimitError": 429,
    "InternalServerError": 500,
    "ServiceUnavailableError": 503,
    "DeadlineExceededError": 504,
    "OverloadedError": 529,
    # Anthropic's own spans say it in the API's words.
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
}
_NUMBER: Final = re.compile(r"[45]\d\d")  # some instrumentations name the status where others name the exception
_IN_TEXT: Final = (
    re.compile(r"Error code: (?P<status>[45]\d\d)\b(?: - )?"),
    re.compile(r"(?P<status>[45]\d\d) [A-Za-z_ ]+\. (?={)"),
)


def status_of(answer: Raised) -> tuple[int | None, str]:
    """Return the HTTP status of a recorded failure, None where it got none, and its text without the status."""
    found = next((match for pattern in _IN_TEXT if (match := pattern.match(answer.message))), None)
    text = answer.message[found.end() :] if found else answer.message
    named = _STATUS.get(name_of(answer)) or (int(answer.type) if _NUMBER.fullmatch(answer.type) else None)
    status = answer.fields.get("status") or (int(found["status"]) if found else named)
    return (status if isinstance(status, int) else None), text


def name_of(answer: Raised) -> str:
    return answer.type.rpartition(".")[2]


def no_response(answer: Raised) -> ConnectionError | TimeoutError:
    """Return what the transport is to raise where the recorded call got no response."""
    if "timeout" in name_of(answer).lower():
        return TimeoutError("the recorded call timed out here")
    return ConnectionError(LOST)


def failure(answer: Raised, error: Callable[[int, str], HttpResponse]) -> HttpResponse:
    """Write a recorded failure as `error` does; raises ConnectionError or TimeoutError where it got no response."""
    status, text = status_of(answer)
    if status is None:
        raise no_response(answer)
    return error(status, text)


def literal_of(text: str) -> dict[str, Any] | None:
    """Return the body that an SDK put into its error's text, as Python writes it; None where it holds none."""
    if not text.startswith("{"):
        return None
    try:
        literal = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return literal if isinstance(literal, dict) else None


def broke_off(answer: Raised) -> bool:
    """Say whether a recorded stream had begun when it failed: what it brought, or at least its id, was recorded."""
    return isinstance(answer.fields.get("partial"), tuple) or (
        bool(answer.fields.get("response_id")) and status_of(answer)[0] is None
    )


def then_lost(events: Iterator[bytes]) -> Iterator[bytes]:
    """Break a stream off where the recorded one did."""
    yield from events
    raise ConnectionError(LOST)
