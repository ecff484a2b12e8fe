"""OpenAI's embeddings: read a request as the record would, give back the recorded vectors."""

import base64
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

from runreel.replay.values import Answer, Raised
from runreel.replay.wire import answers, openai_chat
from runreel.replay.wire.failures import failure
from runreel.replay.wire.values import HttpRequest, HttpResponse, ModelRequest
from runreel.semconv import messages as normal
from runreel.semconv.view import Memo
from runreel.values import Value

API: Final = "openai.embeddings"
error = openai_chat.error

# `encoding_format` is how vectors travel: SDKs ask for the shorter form by themselves.
_NO_PARAMS: Final = frozenset({"model", "input", "encoding_format"})


def parse(request: HttpRequest) -> ModelRequest | None:
    """Read a request to `.../embeddings`: each text is a message; None where its body is no such request."""
    body = answers.body_of(request)
    if body is None or "input" not in body:
        return None
    given = body["input"]
    texts = given if isinstance(given, tuple) and not _are_tokens(given) else (given,)
    return ModelRequest(
        provider="openai",
        api=API,
        model=str(body.get("model", "")),
        messages=normal.messages(tuple(texts), "user", Memo()),
        params={name: one for name, one in body.items() if name not in _NO_PARAMS and one is not None},
        body=body,
    )


def _are_tokens(given: tuple[Value, ...]) -> bool:
    return bool(given) and all(isinstance(one, int) for one in given)


def gaps(request: ModelRequest, answer: Answer) -> Iterator[str]:
    """Yield what the request asked for and no record holds."""
    missing = len(request.messages) - len(_vectors(answers.said(answer)))
    if missing > 0 and not isinstance(answer, Raised):
        yield f"{missing} of its vectors"


def render(request: ModelRequest, answer: Answer) -> HttpResponse:
    """Write recorded vectors as the API does.

    Raises ConnectionError or TimeoutError where the recorded call got no response at all.
    """
    if isinstance(answer, Raised):
        return failure(answer, openai_chat.error)
    said = answers.said(answer)
    short = request.body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _short(vector) if short else vector}
        for index, vector in enumerate(_vectors(said))
    ]
    usage = said.fields.get("usage")
    read = usage.get("input_tokens") if isinstance(usage, Mapping) else None
    tokens = read if isinstance(read, int) else 0
    whole: dict[str, Any] = {
        "object": "list",
        "data": data,
        "model": said.model or request.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    return HttpResponse(200, (answers.JSON,), answers.dump(whole))


def _vectors(said: answers.Said) -> list[tuple[Value, ...]]:
    parts = (part for message in said.messages for part in answers.parts_of(message))
    listed = (part.get("content") for part in parts if part.get("type") == "embeddings")
    return [
        vector for vectors in listed if isinstance(vectors, tuple) for vector in vectors if isinstance(vector, tuple)
    ]


def _short(vector: tuple[Value, ...]) -> str:
    numbers = [float(one) for one in vector if isinstance(one, int | float)]
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
