"""OpenAI's responses: read a request as the record would, write a recorded answer as the API does."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from runreel.replay.values import Answer, Raised, Streamed
from runreel.replay.wire import answers, openai_chat, response_events, sse
from runreel.replay.wire.answers import Part, Said, dump, text_of
from runreel.replay.wire.failures import broke_off, failure, name_of, then_lost
from runreel.replay.wire.values import HttpRequest, HttpResponse, ModelRequest
from runreel.semconv import messages as normal
from runreel.semconv.view import Memo
from runreel.values import Value

API: Final = "openai.responses"
error = openai_chat.error

# --- requests ---------------------------------------------------------------------------------------------------------

_NO_PARAMS: Final = frozenset({"model", "input", "instructions", "tools", "stream", "stream_options"})
_PARAMS: Final = {"max_output_tokens": "max_tokens"}
_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS: Final = frozenset({"function_call_output", "custom_tool_call_output", "computer_call_output"})
_OTHER_ITEMS: Final = "other_items"


def parse(request: HttpRequest) -> ModelRequest | None:
    """Read a request to `.../responses`; None where its body is no such request."""
    body = answers.body_of(request)
    if body is None or not {"input", "prompt", "previous_response_id"} & body.keys():
        return None
    memo = Memo()
    given = body.get("input")
    items = ({"role": "user", "content": given},) if isinstance(given, str) else given
    known = [(item, _message(item, memo)) for item in (items if isinstance(items, tuple) else ())]
    said = [message for _, message in known if message is not None]
    params = _params(body)
    others = tuple(item for item, message in known if message is None)
    if others:
        params[_OTHER_ITEMS] = others
    instructions = body.get("instructions")
    if isinstance(instructions, str):
        said.insert(0, {"role": "system", "parts": ({"type": "text", "content": instructions},)})
    tools = body.get("tools")
    return ModelRequest(
        provider="openai",
        api=API,
        model=str(body.get("model", "")),
        messages=tuple(said),
        params=params,
        tool_definitions=tuple(_definition(one, memo) for one in tools) if isinstance(tools, tuple) else (),
        stream=body.get("stream") is True,
        body=body,
    )


def _message(item: Value, memo: Memo) -> Value:
    """Return the message that an item of the input is; None for one that no record holds as a message."""
    if not isinstance(item, Mapping):
        return None
    kind = item.get("type")
    if isinstance(kind, str) and kind in _CALLS:
        call: dict[str, Value] = {"type": "tool_call", "id": _call_id(item), "name": item.get("name")}
        given = item.get(_CALLS[kind])
        call["arguments"] = normal.arguments(given, memo) if kind == "function_call" else given
        return {"role": "assistant", "parts": (call,)}
    if kind in _RESULTS:
        part: Value = {"type": "tool_call_response", "id": _call_id(item), "response": item.get("output")}
        return {"role": "tool", "parts": (part,)}
    if kind == "reasoning":
        thoughts = tuple(_thoughts(item))
        return {"role": "assistant", "parts": thoughts} if thoughts else None
    if kind not in (None, "message") or not isinstance(item.get("role"), str):
        return None
    content = item.get("content")
    parts = (content,) if isinstance(content, str) else content if isinstance(content, tuple) else ()
    return {"role": item["role"], "parts": tuple(_part(one, memo) for one in parts)}


def _call_id(item: Mapping[str, Value]) -> Value:
    return item.get("call_id") or item.get("id") or ""


def _thoughts(item: Mapping[str, Value]) -> Iterator[Value]:
    for name in ("summary", "content"):
        blocks = item.get(name)
        for block in blocks if isinstance(blocks, tuple) else ():
            if isinstance(block, Mapping) and isinstance(block.get("text"), str):
                yield {"type": "reasoning", "content": block["text"]}


def _part(part: Value, memo: Memo) -> Value:
    if not isinstance(part, Mapping):
        return normal.part(part, memo)
    kind = part.get("type")
    if kind in ("output_text", "input_text"):
        return {"type": "text", "content": part.get("text")}
    if kind == "refusal":
        return {"type": "text", "content": part.get("refusal")}
    if kind == "input_image":
        if isinstance(part.get("file_id"), str):
            return {"type": "file", "modality": "image", "file_id": part["file_id"]}
        made = normal.media(part.get("image_url"), "image")
        return {**made, "detail": part["detail"]} if part.get("detail") is not None else made
    if kind == "input_file" and isinstance(part.get("file_id"), str):
        return {"type": "file", "modality": "document", "file_id": part["file_id"]}
    if kind == "input_file":
        return normal.media(part.get("file_data") or part.get("file_url"), "document")
    return normal.part(part, memo)


def _params(body: Mapping[str, Value]) -> dict[str, Value]:
    params = {_PARAMS.get(name, name): value for name, value in body.items() if name not in _NO_PARAMS}
    text = body.get("text")
    form = text.get("format") if isinstance(text, Mapping) else None
    kind = form.get("type") if isinstance(form, Mapping) else None
    if isinstance(kind, str):
        params["output_type"] = openai_chat.output_type(kind)
    reasoning = params.get("reasoning")
    if isinstance(reasoning, Mapping) and reasoning.get("effort") is not None:
        params["reasoning_level"] = reasoning["effort"]
    return {name: value for name, value in params.items() if value is not None}


def _definition(tool: Value, memo: Memo) -> Value:
    """Return a tool as the record has it; one that runs at the provider is known by its type alone."""
    if isinstance(tool, Mapping) and tool.get("type") != "function" and tool.get("name") is None:
        tool = {**tool, "name": tool.get("type")}
    return normal.definitions((tool,), memo)[0]


def gaps(request: ModelRequest, answer: Answer) -> Iterator[str]:  # noqa: ARG001
    """Yield what the request asked for and no record holds."""
    include = request.body.get("include")
    wanted = [one for one in include if isinstance(one, str)] if isinstance(include, tuple) else []
    if request.body.get("top_logprobs") or any("logprobs" in one for one in wanted):
        yield "logprobs"
    if any("encrypted_content" in one for one in wanted):
        yield "encrypted reasoning"
    hosted = [str(one.get("type")) for one in request.tool_definitions if isinstance(one, Mapping)]
    hosted = sorted({kind for kind in hosted if kind not in ("function", "custom")})
    if hosted:
        yield f"citations of {', '.join(hosted)}"
    if request.body.get("background") is True:
        yield "an answer in the background"


# --- answers ----------------------------------------------------------------------------------------------------------

_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
_FAILED: Final = re.compile(r"[a-z]+(?:_[a-z]+)+")


def render(request: ModelRequest, answer: Answer) -> HttpResponse:
    """Write a recorded answer as the API's own response, as a stream where the request asks for one.

    Raises ConnectionError or TimeoutError where the recorded call got no response at all.
    """
    said = answers.said(answer)
    if isinstance(answer, Raised):
        # A response that failed is a response, and its error a code, not the name of an exception.
        if not _FAILED.fullmatch(answer.type):
            if request.stream and broke_off(answer):
                return HttpResponse(200, (sse.EVENT_STREAM,), _broken(request, said, answer))
            return failure(answer, error)
        whole = {**_whole(request, said), "status": "failed", "usage": None}
        whole["error"] = {"code": answer.type, "message": answer.message}
        return _response(request, whole, ended=True)
    return _response(request, _whole(request, said), ended=not (isinstance(answer, Streamed) and answer.interrupted))


def _response(request: ModelRequest, whole: dict[str, Any], *, ended: bool) -> HttpResponse:
    if not request.stream:
        return HttpResponse(200, (answers.JSON,), dump(whole))
    return HttpResponse(200, (sse.EVENT_STREAM,), response_events.events(whole, ended))


def _broken(request: ModelRequest, said: Said, answer: Raised) -> Iterator[bytes]:
    events = response_events.events(_whole(request, said), ended=False)
    if name_of(answer) != "APIError":
        return then_lost(events)
    error = {"type": "error", "code": None, "message": answer.message, "param": None, "sequence_number": 0}
    return sse.then(events, sse.event(dump(error), "error"))


# What a response says of its request.
_ECHOED: Final[Mapping[str, Any]] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": None,
    "temperature": None,
    "text": None,
    "tool_choice": "auto",
    "tools": (),
    "top_p": None,
    "truncation": None,
}


def _whole(request: ModelRequest, said: Said) -> dict[str, Any]:
    response_id = said.response_id or f"resp_recorded_{said.started_ns}"
    custom = {
        tool.get("name")
        for tool in request.tool_definitions
        if isinstance(tool, Mapping) and tool.get("type") == "custom"
    }
    reason = next((word for index in range(len(said.messages)) if (word := said.reason(index)) in _INCOMPLETE), "")
    whole: dict[str, Any] = {
        "id": response_id,
        "object": "response",
        "created_at": said.created,
        "model": said.model,
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": _INCOMPLETE[reason]} if reason else None,
        "error": None,
        "output": [
            item
            for place, message in enumerate(said.messages)
            for item in _items(said, message, f"{response_id}_{place}", custom)
        ],
        **{name: request.body.get(name, default) for name, default in _ECHOED.items()},
        "usage": None if said.usage is None else _usage(said.usage),
    }
    if said.fields.get("service_tier") is not None:
        whole["service_tier"] = said.fields["service_tier"]
    return whole


def _usage(usage: answers.Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.read,
        # These counts have no word for "not known".
        "input_tokens_details": {"cached_tokens": usage.cache_read or 0, "cache_write_tokens": usage.cache_write or 0},
        "output_tokens": usage.written,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": usage.read + usage.written,
    }


def _items(said: Said, message: Mapping[str, Value], stem: str, custom: set[Value]) -> Iterator[dict[str, Any]]:
    """Yield the items of an answer: neighbouring texts are one message, neighbouring thoughts one reasoning."""
    kind, gathered = "", list[Part]()
    for place, part in enumerate((*answers.parts_of(message), {})):
        now = _ITEM_OF.get(str(part.get("type")), "")
        if gathered and now != kind:
            yield _gathered(kind, gathered, f"{stem}_{place}")
            gathered = []
        kind = now
        if kind:
            gathered.append(part)
        elif part:
            item = _item(said, part, f"{stem}_{place}", custom)
            if item is not None:
                yield item


_ITEM_OF: Final = {"text": "msg", "refusal": "msg", "reasoning": "rs"}


def _gathered(kind: str, parts: list[Part], stem: str) -> dict[str, Any]:
    if kind == "rs":
        summary = [{"type": "summary_text", "text": text_of(part)} for part in parts]
        return {"id": f"rs_{stem}", "type": "reasoning", "summary": summary}
    content: list[dict[str, Any]] = [
        {"type": "refusal", "refusal": text_of(part)}
        if part.get("type") == "refusal"
        else {"type": "output_text", "text": text_of(part), "annotations": [], "logprobs": []}
        for part in parts
    ]
    return {"id": f"msg_{stem}", "type": "message", "role": "assistant", "status": "completed", "content": content}


def _item(said: Said, part: Part, stem: str, custom: set[Value]) -> dict[str, Any] | None:
    if part.get("type") == "tool_call":
        text = answers.arguments_text(part, next(said.texts, None))
        call = {"call_id": part.get("id"), "name": part.get("name")}
        if part.get("name") in custom:
            return {"id": f"ctc_{stem}", "type": "custom_tool_call", **call, "input": text, "status": "completed"}
        return {"id": f"fc_{stem}", "type": "function_call", **call, "arguments": text, "status": "completed"}
    inner = part.get("server_tool_call")
    if part.get("type") == "server_tool_call" and isinstance(inner, Mapping):
        kind = str(inner.get("type"))
        name = {"name": part.get("name")} if part.get("name") != kind else {}
        kind = kind if kind == "mcp_list_tools" else f"{kind}_call"
        return {**inner, **name, "id": part.get("id") or f"st_{stem}", "type": kind}
    return None
