"""Anthropic's messages: read a request as the record would, write a recorded answer as the API does."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from runreel.replay.values import Answer, Raised, Streamed
from runreel.replay.wire import answers, sse
from runreel.replay.wire.answers import Part, Said, dump, text_of
from runreel.replay.wire.failures import broke_off, failure, literal_of, name_of, status_of, then_lost
from runreel.replay.wire.values import HttpRequest, HttpResponse, ModelRequest
from runreel.semconv import messages as normal
from runreel.semconv.view import Memo
from runreel.values import Value

API: Final = "anthropic.messages"

# --- requests ---------------------------------------------------------------------------------------------------------

_NO_PARAMS: Final = frozenset({"model", "messages", "system", "tools", "stream"})
_PARAMS: Final = {"stop_sequences": "stop"}
_DROPPED: Final = ("citations", "caller")  # of answers that are handed back
_RESULT: Final = "_tool_result"


def parse(request: HttpRequest) -> ModelRequest | None:
    """Read a request to `.../messages`; None where its body is no such request."""
    body = answers.body_of(request)
    # Other APIs have paths that end so, too; none of them asks for `max_tokens`.
    if body is None or not isinstance(body.get("messages"), tuple) or "max_tokens" not in body:
        return None
    memo = Memo()
    said = [_message(one, memo) for one in _listed(body["messages"]) if isinstance(one, Mapping)]
    system = body.get("system")
    parts = tuple(_part(one, memo) for one in _listed(system))
    first: tuple[Value, ...] = ({"role": "system", "parts": parts},) if parts else ()
    return ModelRequest(
        provider="anthropic",
        api=API,
        model=str(body.get("model", "")),
        messages=(*first, *said),
        params={
            _PARAMS.get(name, name): one for name, one in body.items() if name not in _NO_PARAMS and one is not None
        },
        tool_definitions=tuple(_definition(one, memo) for one in _listed(body.get("tools"))),
        stream=body.get("stream") is True,
        body=body,
    )


def _listed(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else () if value in (None, "") else (value,)


def _message(message: Mapping[str, Value], memo: Memo) -> Value:
    content = message.get("content")
    parts = (content,) if isinstance(content, str) else _listed(content)
    return {"role": message.get("role") or "user", "parts": tuple(_part(one, memo) for one in parts)}


def _part(block: Value, memo: Memo) -> Value:
    """Return one content block as the record has it; a tool that ran at the provider keeps its own words."""
    if not isinstance(block, Mapping):
        return normal.part(block, memo)
    kind = block.get("type")
    block = {name: one for name, one in block.items() if name not in _DROPPED}
    if kind in ("server_tool_use", "mcp_tool_use"):
        rest = {name: one for name, one in block.items() if name not in ("id", "name", "type") and one is not None}
        used: Value = {**rest, "type": block.get("name")}
        return {"type": "server_tool_call", "id": block.get("id"), "name": block.get("name"), "server_tool_call": used}
    if isinstance(kind, str) and kind.endswith(_RESULT):
        rest = {name: one for name, one in block.items() if name not in ("tool_use_id", "type") and one is not None}
        got: Value = {**rest, "type": kind.removesuffix(_RESULT)}
        return {"type": "server_tool_call_response", "id": block.get("tool_use_id"), "server_tool_call_response": got}
    return normal.part(block, memo)


def _definition(tool: Value, memo: Memo) -> Value:
    """Return a tool as the record has it: the client's own are functions, the provider's keep their type."""
    if isinstance(tool, Mapping) and tool.get("type") in (None, "custom"):
        tool = {**tool, "type": "function"}
    return normal.definitions((tool,), memo)[0]


def gaps(request: ModelRequest, answer: Answer) -> Iterator[str]:
    """Yield what the request asked for and no record holds."""
    hosted = [str(one.get("type")) for one in request.tool_definitions if isinstance(one, Mapping)]
    hosted = [kind for kind in hosted if kind != "function"]
    known = {part.get("type") for message in answers.said(answer).messages for part in answers.parts_of(message)}
    if hosted and "server_tool_call" in known and "server_tool_call_response" not in known:
        yield f"what {', '.join(sorted(set(hosted)))} found"


# --- answers ----------------------------------------------------------------------------------------------------------

# The API's word for the conventions' one.
_STOP: Final = {"stop": "end_turn", "length": "max_tokens", "tool_call": "tool_use", "content_filter": "refusal"}


def render(request: ModelRequest, answer: Answer) -> HttpResponse:
    """Write a recorded answer as the API's own message, as a stream where the request asks for one.

    Raises ConnectionError or TimeoutError where the recorded call got no response at all.
    """
    if isinstance(answer, Raised):
        if request.stream and broke_off(answer):
            return HttpResponse(200, (sse.EVENT_STREAM,), _broken(answer))
        return failure(answer, error)
    said = answers.said(answer)
    if not request.stream:
        return HttpResponse(200, (answers.JSON,), dump(_whole(said, _blocks(said))))
    ended = not (isinstance(answer, Streamed) and answer.interrupted)
    return HttpResponse(200, (sse.EVENT_STREAM,), _events(said, ended))


def _whole(said: Said, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    reason = said.reason(0)
    if not reason:
        reason = "tool_call" if any(block["type"] == "tool_use" for block in blocks) else "stop"
    return {
        "id": said.response_id or f"msg_recorded_{said.started_ns}",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": [{name: one for name, one in block.items() if name != _AS_WRITTEN} for block in blocks],
        "stop_reason": _STOP.get(reason, reason),
        "stop_sequence": None,
        "usage": _usage(said.usage),
    }


def _usage(usage: answers.Usage | None) -> dict[str, Any]:
    """Return tokens as the API counts them: those from and to the cache are not among those read."""
    if usage is None:
        return {"input_tokens": 0, "output_tokens": 0}
    cached = (usage.cache_read or 0) + (usage.cache_write or 0)
    out: dict[str, Any] = {"input_tokens": max(0, usage.read - cached), "output_tokens": usage.written}
    if usage.cache_write is not None:
        out["cache_creation_input_tokens"] = usage.cache_write
    if usage.cache_read is not None:
        out["cache_read_input_tokens"] = usage.cache_read
    if usage.reasoning is not None:
        out["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    return out


_AS_WRITTEN: Final = "as_written"


def _blocks(said: Said) -> list[dict[str, Any]]:
    """Return content blocks; a call's input also as the text that a stream sends."""
    return [block for message in said.messages for part in answers.parts_of(message) if (block := _block(said, part))]


