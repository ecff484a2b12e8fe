"""The providers' wire protocols: requests as an agent sends them, answers as it expects them, from the record.

One module an API: `parse` reads a request into the record's form, `render` writes a recorded answer as the API does,
`error` says in the API's words that there is none, `gaps` names what was asked for that no record holds.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from runreel.replay.values import Answer, Raised, Streamed
from runreel.replay.wire import anthropic_messages, gemini, openai_chat, openai_embeddings, openai_responses
from runreel.replay.wire.answers import parts_of, said
from runreel.replay.wire.failures import status_of
from runreel.replay.wire.values import HttpRequest, HttpResponse, ModelRequest

__all__ = [
    "HttpRequest",
    "HttpResponse",
    "ModelRequest",
    "gaps",
    "is_own_retry",
    "may_come_again",
    "not_recorded",
    "parse",
    "refuse",
    "render",
    "respond",
]


class Api(Protocol):
    """What the module of an API has."""

    @property
    def API(self) -> str: ...  # noqa: N802 - a constant of the module

    def parse(self, request: HttpRequest, /) -> ModelRequest | None: ...

    def render(self, request: ModelRequest, answer: Answer, /) -> HttpResponse: ...

    def error(self, status: int, message: str, code: str | None = None, /) -> HttpResponse: ...

    def gaps(self, request: ModelRequest, answer: Answer, /) -> Iterator[str]: ...


# By the end of the path, never by host: gateways, proxies, Azure and Vertex serve the same APIs elsewhere.
_ROUTES: Final[Mapping[str, Api]] = {
    "/chat/completions": openai_chat,
    "/responses": openai_responses,
    "/embeddings": openai_embeddings,
    "/messages": anthropic_messages,
    **dict.fromkeys(gemini.METHODS, gemini),
}
_APIS: Final[Mapping[str, Api]] = {module.API: module for module in _ROUTES.values()}
_RETRY_COUNT: Final = "x-stainless-retry-count"
_TOO_MANY, _TIMED_OUT = 429, 408


def parse(request: HttpRequest) -> ModelRequest | None:
    """Read a request to a model; None where it is none that we know."""
    if request.method.upper() != "POST":
        return None
    path = unquote(urlsplit(request.url).path).rstrip("/")
    return next((module.parse(request) for end, module in _ROUTES.items() if path.endswith(end)), None)


def render(request: ModelRequest, answer: Answer) -> HttpResponse:
    """Write a recorded answer as the API that was asked does, as a stream where the request asks for one.

    `answer.fields` may hold `model`, `response_id`, `usage`, `finish_reasons`, `created` or `created_ns`,
    `service_tier`, `system_fingerprint`, `tool_call_texts` (arguments as the model wrote them, one a call); those of
    Raised `status` (HTTP) and `partial` (output messages that came before a stream broke).

    Raises ConnectionError or TimeoutError where the recorded call got no response at all: the transport turns them
    into its library's own. An SDK then tries again by itself, with an equal request.
    """
    return _APIS[request.api].render(request, answer)


def refuse(request: ModelRequest, message: str, code: str, status: int = 400) -> HttpResponse:
    """Say in the API's own words that there is no answer. SDKs do not try again after it."""
    return _APIS[request.api].error(status, message, code)


def respond(request: HttpRequest, ask: Callable[[ModelRequest], Answer]) -> HttpResponse | None:
    """Answer a request to a model with what `ask` finds for it; None where it is no model's."""
    asked = parse(request)
    return None if asked is None else render(asked, ask(asked))


def gaps(request: ModelRequest, answer: Answer) -> tuple[str, ...]:
    """Name what the request asked for, or the record holds, that the answer cannot say; nothing is made up for it."""
    found = list(_APIS[request.api].gaps(request, answer))
    if isinstance(answer, Streamed) and answer.interrupted and not said(answer).messages:
        found.append("what a stream brought before its reader left")
    writable = _WRITABLE.get(request.api, frozenset())
    parts = [part for message in said(answer).messages for part in parts_of(message)]
    # A type and nothing else is the mark that some senders leave of a call that stands in another part.
    kinds = {str(part.get("type")) for part in parts if len(part) > 1}
    found += [f"a part of type {kind} in the answer" for kind in sorted(kinds - _WRITABLE[""] - writable)]
    return tuple(found)


def not_recorded(request: ModelRequest, answer: Answer) -> Iterator[str]:
    """Yield what an answer has only because the API always has it, and what it lacks without being asked for."""
    if request.stream:
        yield "the pieces that a stream came in"
    if request.api == openai_chat.API and answer.fields.get("system_fingerprint") is None:
        yield "system fingerprints"


_WRITABLE: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"text", "refusal", "reasoning", "tool_call"}),
    openai_responses.API: frozenset({"server_tool_call"}),
    anthropic_messages.API: frozenset({"redacted_thinking", "server_tool_call", "server_tool_call_response"}),
    openai_embeddings.API: frozenset({"embeddings"}),
    gemini.API: frozenset({"blob", "uri"}),
}


def is_own_retry(request: HttpRequest) -> bool:
    """Say whether the SDK itself sends a request once more, so that its agent knows of no failure."""
    counts = (value for name, value in request.headers if name.lower() == _RETRY_COUNT)
    return any(value.isdigit() and int(value) > 0 for value in counts)


def may_come_again(request: ModelRequest, answer: Answer) -> bool:
    """Say whether an SDK tries again after a recorded failure, though it is told not to: Gemini's cannot be told."""
    if not isinstance(answer, Raised) or request.api != gemini.API:
        return False
    status, _ = status_of(answer)
    return status is not None and (status in (_TIMED_OUT, _TOO_MANY) or status >= 500)
