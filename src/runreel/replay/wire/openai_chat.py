"""OpenAI's chat completions: read a request as the record would, write a recorded answer as the API does."""

import ast
import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from runreel.canonical import freeze
from runreel.replay.values import Answer, Raised, Streamed
from runreel.replay.wire import sse
from runreel.replay.wire.values import HttpRequest, HttpResponse, ModelRequest
from runreel.semconv import messages as normal
from runreel.semconv.view import Memo
from runreel.values import Value

API: Final = "openai.chat"

# --- requests ---------------------------------------------------------------------------------------------------------

# The record's names for what the API names otherwise.
_PARAMS: Final = {"max_completion_tokens": "max_tokens", "reasoning_effort": "reasoning_level"}
_NO_PARAMS: Final = frozenset({"model", "messages", "tools", "stream", "stream_options"})


def parse(request: HttpRequest) -> ModelRequest | None:
    """Read a request to `.../chat/completions`; None where its body is no such request."""
    try:
        body = freeze(json.loads(request.body))
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, Mapping) or not isinstance(body.get("messages"), tuple):
        return None
    memo = Memo()
    return ModelRequest(
        provider="openai",
        api=API,
        model=str(body.get("model", "")),
        messages=tuple(_message(one) for one in normal.wire_order(normal.messages(body["messages"], "user", memo))),
        params=_params(body),
        tool_definitions=normal.definitions(body["tools"], memo) if body.get("tools") else (),
        stream=body.get("stream") is True,
        body=body,
    )


def _message(message: Mapping[str, Value]) -> Value:
    """Keep what instrumentations record of a message; reasoning is a part like any other."""
    kept: dict[str, Value] = {"role": message["role"], "parts": message["parts"]}
    reasoning = message.get("reasoning_content")
    if isinstance(reasoning, str) and isinstance(message["parts"], tuple):
        kept["parts"] = ({"type": "reasoning", "content": reasoning}, *message["parts"])
    if "name" in message:
        kept["name"] = message["name"]
    return kept


def _params(body: Mapping[str, Value]) -> dict[str, Value]:
    params = {_PARAMS.get(name, name): value for name, value in body.items() if name not in _NO_PARAMS}
    if isinstance(params.get("stop"), str):
        params["stop"] = (params["stop"],)
    form = params.get("response_format")
    kind = form.get("type") if isinstance(form, Mapping) else None
    if isinstance(kind, str):
        params["output_type"] = "json" if kind in {"json_object", "json_schema"} else kind
    return {name: value for name, value in params.items() if value is not None}


# --- answers ----------------------------------------------------------------------------------------------------------

# HTTP status by the class that the official SDK raises for it.
_STATUS: Final = {
    "BadRequestError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "ConflictError": 409,
    "UnprocessableEntityError": 422,
    "RateLimitError": 429,
    "InternalServerError": 500,
}
_STATUS_IN_TEXT: Final = re.compile(r"Error code: ([45]\d\d)\b(?: - )?")
_LOST: Final = "the recorded connection was lost here"


def render(request: ModelRequest, answer: Answer) -> HttpResponse:
    """Write a recorded answer as the API's own response, as a stream where the request asks for one.

    Raises ConnectionError or TimeoutError where the recorded call got no response at all.
    """
    if isinstance(answer, Raised):
        partial = answer.fields.get("partial")
        if isinstance(partial, tuple) and request.stream:
            whole = _completion(partial, answer.fields)
            return HttpResponse(200, (sse.EVENT_STREAM,), _then_lost(_events(request, whole, ended=False)))
        return _failure(answer)
    value = answer.value if isinstance(answer.value, tuple) else ()
    whole = _completion(value, answer.fields)
    if not request.stream:
        return HttpResponse(200, (_JSON,), _dump(whole))
    ended = not (isinstance(answer, Streamed) and answer.interrupted)
    return HttpResponse(200, (sse.EVENT_STREAM,), _events(request, whole, ended))


_JSON: Final = ("content-type", "application/json")


def _dump(value: Any) -> bytes:
    # Escapes instead of UTF-8: a lone surrogate that a model once sent must pass as it came.
    return json.dumps(value, separators=(",", ":"), default=_bytes).encode()


def _bytes(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"a recorded answer holds a {type(value).__name__}")


def _completion(value: tuple[Value, ...], fields: Mapping[str, Value]) -> dict[str, Any]:
    created_ns = fields.get("created_ns")
    started_ns = created_ns if isinstance(created_ns, int) else 0
    created = fields.get("created") or started_ns // 10**9
    texts = fields.get("tool_call_texts")
    arguments = iter(texts if isinstance(texts, tuple) else ())
    reasons = fields.get("finish_reasons")
    choices = [
        _choice(
            index, message, arguments, reasons[index] if isinstance(reasons, tuple) and index < len(reasons) else None
        )
        for index, message in enumerate(value)
        if isinstance(message, Mapping)
    ]
    whole: dict[str, Any] = {
        "id": fields.get("response_id") or f"chatcmpl-recorded-{started_ns}",
        "object": "chat.completion",
        "created": created,
        "model": fields.get("model") or "",
        "choices": choices,
    }
    for name in ("service_tier", "system_fingerprint"):
        if fields.get(name) is not None:
            whole[name] = fields[name]
    usage = _usage(fields.get("usage"))
    if usage:
        whole["usage"] = usage
    return whole


