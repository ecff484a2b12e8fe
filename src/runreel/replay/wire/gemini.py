"""Gemini's generateContent, plain and streamed, also on Vertex hosts: read a request, write a recorded answer."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from runreel.replay.values import Answer, Raised, Streamed
from runreel.replay.wire import answers, sse
from runreel.replay.wire.answers import Part, Said, dump, text_of
from runreel.replay.wire.failures import broke_off, failure, literal_of, then_lost
from runreel.replay.wire.values import HttpRequest, HttpResponse, ModelRequest
from runreel.semconv import messages as normal
from runreel.semconv.view import Memo
from runreel.values import Value

API: Final = "gemini"
METHODS: Final = (":generateContent", ":streamGenerateContent")

# --- requests ---------------------------------------------------------------------------------------------------------

_ROLES: Final = {"model": "assistant", None: "user"}
_CONFIG: Final = {"max_output_tokens": "max_tokens", "stop_sequences": "stop", "candidate_count": "n"}
_OUTPUT: Final = {"text/plain": "text", "application/json": "json"}
_NO_PARAMS: Final = frozenset({"contents", "systemInstruction", "tools", "generationConfig", "model"})
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def parse(request: HttpRequest) -> ModelRequest | None:
    """Read a request to `.../models/NAME:generateContent`; None where its body is no such request."""
    body = answers.body_of(request)
    if body is None or "contents" not in body:
        return None
    memo = Memo()
    path = unquote(urlsplit(request.url).path).rstrip("/")
    model, _, method = path.rpartition("/")[2].rpartition(":")
    system = tuple(normal.part(one, memo) for one in _parts(_get(body, "systemInstruction")))
    first: tuple[Value, ...] = ({"role": "system", "parts": system},) if system else ()
    contents = body["contents"]
    return ModelRequest(
        provider="gcp.gen_ai",
        api=API,
        model=model,
        messages=(*first, *(_message(one, memo) for one in (contents if isinstance(contents, tuple) else (contents,)))),
        params=_params(body),
        tool_definitions=tuple(_definitions(body.get("tools"), memo)),
        stream=method == "streamGenerateContent",
        body={**body, _AS_EVENTS: parse_qs(urlsplit(request.url).query).get("alt") == ["sse"]},
    )


_AS_EVENTS: Final = "runreel.as_events"


def _get(body: Mapping[str, Value], name: str) -> Value:
    """Return a field by its JSON name or by its other one: the API takes both."""
    return body[name] if name in body else body.get(snake(name))


def snake(name: str) -> str:
    return _WORDS.sub("_", name).lower()


def _parts(content: Value) -> tuple[Value, ...]:
    parts = content.get("parts") if isinstance(content, Mapping) else content
    return parts if isinstance(parts, tuple) else () if parts is None else (parts,)


def _message(content: Value, memo: Memo) -> Value:
    role = content.get("role") if isinstance(content, Mapping) else None
    known = _ROLES.get(role, role) if isinstance(role, str) or role is None else role
    return {"role": known or "user", "parts": tuple(_part(one, memo) for one in _parts(content))}


def _part(part: Value, memo: Memo) -> Value:
    if isinstance(part, Mapping):
        part = {name: one for name, one in part.items() if name not in ("thoughtSignature", "thought_signature")}
    made = normal.part(part, memo)
    if isinstance(made, Mapping) and made.get("type") == "tool_call":
        return {"arguments": {}, **made}  # a call without arguments leaves them out
    return made


def _params(body: Mapping[str, Value]) -> dict[str, Value]:
    config = _get(body, "generationConfig")
    given = config if isinstance(config, Mapping) else {}
    params = {_CONFIG.get(snake(name), snake(name)): one for name, one in given.items()}
    params |= {snake(name): one for name, one in body.items() if name not in _NO_PARAMS and snake(name) not in _SNAKES}
    kind = params.get("response_mime_type")
    if isinstance(kind, str):
        params["output_type"] = _OUTPUT.get(kind, kind)
    return {name: one for name, one in params.items() if one is not None}


_SNAKES: Final = frozenset(snake(name) for name in _NO_PARAMS)


def _definitions(tools: Value, memo: Memo) -> Iterator[Value]:
    """Yield the functions of each tool, then what of it runs at the provider, as the record has it."""
    for tool in tools if isinstance(tools, tuple) else ():
        if not isinstance(tool, Mapping):
            continue
        declared = _get(tool, "functionDeclarations")
        for one in declared if isinstance(declared, tuple) else ():
            if isinstance(one, Mapping):
                schema = _get(one, "parametersJsonSchema")
                rest = {key: value for key, value in one.items() if snake(key) != "parameters_json_schema"}
                made: Value = {"type": "function", "parameters": schema, **rest}
                yield normal.definitions((_worded(made),), memo)[0]
        for name in tool:
            if snake(name) != "function_declarations":
                yield {"type": snake(name), "name": snake(name)}


def _worded(schema: Value) -> Value:
    """Return a declaration with its types as words: clients made of the API's protobufs send numbers for them."""
    if isinstance(schema, Mapping):
        return {
            name: _TYPES[one] if name == "type" and type(one) is int and 0 <= one < len(_TYPES) else _worded(one)
            for name, one in schema.items()
        }
    return tuple(map(_worded, schema)) if isinstance(schema, tuple) else schema


