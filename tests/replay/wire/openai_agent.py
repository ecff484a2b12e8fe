"""Code of an imaginary agent on the OpenAI SDK, with no socket: prints what the SDK made of recorded answers, by case.

Run by test_openai_chat.py in a process of its own: the transports stay patched until it ends.
"""

import asyncio
import json
import sys

from runreel.replay import transports, wire
from runreel.replay.values import Raised, Returned, Streamed

FORBIDDEN = {"socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo"}
MODEL, USER = "gpt-4o-mini", [{"role": "user", "content": "hello"}]
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
FIELDS = {
    "model": "gpt-4o-mini-2024-07-18",
    "response_id": "chatcmpl-1",
    "usage": {"input_tokens": 30, "output_tokens": 12, "cache_read": 10, "reasoning": 4},
    "finish_reasons": ("tool_calls",),
    "created_ns": 1_767_225_600 * 10**9,
    "tool_call_texts": ('{"city": "Lis\\u00e9"}', '{"city": "Os'),
}
CALLS = {
    "role": "assistant",
    "parts": (
        {"type": "reasoning", "content": "Think first."},
        {"type": "text", "content": "Let me check that ❄️."},
        {"type": "tool_call", "id": "call_1", "name": "get_weather", "arguments": {"city": "Lisé"}},
        {"type": "tool_call", "id": "call_2", "name": "get_weather", "arguments": '{"city": "Os'},
    ),
    "finish_reason": "tool_call",
}
TEXT = {"role": "assistant", "parts": ({"type": "text", "content": "Understood."},), "finish_reason": "stop"}
TOLD = {"asked": [], "answers": []}


def no_sockets(event, args):
    if event in FORBIDDEN:
        raise PermissionError(event)


def handler(request):
    def ask(asked):
        TOLD["asked"].append(asked)
        return TOLD["answers"].pop(0)

    return wire.respond(request, ask)


def client(**options):
    from openai import OpenAI

    return OpenAI(api_key="none", base_url="https://gateway.example.com/openai/deployments/x", **options)


def create(answer, **options):
    TOLD["answers"] = [answer]
    return client().chat.completions.create(model=MODEL, messages=USER, tools=TOOLS, **options)


def message(choice):
    made = choice.message
    calls = [[call.id, call.type, call.function.name, call.function.arguments] for call in made.tool_calls or []]
    return [made.role, made.content, calls, getattr(made, "reasoning_content", None), choice.finish_reason]


def plain():
    got = create(Returned((CALLS,), FIELDS))
    second = create(Returned((TEXT, TEXT), {**FIELDS, "finish_reasons": ()}), n=2)
    usage = got.usage
    return {
        "type": type(got).__name__,
        "head": [got.id, got.model, got.created, got.object],
        "message": message(got.choices[0]),
        "usage": [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens],
        "details": [usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens],
        "two": [message(choice) for choice in second.choices],
    }


def gathered(chunks):
    text, reasoning, calls, finish, usage = "", "", {}, None, None
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reasoning += getattr(choice.delta, "reasoning_content", None) or ""
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or []:
                kept = calls.setdefault(call.index, [call.id, call.function.name, ""])
                kept[2] += call.function.arguments or ""
    total = usage and usage.total_tokens
    return {"text": text, "reasoning": reasoning, "calls": list(calls.values()), "finish": finish, "total": total}


def stream():
    counted = {"stream": True, "stream_options": {"include_usage": True}}
    with client() as made:
        TOLD["answers"] = [Streamed((CALLS,), FIELDS)]
        with made.chat.completions.stream(model=MODEL, messages=USER, tools=TOOLS) as events:
            helper = message(events.get_final_completion().choices[0]) if list(events) else None
    left = create(Streamed((CALLS,), FIELDS), stream=True)
    first = next(iter(left)).choices[0].delta.role
    left.close()
    return {
        "counted": gathered(create(Streamed((CALLS,), FIELDS), **counted)),
        "uncounted": gathered(create(Returned((CALLS,), FIELDS), stream=True)),
        "abandoned": gathered(create(Streamed((CALLS,), FIELDS, interrupted=True), **counted)),
        "helper": helper,
        "first": first,
    }


def asynchronous():
    from openai import AsyncOpenAI

    async def main():
        async with AsyncOpenAI(api_key="none") as made:
            TOLD["answers"] = [Returned((TEXT,), FIELDS), Streamed((CALLS,), FIELDS)]
            whole = await made.chat.completions.create(model=MODEL, messages=USER)
            chunks = await made.chat.completions.create(model=MODEL, messages=USER, stream=True)
            return [whole.choices[0].message.content, gathered([chunk async for chunk in chunks])["text"]]

    return asyncio.run(main())


def raised(answer, **options):
    before = len(TOLD["asked"])
    got = []
    try:
        TOLD["answers"] = [answer] * 3
        made = client(max_retries=2).chat.completions.create(model=MODEL, messages=USER, **options)
        got.extend(chunk.choices[0].delta.content or "" for chunk in made)
    except Exception as error:
        return [type(error).__name__, str(error), len(TOLD["asked"]) - before, "".join(got)]
    return None


def errors():
    partial = {"partial": (TEXT,)}
    return {
        "status": raised(Raised("openai.NotFoundError", "Error code: 404 - no such model")),
        "body": raised(Raised("RateLimitError", "Error code: 429 - {'error': {'message': 'slow down', 'code': 'r'}}")),
        "class": raised(Raised("openai.BadRequestError", "too long")),
        "field": raised(Raised("ValueError", "teapot", {"status": 418})),
        "broken": raised(Raised("openai.APIConnectionError", "Connection error.", partial), stream=True),
    }


def unanswered():
    """The SDK retries what got no answer at all: its pauses are cut short here."""
    import openai._base_client as base

    base.SyncAPIClient._sleep_for_retry = lambda *args, **kwargs: None
    return {
        "lost": raised(Raised("openai.APIConnectionError", "Connection error.")),
        "late": raised(Raised("openai.APITimeoutError", "Request timed out.")),
    }


def refused():
    def refuse(request):
        asked = wire.parse(request)
        TOLD["asked"].append(asked)
        return wire.refuse(asked, "not recorded: the prompt changed", "unrecorded_call")

    transports.install(refuse)
    return raised(None)


if __name__ == "__main__":
    sys.addaudithook(no_sockets)
    transports.install(handler)
    # The last two leave something patched.
    cases = (plain, stream, asynchronous, errors, unanswered, refused)
    print(json.dumps({case.__name__: case() for case in cases}))
