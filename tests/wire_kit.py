"""Ask the wire in an API's own words, and read what it writes: whole bodies, and streams event by event."""

import json

from runreel.replay.values import Raised, Returned, Streamed
from runreel.replay.wire import HttpRequest, parse, render

URLS = {
    "openai.chat": "https://models.example.com/v1/chat/completions",
    "openai.responses": "https://models.example.com/v1/responses",
    "anthropic.messages": "https://models.example.com/v1/messages?beta=true",
    "gemini": "https://models.example.com/v1beta/models/gemini-2.5-flash:generateContent",
    "gemini stream": "https://models.example.com/v1/publishers/google/models/g:streamGenerateContent?alt=sse",
    "gemini array": "https://models.example.com/v1/publishers/google/models/g:streamGenerateContent",
}
BODIES = {
    "openai.chat": {"model": "m", "messages": []},
    "openai.responses": {"model": "m", "input": "q"},
    "anthropic.messages": {"model": "m", "max_tokens": 9, "messages": []},
    "gemini": {"contents": []},
}


def asked(api, **body):
    base = BODIES[api.partition(" ")[0]]
    found = parse(HttpRequest("POST", URLS[api], (), json.dumps({**base, **body}).encode()))
    assert found is not None
    return found


def part(kind, content=None, **rest):
    return {"type": kind, **({} if content is None else {"content": content}), **rest}


def message(*parts, finish="stop"):
    return {"role": "assistant", "parts": parts, "finish_reason": finish}


def returned(*messages, **fields):
    return Returned(messages, {"created_ns": 10**9, **fields})


def streamed(*messages, interrupted=False, **fields):
    return Streamed(messages, {"created_ns": 10**9, **fields}, interrupted)


def whole(api, answer, **body):
    response = render(asked(api, **body), answer)
    return response.status, json.loads(response.body)


def events(api, answer, **body):
    """Return the events of a stream as (name, data), and the error that it broke off with, if it did."""
    response = render(asked(api, **body), answer)
    chunks, broken = [], None
    try:
        chunks.extend(response.body)
    except (ConnectionError, TimeoutError) as error:
        broken = type(error).__name__
    out = []
    for block in b"".join(chunks).replace(b"\r\n", b"\n").decode().strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        if fields:
            data = fields["data"]
            out.append((fields.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return out, broken


def failed(type_, text="", **fields):
    return Raised(type_, text, {"created_ns": 10**9, **fields})