_TYPES: Final = ("TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")


def gaps(request: ModelRequest, answer: Answer) -> Iterator[str]:
    """Yield what the request asked for and no record holds."""
    if request.params.get("response_logprobs") is True:
        yield "logprobs"
    wanted, given = request.params.get("n"), len(answers.said(answer).messages)
    if isinstance(wanted, int) and not isinstance(answer, Raised) and wanted > given:
        yield f"{wanted} answers, of which {given} are recorded"
    hosted = [str(one.get("type")) for one in request.tool_definitions if isinstance(one, Mapping)]
    hosted = sorted({kind for kind in hosted if kind != "function"})
    if hosted:
        yield f"what {', '.join(hosted)} found"


# --- answers ----------------------------------------------------------------------------------------------------------

# The API's word for the conventions' one; its own words are recorded in lower case.
_FINISH: Final = {"length": "MAX_TOKENS", "tool_call": "STOP", "content_filter": "SAFETY"}


def render(request: ModelRequest, answer: Answer) -> HttpResponse:
    """Write a recorded answer as the API's own response, as a stream where the method asks for one.

    Raises ConnectionError or TimeoutError where the recorded call got no response at all.
    """
    if isinstance(answer, Raised):
        if request.stream and broke_off(answer):
            return _streamed(request, _chunks(answers.said(answer), ended=False), lost=True)
        return failure(answer, error)
    said = answers.said(answer)
    if not request.stream:
        return HttpResponse(200, (answers.JSON,), dump(_whole(said)))
    ended = not (isinstance(answer, Streamed) and answer.interrupted)
    return _streamed(request, _chunks(said, ended), lost=False)


def _streamed(request: ModelRequest, chunks: Iterator[dict[str, Any]], *, lost: bool) -> HttpResponse:
    """Write chunks as events, or as the pieces of one JSON array where events were not asked for."""
    if request.body.get(_AS_EVENTS) is True:
        events = (sse.event(dump(chunk), end=b"\r\n\r\n") for chunk in chunks)
        return HttpResponse(200, (("content-type", "text/event-stream"),), then_lost(events) if lost else events)
    pieces = _array(chunks)
    return HttpResponse(200, (answers.JSON,), then_lost(pieces) if lost else pieces)


