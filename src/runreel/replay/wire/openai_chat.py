"""OpenAI's chat completions: read a request as the record would, write a recorded answer as the API does."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from runreel.replay.values import Answer, Raised, Streamed
from runreel.replay.wire import answers, sse
from runreel.replay.wire.answers import Said, dump, joined
from runreel.replay.wire.failures import broke_off, failure, literal_of, name_of, then_lost
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
    body = answers.body_of(request)
    if body is None or not isinstance(body.get("messages"), tuple):
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
        params["output_type"] = output_type(kind)
    return {name: value for name, value in params.items() if value is not None}


def output_type(kind: str) -> str:
    """Return the conventions' word for a response format."""
    return "json" if kind in {"json_object", "json_schema"} else kind


def gaps(request: ModelRequest, answer: Answer) -> Iterator[str]:
    """Yield what the request asked for and no record holds."""
    body = request.body
    if body.get("logprobs") is True:
        yield "logprobs"
    wanted, given = body.get("n"), len(answers.said(answer).messages)
    if isinstance(wanted, int) and not isinstance(answer, Raised) and wanted > given:
        yield f"{wanted} answers, of which {given} are recorded"
    if body.get("web_search_options") is not None:
        yield "citations of a web search"
    modalities = body.get("modalities")
    if isinstance(modalities, tuple) and "audio" in modalities:
        yield "sound"


# --- answers ----------------------------------------------------------------------------------------------------------


def render(request: ModelRequest, answer: Answer) -> HttpResponse:
    """Write a recorded answer as the API's own response, as a stream where the request asks for one.

    Raises ConnectionError or TimeoutError where the recorded call got no response at all.
    """
    if isinstance(answer, Raised):
        if request.stream and broke_off(answer):
            return HttpResponse(200, (sse.EVENT_STREAM,), _broken(request, answer))
        return failure(answer, error)
    whole = _completion(answers.said(answer))
    if not request.stream:
        return HttpResponse(200, (answers.JSON,), dump(whole))
    ended = not (isinstance(answer, Streamed) and answer.interrupted)
    return HttpResponse(200, (sse.EVENT_STREAM,), _events(request, whole, ended))


def _broken(request: ModelRequest, answer: Raised) -> Iterator[bytes]:
    """Write what came before the recorded stream broke, and the error where the API sent one inside the stream."""
    events = _events(request, _completion(answers.said(answer)), ended=False)
    if name_of(answer) != "APIError":
        return then_lost(events)
    error = {"message": answer.message, "type": "error", "param": None, "code": None}
    return sse.then(events, sse.event(dump({"error": error})))


def _completion(said: Said) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "id": said.response_id or f"chatcmpl-recorded-{said.started_ns}",
        "object": "chat.completion",
        "created": said.created,
        "model": said.model,
        "choices": [_choice(said, index, message) for index, message in enumerate(said.messages)],
    }
    for name in ("service_tier", "system_fingerprint"):
        if said.fields.get(name) is not None:
            whole[name] = said.fields[name]
    if said.usage is not None:
        whole["usage"] = _usage(said.usage)
    return whole


def _choice(said: Said, index: int, message: Mapping[str, Value]) -> dict[str, Any]:
    known = answers.parts_of(message)
    calls = [_call(part, next(said.texts, None)) for part in known if part.get("type") == "tool_call"]
    texts = [part for part in known if part.get("type") == "text"]
    out: dict[str, Any] = {"role": "assistant", "content": joined(texts) if texts or not calls else None}
    refusals = [part for part in known if part.get("type") == "refusal"]
    out["refusal"] = joined(refusals) if refusals else None
    reasoning = [part for part in known if part.get("type") == "reasoning"]
    if reasoning:
        out["reasoning_content"] = joined(reasoning)
    if calls:
        out["tool_calls"] = calls
    finish = _finish(said.reason(index) or ("tool_call" if calls else "stop"))
    return {"index": index, "message": out, "logprobs": None, "finish_reason": finish}


def _finish(reason: str) -> Value:
    """Return the API's word for how an answer ended: frameworks record their own, or another provider's."""
    if reason in _FINISHED:
        return reason
    word = normal.finish(reason)
    return "tool_calls" if word == "tool_call" else word


_FINISHED: Final = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})


def _call(part: answers.Part, text: Value) -> dict[str, Any]:
    function = {"name": part.get("name"), "arguments": answers.arguments_text(part, text)}
    return {"id": part.get("id"), "type": "function", "function": function}


def _usage(usage: answers.Usage) -> dict[str, Any]:
    out: dict[str, Any] = {
        "prompt_tokens": usage.read,
        "completion_tokens": usage.written,
        "total_tokens": usage.read + usage.written,
    }
    if usage.cache_read is not None:
        out["prompt_tokens_details"] = {"cached_tokens": usage.cache_read}
    if usage.reasoning is not None:
        out["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return out


# --- streams ----------------------------------------------------------------------------------------------------------


def _events(request: ModelRequest, whole: Mapping[str, Any], ended: bool) -> Iterator[bytes]:
    for chunk in _chunks(request, whole, ended):
        yield sse.event(dump(chunk))
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


# --- errors -----------------------------------------------------------------------------------------------------------


def error(status: int, message: str, code: str | None = None) -> HttpResponse:
    """Write an error as the API does. The SDK must not try again: what is recorded is what came after its tries."""
    # Older SDKs put the whole body into the text.
    body = literal_of(message) or {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return HttpResponse(status, (answers.JSON, ("x-should-retry", "false")), dump(body))
