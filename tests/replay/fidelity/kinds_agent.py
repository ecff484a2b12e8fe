"""An agent with one tool of each kind, on the OpenAI SDK; its arguments are the cases to go through. Knows no RunReel.

It prints what its code sees of each answer and of each tool, as JSON lines: a replay must print the same.
"""

import asyncio
import base64
import hashlib
import json
import os
import subprocess
import sys
import threading

import telemetry
from openai import AsyncOpenAI, OpenAI
from opentelemetry import context, trace
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

tracer = trace.get_tracer("kinds")


def ran():
    with open(os.environ["TOOL_CALLS"], "a", encoding="utf-8") as calls:
        calls.write("ran\n")


def show(*seen):
    print(json.dumps(seen, default=str), flush=True)


class QuotaError(RuntimeError):
    def __init__(self, used, limit):
        super().__init__(f"used {used} of {limit}")


class Refused(Exception):
    """An error with no constructor of its own."""


# --- the tools --------------------------------------------------------------------------------------------------------


def plain(n, unit="c"):
    ran()
    return {"n": n, "items": [1, 2.5, None, True], "unit": unit}


async def later(n):
    ran()
    await asyncio.sleep(0.01)
    return {"n": n}


def pieces(n):
    ran()
    for number in range(n):
        yield {"number": number}


async def pieces_later(n):
    ran()
    for number in range(n):
        await asyncio.sleep(0)
        yield {"number": number}


def failing(n):
    ran()
    if n == 1:
        raise QuotaError(7, 5)
    if n == 2:
        raise KeyError("missing")
    try:
        raise OSError(2, "No such file", "a.txt")
    except OSError as error:
        raise Refused("not today") from error


def octets(n) -> bytes:
    ran()
    return b"\x89PNG\r\n\x00\xff" * n


def picture(n):
    ran()
    data = base64.b64encode(b"\x89PNG\r\n" + bytes(range(256)) * n).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def large(n) -> str:
    ran()
    return "".join(f"line {number}: the quick brown fox\n" for number in range(n))


TOOLS = {tool.__name__: tool for tool in (plain, later, pieces, pieces_later, failing, octets, picture, large)}
ABOUT = {"type": "object", "properties": {"n": {"type": "integer"}}}
SCHEMAS = [{"type": "function", "function": {"name": name, "parameters": ABOUT}} for name in TOOLS]


# --- the loop ---------------------------------------------------------------------------------------------------------


def spanned(call):
    about = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.function.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.call.arguments": call.function.arguments,
    }
    return tracer.start_as_current_span(f"execute_tool {call.function.name}", attributes=about)


def recorded(span, result):
    """Put the result on the span as its author sees fit: bytes as bytes, the rest as JSON; return what a model gets."""
    value = result if isinstance(result, (bytes, str)) else json.dumps(result)
    span.set_attribute("gen_ai.tool.call.result", value)
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def use(call):
    tool, given = TOOLS[call.function.name], json.loads(call.function.arguments)
    try:
        with spanned(call) as span:
            result = tool(**given)
            if tool is pieces:
                result = list(result)
            seen = recorded(span, result)
        show(call.function.name, type(result).__name__, len(seen), hashlib.sha256(seen.encode()).hexdigest())
    except Exception as error:
        cause = error.__cause__
        seen = f"{type(error).__name__}: {error}"
        show(seen, [str(one) for one in error.args], type(error) is QuotaError, type(cause).__name__, str(cause))
    return seen


async def use_later(call):
    tool, given = TOOLS[call.function.name], json.loads(call.function.arguments)
    with spanned(call) as span:
        result = [item async for item in tool(**given)] if tool is pieces_later else await tool(**given)
        seen = recorded(span, result)
    show(call.function.name, type(result).__name__, result)
    return seen


def request(messages, **more):
    return {"model": "gpt-4o-mini", "messages": messages, "tools": SCHEMAS, "temperature": 0, **more}


def opening(case):
    text = f"[scenario:{case}] Go on."
    if case != "images":
        return [{"role": "user", "content": text}]
    pixel = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x00" + bytes(range(256))).decode()
    parts = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": pixel}}]
    return [{"role": "user", "content": parts}]


def turn(messages, message, results):
    messages.append(message.model_dump(exclude_none=True))
    for call, content in zip(message.tool_calls, results, strict=True):
        messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def sync_loop(case):
    client, messages = OpenAI(), opening(case)
    while True:
        message = client.chat.completions.create(**request(messages)).choices[0].message
        show(message.content, len(message.tool_calls or ()))
        if not message.tool_calls:
            return
        turn(messages, message, [use(call) for call in message.tool_calls])


async def async_loop(case):
    client, messages = AsyncOpenAI(), opening(case)
    while True:
        message = (await client.chat.completions.create(**request(messages))).choices[0].message
        show(message.content, len(message.tool_calls or ()))
        if not message.tool_calls:
            return
        turn(messages, message, await asyncio.gather(*map(use_later, message.tool_calls)))


def stream_left_early(case):
    client, messages = OpenAI(), opening(case)
    heard = ""
    with client.chat.completions.create(**request(messages, stream=True)) as chunks:
        for chunk in chunks:
            heard += chunk.choices[0].delta.content or ""
            if len(heard) > 20:
                break
    show(heard)
    messages.append({"role": "user", "content": "Stop. In one word?"})
    show(client.chat.completions.create(**request(messages)).choices[0].message.content)


def raw_threads(_):
    """Threads that are at work together, each with model calls and a tool call of its own, under one span."""
    here = context.get_current()
    seen = {}
    together = threading.Barrier(4)

    def work(number):
        token = context.attach(here)
        try:
            together.wait(30)  # else the first may be done before the last begins, which says that it came before
            client = OpenAI()
            messages = [{"role": "user", "content": f"[scenario:threads] Number {number}."}]
            message = client.chat.completions.create(**request(messages)).choices[0].message
            turn(messages, message, [use_quietly(call) for call in message.tool_calls])
            seen[number] = client.chat.completions.create(**request(messages)).choices[0].message.content
        finally:
            context.detach(token)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    show(sorted(seen.items()))


def use_quietly(call):
    with spanned(call) as span:
        return recorded(span, TOOLS[call.function.name](**json.loads(call.function.arguments)))


def sub_agent(_):
    from opentelemetry.propagate import inject

    carrier = {}
    inject(carrier)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sub_agent.py")
    environment = {**os.environ, "TRACEPARENT": carrier["traceparent"]}
    done = subprocess.run([sys.executable, script, "Oslo"], env=environment, capture_output=True, text=True, check=True)
    show(done.stdout)
    messages = [{"role": "user", "content": f"[scenario:plain] {done.stdout.strip()}"}]
    show(OpenAI().chat.completions.create(**request(messages)).choices[0].message.content)


CASES = {
    "async": lambda case: asyncio.run(async_loop(case)),
    "asyncgenerator": lambda case: asyncio.run(async_loop(case)),
    "stream": stream_left_early,
    "threads": raw_threads,
    "subprocess": sub_agent,
}

if __name__ == "__main__":
    tracers, loggers = telemetry.set_up("kinds")
    OpenAIInstrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "kinds"}
    with tracer.start_as_current_span("invoke_agent kinds", attributes=about):
        for name in sys.argv[1:]:
            print(f"CASE {name}", flush=True)
            CASES.get(name, sync_loop)(name)
