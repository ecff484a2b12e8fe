"""An agent written with the recorder, on the OpenAI SDK, one case after the other; it prints what its code sees."""

import asyncio
import base64
import hashlib
import json
import os
import subprocess
import sys
import threading

from openai import AsyncOpenAI, OpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from pydantic import BaseModel

import runreel.record as rr


def ran():
    with open(os.environ["TOOL_CALLS"], "a", encoding="utf-8") as calls:
        calls.write("ran\n")


def show(*seen):
    print(json.dumps(seen, default=str), flush=True)


class QuotaError(RuntimeError):
    def __init__(self, used, limit):
        super().__init__(used, limit)

    def __str__(self):
        return "used {} of {}".format(*self.args)


class Refused(Exception):
    """An error with no constructor of its own."""


class Refund(BaseModel):
    order: str
    cents: int


# --- the tools --------------------------------------------------------------------------------------------------------


@rr.tool
def plain(n, unit="c"):
    ran()
    return {"n": n, "items": [1, 2.5, None, True], "unit": unit}


@rr.tool
async def later(n):
    ran()
    await asyncio.sleep(0.01)
    return {"n": n}


@rr.tool
def pieces(n):
    for number in range(n):
        ran()
        yield {"number": number}


@rr.tool
async def pieces_later(n):
    for number in range(n):
        ran()
        await asyncio.sleep(0)
        yield {"number": number}


@rr.tool
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


@rr.tool
def octets(n) -> bytes:
    ran()
    return b"\x89PNG\r\n\x00\xff" * n


@rr.tool
def picture(n):
    ran()
    data = base64.b64encode(b"\x89PNG\r\n" + bytes(range(256)) * n).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


@rr.tool
def large(n) -> str:
    ran()
    return "".join(f"line {number}: the quick brown fox\n" for number in range(n))


@rr.tool(side_effect=True, contract=Refund)
def refund(order, cents):
    ran()
    return f"{order}: {cents!r}"


@rr.tool(contract={"properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"]})
def counted(n):
    ran()
    return n


def dry(order):
    return f"would cancel {order}"


@rr.tool(side_effect=True, mode="shadow", shadow=dry)
def cancel(order):
    ran()
    raise AssertionError("a tool in shadow mode ran")


@rr.memory("profile", key="user")
def recall(user, depth=1):
    ran()
    return {"language": "en", "depth": depth, "raw": b"\x00\xff"}


@rr.memory("profile", op="upsert", key="user")
def remember(user, facts):
    ran()


@rr.memory("profile")
async def recall_later(user):
    ran()
    return [user, 1.0]


@rr.model("tiny-1", provider="own")
def tiny(messages, temperature=0.0, style=None):
    ran()
    return {"role": "assistant", "content": f"{len(messages)} messages, {style}", "score": 0.5}


@rr.model("tiny-1")
def tiny_stream(prompt):
    for word in ("so", " it", " goes"):
        ran()
        yield word


TOOLS = {tool.__name__: tool for tool in (plain, later, pieces, pieces_later, failing, octets, picture, large)}
ABOUT = {"type": "object", "properties": {"n": {"type": "integer"}}}
SCHEMAS = [{"type": "function", "function": {"name": name, "parameters": ABOUT}} for name in TOOLS]


# --- the loop ---------------------------------------------------------------------------------------------------------


def use(call):
    tool, given = TOOLS[call.function.name], json.loads(call.function.arguments)
    try:
        with rr.calling(call.id):
            result = tool(**given)
            if tool is pieces:
                result = list(result)
    except Exception as error:
        cause = error.__cause__
        seen = f"{type(error).__name__}: {error}"
        show(seen, error.args, type(error) is QuotaError, type(cause).__name__, str(cause))
        return seen
    seen = base64.b64encode(result).decode() if isinstance(result, bytes) else json.dumps(result)
    show(call.function.name, type(result).__name__, len(seen), hashlib.sha256(seen.encode()).hexdigest())
    return seen