def _array(chunks: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    before = b"["
    for chunk in chunks:
        yield before + dump(chunk)
        before = b",\r\n"
    yield b"]" if before != b"[" else b"[]"


def _whole(said: Said) -> dict[str, Any]:
    candidates = [
        _candidate(index, [_written(part, place) for place, part in enumerate(answers.parts_of(message))], said)
        for index, message in enumerate(said.messages)
    ]
    return {"candidates": candidates, **_about(said)}


def _candidate(index: int, parts: list[dict[str, Any]], said: Said | None = None) -> dict[str, Any]:
    out: dict[str, Any] = {"content": {"role": "model", "parts": [part for part in parts if part]}, "index": index}
    if said is not None:
        reason = said.reason(index) or "stop"
        out["finishReason"] = _FINISH.get(reason) or reason.upper()
    return out


def _about(said: Said) -> dict[str, Any]:
    about: dict[str, Any] = {"modelVersion": said.model}
    if said.response_id:
        about["responseId"] = said.response_id
    if said.usage is not None:
        about["usageMetadata"] = _usage(said.usage)
    return about


def _usage(usage: answers.Usage) -> dict[str, Any]:
    """Return tokens as the API counts them: thoughts are not among those of the candidates."""
    thoughts = usage.reasoning or 0
    out: dict[str, Any] = {
        "promptTokenCount": usage.read,
        "candidatesTokenCount": max(0, usage.written - thoughts),
        "totalTokenCount": usage.read + usage.written,
    }
    if usage.cache_read is not None:
        out["cachedContentTokenCount"] = usage.cache_read
    if usage.reasoning is not None:
        out["thoughtsTokenCount"] = thoughts
    return out


def _written(part: Part, place: int) -> dict[str, Any]:
    """Return a part as the API has it; {} for one that it has no word for."""
    kind = part.get("type")
    if kind in ("text", "refusal"):
        return {"text": text_of(part)}
    if kind == "reasoning":
        return {"text": text_of(part), "thought": True}
    if kind == "tool_call":
        call: dict[str, Any] = {"name": part.get("name"), "args": answers.arguments_object(part)}
        if part.get("id") and not is_made_up(part.get("id"), part.get("name"), place):
            call["id"] = part["id"]
        return {"functionCall": call}
    if kind == "blob":
        return {"inlineData": {"mimeType": part.get("mime_type") or "", "data": part.get("content")}}
    if kind == "uri":
        return {"fileData": {"mimeType": part.get("mime_type") or "", "fileUri": part.get("uri")}}
    return {}


def is_made_up(call_id: Value, name: Value, place: int) -> bool:
    """Say whether an id is what an instrumentation puts where the API gave none: the name and the part's place."""
    return call_id == f"{name!s}_{place}"


def _chunks(said: Said, ended: bool) -> Iterator[dict[str, Any]]:
    """Cut an answer into chunks: texts in pieces, everything else whole, how it ended with the last one."""
    about = {name: one for name, one in _about(said).items() if name != "usageMetadata"}
    for index, message in enumerate(said.messages):
        parts = enumerate(answers.parts_of(message))
        pieces = [[_written(piece, place)] for place, part in parts for piece in _pieces(part)] or [[]]
        for piece in pieces[:-1]:
            yield {"candidates": [_candidate(index, piece)], **about}
        whole = ended and index == len(said.messages) - 1
        last = _candidate(index, pieces[-1], said if ended else None)
        yield {"candidates": [last], **(_about(said) if whole else about)}


def _pieces(part: Part) -> Iterator[Part]:
    if part.get("type") in ("text", "reasoning", "refusal"):
        return ({**part, "content": piece} for piece in sse.pieces(text_of(part)))
    return iter((part,))


# --- errors -----------------------------------------------------------------------------------------------------------

_STATUS: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def error(status: int, message: str, code: str | None = None) -> HttpResponse:
    """Write an error as the API does; `code` stands before the message, the API has no other place for it."""
    said = f"{code}: {message}" if code else message
    body = {"error": {"code": status, "message": said, "status": _STATUS.get(status, "UNKNOWN")}}
    return HttpResponse(status, (answers.JSON,), dump(literal_of(message) or body))