def _block(said: Said, part: Part) -> dict[str, Any] | None:
    kind = part.get("type")
    if kind in ("text", "refusal"):
        return {"type": "text", "text": text_of(part)}
    if kind == "reasoning":
        # Whether the provider takes the thinking back is not asked here; the signature is kept where it was recorded.
        return {"type": "thinking", "thinking": text_of(part), "signature": part.get("signature") or ""}
    if kind == "redacted_thinking":
        return {"type": kind, "data": part.get("data")}
    if kind == "tool_call":
        given = answers.arguments_object(part)
        text = answers.arguments_text(part, next(said.texts, None))
        return {"type": "tool_use", "id": part.get("id"), "name": part.get("name"), "input": given, _AS_WRITTEN: text}
    if kind == "server_tool_call" and isinstance(inner := part.get("server_tool_call"), Mapping):
        rest = {name: one for name, one in inner.items() if name != "type"}
        return {"type": "server_tool_use", "id": part.get("id"), "name": part.get("name"), **rest}
    if kind == "server_tool_call_response" and isinstance(inner := part.get("server_tool_call_response"), Mapping):
        rest = {name: one for name, one in inner.items() if name != "type"}
        return {"type": f"{inner.get('type')!s}{_RESULT}", "tool_use_id": part.get("id"), **rest}
    return None


# --- streams ----------------------------------------------------------------------------------------------------------


def _events(said: Said, ended: bool) -> Iterator[bytes]:
    for event in _told(said, ended):
        yield sse.event(dump(event), event["type"])


def _told(said: Said, ended: bool) -> Iterator[dict[str, Any]]:
    blocks = _blocks(said)
    whole = _whole(said, blocks)
    usage = {**whole["usage"], "output_tokens": 0}
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None, "usage": usage}}
    for index, block in enumerate(blocks):
        last = index == len(blocks) - 1
        start, deltas = _cut(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        if ended or not last:
            yield {"type": "content_block_stop", "index": index}
    if ended:
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": whole["usage"]["output_tokens"]}}
        yield {"type": "message_stop"}


def _cut(block: dict[str, Any]) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """Return how a block begins, and the pieces that it comes in."""
    kind = block["type"]
    if kind == "text":
        return {**block, "text": ""}, ({"type": "text_delta", "text": piece} for piece in sse.pieces(block["text"]))
    if kind == "thinking":
        return {**block, "thinking": "", "signature": ""}, _thinking(block)
    if kind in ("tool_use", "server_tool_use"):
        text = block.get(_AS_WRITTEN) or answers.compact(block.get("input"))
        start = {name: one for name, one in block.items() if name != _AS_WRITTEN}
        pieces = ({"type": "input_json_delta", "partial_json": piece} for piece in sse.pieces(text))
        return {**start, "input": {}}, pieces
    return block, iter(())


def _thinking(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for piece in sse.pieces(block["thinking"]):
        yield {"type": "thinking_delta", "thinking": piece}
    yield {"type": "signature_delta", "signature": block["signature"]}


# --- errors -----------------------------------------------------------------------------------------------------------

_ERRORS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def _broken(answer: Raised) -> Iterator[bytes]:
    """Write what came before the recorded stream broke, and the error where the API sent one inside the stream."""
    events = _events(answers.said(answer), ended=False)
    if "Connection" in name_of(answer) or "Timeout" in name_of(answer) or not name_of(answer).startswith("API"):
        status, text = status_of(answer)
        if status is None:
            return then_lost(events)
        return sse.then(events, sse.event(dump(_body(status, text)), "error"))
    return sse.then(events, sse.event(dump(_body(500, answer.message)), "error"))


def error(status: int, message: str, code: str | None = None) -> HttpResponse:
    """Write an error as the API does. The SDK must not try again: what is recorded is what came after its tries."""
    return HttpResponse(status, (answers.JSON, ("x-should-retry", "false")), dump(_body(status, message, code)))


def _body(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    kind = code or _ERRORS.get(status, "api_error")
    return literal_of(message) or {"type": "error", "error": {"type": kind, "message": message}}