async def use_later(call):
    tool, given = TOOLS[call.function.name], json.loads(call.function.arguments)
    with rr.calling(call.id):
        result = [item async for item in tool(**given)] if tool is pieces_later else await tool(**given)
    show(call.function.name, type(result).__name__, result)
    return json.dumps(result)


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


def use_quietly(call):
    with rr.calling(call.id):
        return json.dumps(TOOLS[call.function.name](**json.loads(call.function.arguments)))


def threads(_):
    seen, together = {}, threading.Barrier(4)

    def work(number):
        messages = [{"role": "user", "content": f"[scenario:threads] Number {number}."}]
        client = OpenAI()
        together.wait()
        message = client.chat.completions.create(**request(messages)).choices[0].message
        together.wait()
        turn(messages, message, [use_quietly(call) for call in message.tool_calls])
        seen[number] = client.chat.completions.create(**request(messages)).choices[0].message.content

    started = [threading.Thread(target=rr.carry(work), args=(number,)) for number in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    show(sorted(seen.items()))


def other_process(_):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "matrix_agent.py")
    command = [sys.executable, script, "--sub"]
    done = subprocess.run(command, env=rr.environment(), capture_output=True, text=True, check=True)
    show(done.stdout)


def sub_agent():
    with rr.run(user_input="[scenario:sync] Go on.") as run:
        sync_loop("sync")
        run.answer("done")
        show(str(run.uuid()), run.random.random())


# --- what the recorder adds -------------------------------------------------------------------------------------------


def contracts(_):
    show(refund("A-1", 4900), refund(order="A-2", cents="50"), counted("3"), counted(3.0))
    for tool, given in ((refund, ("A-3", "many")), (counted, (-1,)), (counted, ("x",))):
        try:
            tool(*given)
        except rr.ContractError as error:
            show(type(error).__name__, str(error))


def shadow(_):
    show(cancel("A-1"))


def memories(_):
    show(recall("u-1"), recall("u-1", depth=2), remember("u-1", {"language": "de"}), recall("u-1"))
    show(asyncio.run(recall_later("u-2")))


def environment_of(name):
    ran()
    return os.environ[name]


def flags(_):
    show(rr.flag("beta", lambda: environment_of("BETA")), rr.flag("limit", 7), rr.flag("tiers", ["a", {"b": 1.5}]))


def prompts(_):
    show(rr.prompt("planner", lambda: (f"Plan: {environment_of('PLAN')}", environment_of("PLAN"))))
    show(rr.prompt("critic", "Be short."))


def decisions(case):
    with rr.agent("router") as router, rr.run() as inner:
        show(str(router.uuid()), str(inner.uuid()), inner.random.random())
        show(rr.decide("route", "refund" if case else "ask", options=["refund", "ask"], reason="it was paid"))


def models(_):
    show(tiny("hello"), tiny([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], 0.5, style="terse"))
    show(list(tiny_stream("go")))


def drawn(_, run):
    show(str(run.uuid()), run.random.random(), run.now().year)


CASES = {
    "async": lambda case: asyncio.run(async_loop(case)),
    "asyncgenerator": lambda case: asyncio.run(async_loop(case)),
    "stream": stream_left_early,
    "threads": threads,
    "subprocess": other_process,
    "contracts": contracts,
    "shadow": shadow,
    "memories": memories,
    "flags": flags,
    "prompts": prompts,
    "decisions": decisions,
    "models": models,
}

if __name__ == "__main__":
    rr.configure(agent="matrix", code_version="abc1234")
    OpenAIInstrumentor().instrument()
    if sys.argv[1:] == ["--sub"]:
        sub_agent()
        sys.exit()
    with rr.run(user_input="Everything.") as main:
        for name in sys.argv[1:]:
            print(f"CASE {name}", flush=True)
            CASES.get(name, sync_loop)(name)
        print("CASE drawn", flush=True)
        drawn("drawn", main)