def _choice(index: int, message: Mapping[str, Value], arguments: Iterator[Value], reason: Value) -> dict[str, Any]:
    parts = message.get("parts")
    known = [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, tuple) else []
    calls = [_call(part, next(arguments, None)) for part in known if part.get("type") == "tool_call"]
    texts = [part for part in known if part.get("type") == "text"]
    out: dict[str, Any] = {"role": "assistant", "content": _joined(texts) if texts or not calls else None}
    refusals = [part for part in known if part.get("type") == "refusal"]
    out["refusal"] = _joined(refusals) if refusals else None
    reasoning = [part for part in known if part.get("type") == "reasoning"]
    if reasoning:
        out["reasoning_content"] = _joined(reasoning)
    if calls:
        out["tool_calls"] = calls
    return {"index": index, "message": out, "logprobs": None, "finish_reason": _finish(message, calls, reason)}


def _joined(parts: Iterable[Mapping[str, Value]]) -> str:
    contents = [part.get("content") for part in parts]
    return "".join(content for content in contents if isinstance(content, str))


def _call(part: Mapping[str, Value], text: Value) -> dict[str, Any]:
    arguments = part.get("arguments")
    if not isinstance(text, str):
        text = arguments if isinstance(arguments, str) else "" if arguments is None else _compact(arguments)
    return {"id": part.get("id"), "type": "function", "function": {"name": part.get("name"), "arguments": text}}


def _compact(value: Value) -> str:
    """Write arguments whose own text is not known as models mostly do."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=_bytes)


def _finish(message: Mapping[str, Value], calls: list[Any], reason: Value) -> str:
    """Return the provider's own word where it was recorded, else its word for the conventions' one."""
    word = reason if isinstance(reason, str) and reason != "error" else message.get("finish_reason")
    if not isinstance(word, str) or word in ("", "error"):
        word = "tool_call" if calls else "stop"
    return "tool_calls" if word == "tool_call" else word


def _usage(usage: Value) -> dict[str, Any] | None:
    if not isinstance(usage, Mapping):
        return None
    read, written = usage.get("input_tokens"), usage.get("output_tokens")
    if not isinstance(read, int) or not isinstance(written, int):
        return None
    out: dict[str, Any] = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    if usage.get("cache_read") is not None:
        out["prompt_tokens_details"] = {"cached_tokens": usage["cache_read"]}
    if usage.get("reasoning") is not None:
        out["completion_tokens_details"] = {"reasoning_tokens": usage["reasoning"]}
    return out


# --- streams ----------------------------------------------------------------------------------------------------------


def _events(request: ModelRequest, whole: Mapping[str, Any], ended: bool) -> Iterator[bytes]:
    for chunk in _chunks(request, whole, ended):
        yield sse.event(_dump(chunk))
    if ended:
        yield sse.event(b"[DONE]")


def _chunks(request: ModelRequest, whole: Mapping[str, Any], ended: bool) -> Iterator[dict[str, Any]]:
    base = {name: value for name, value in whole.items() if name not in ("choices", "usage")}
    base["object"] = "chat.completion.chunk"
    options = request.body.get("stream_options")
    counted = isinstance(options, Mapping) and options.get("include_usage") is True
    if counted:
        base["usage"] = None
    for choice in whole["choices"]:
        index = choice["index"]
        for delta in _deltas(choice["message"]):
            yield {**base, "choices": [{"index": index, "delta": delta, "finish_reason": None, "logprobs": None}]}
        if ended:
            last = {"index": index, "delta": {}, "finish_reason": choice["finish_reason"], "logprobs": None}
            yield {**base, "choices": [last]}
    if ended and counted and "usage" in whole:
        yield {**base, "choices": [], "usage": whole["usage"]}


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    calls = message.get("tool_calls", ())
    yield {"role": "assistant", "content": None if calls and message["content"] is None else ""}
    for name in ("reasoning_content", "content", "refusal"):
        for piece in sse.pieces(message.get(name) or ""):
            yield {name: piece}
    for index, call in enumerate(calls):
        yield {"tool_calls": [{"index": index, **call, "function": {**call["function"], "arguments": ""}}]}
        for piece in sse.pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _then_lost(events: Iterator[bytes]) -> Iterator[bytes]:
    yield from events
    raise ConnectionError(_LOST)


# --- errors -----------------------------------------------------------------------------------------------------------


def _failure(answer: Raised) -> HttpResponse:
    name = answer.type.rpartition(".")[2]
    found = _STATUS_IN_TEXT.match(answer.message)
    status = answer.fields.get("status") or (int(found[1]) if found else _STATUS.get(name))
    if isinstance(status, int):
        return error(status, answer.message[found.end() :] if found else answer.message)
    if "timeout" in name.lower():
        raise TimeoutError("the recorded call timed out here")
    raise ConnectionError(_LOST)


def error(status: int, message: str, code: str | None = None) -> HttpResponse:
    """Write an error as the API does. The SDK must not try again: what is recorded is what came after its tries."""
    body: Any = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    if message.startswith("{"):
        # Older SDKs put the whole body into the text, as Python writes it.
        try:
            literal = ast.literal_eval(message)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            literal = None
        body = literal if isinstance(literal, dict) else body
    return HttpResponse(status, (_JSON, ("x-should-retry", "false")), _dump(body))
