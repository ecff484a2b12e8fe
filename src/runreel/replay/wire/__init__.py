"""The providers' wire protocols: requests as an agent sends them, answers as it expects them, from the record.

One module an API: `parse` reads a request into the record's form, `render` writes a recorded answer as the API does.
"""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Final
from urllib.parse import urlsplit

from runreel.replay.values import Answer
from runreel.replay.wire import openai_chat
from runreel.replay.wire.values import HttpRequest, HttpResponse, ModelRequest

__all__ = ["HttpRequest", "HttpResponse", "ModelRequest", "parse", "refuse", "render", "respond"]

# By the end of the path, never by host: gateways, proxies and Azure serve the same API elsewhere.
_ROUTES: Final[Mapping[str, ModuleType]] = {"/chat/completions": openai_chat}
_APIS: Final[Mapping[str, ModuleType]] = {openai_chat.API: openai_chat}


def parse(request: HttpRequest) -> ModelRequest | None:
    """Read a request to a model; None where it is none that we know."""
    if request.method.upper() != "POST":
        return None
    path = urlsplit(request.url).path.rstrip("/")
    for end, module in _ROUTES.items():
        if path.endswith(end):
            found: ModelRequest | None = module.parse(request)
            return found
    return None


def render(request: ModelRequest, answer: Answer) -> HttpResponse:
    """Write a recorded answer as the API that was asked does, as a stream where the request asks for one.

    `answer.fields` may hold `model`, `response_id`, `usage`, `finish_reasons`, `created` or `created_ns`,
    `service_tier`, `system_fingerprint`, `tool_call_texts` (arguments as the model wrote them, one a call); those of
    Raised `status` (HTTP) and `partial` (output messages that came before a stream broke).

    Raises ConnectionError or TimeoutError where the recorded call got no response at all: the transport turns them
    into its library's own. An SDK then tries again by itself, with an equal request.
    """
    response: HttpResponse = _APIS[request.api].render(request, answer)
    return response


def refuse(request: ModelRequest, message: str, code: str, status: int = 400) -> HttpResponse:
    """Say in the API's own words that there is no answer. SDKs do not try again after it."""
    response: HttpResponse = _APIS[request.api].error(status, message, code)
    return response


def respond(request: HttpRequest, ask: Callable[[ModelRequest], Answer]) -> HttpResponse | None:
    """Answer a request to a model with what `ask` finds for it; None where it is no model's."""
    asked = parse(request)
    return None if asked is None else render(asked, ask(asked))
