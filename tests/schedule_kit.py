"""An agent's side of a replay without a process: asks over a real link, as tasks or threads, in an order of a seed."""

import asyncio
import json
import random
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from runreel.canonical import dumps, loads
from runreel.replay.host import Host
from runreel.replay.matching import Matcher
from runreel.replay.protocol import Channel, Frame, Link
from runreel.replay.tape import Tape
from runreel.replay.unifying import Rules
from runreel.semconv.secrets import is_secret


class Agent:
    """The agent's side: asks the model and the tools, over the link."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def model(self, messages: list, **more: Any) -> dict:
        """Ask the model; return its message, or the document of its refusal. `seed=None` leaves the seed out."""
        body = {"model": "gpt-4o-mini", "messages": messages, "temperature": 0, "seed": 7, **more}
        body = {name: value for name, value in body.items() if value is not None}
        head = {"method": "POST", "url": "https://api.example.com/v1/chat/completions", "headers": []}
        reply = self._link.ask(Frame("http", head, json.dumps(body).encode()))
        document = json.loads(reply.body)
        return document["choices"][0]["message"] if reply.get("status") == 200 else document

    def use(self, one: dict, *, with_id: bool = True) -> str:
        """Make a call that a message asked for; return the answer, or what the agent is told of a divergence."""
        function = one["function"]
        return self.ask_tool(function["name"], json.loads(function["arguments"]), one["id"] if with_id else "")

    def ask_tool(self, name: str, arguments: Any, call_id: str = "") -> Any:
        head = {"kind": "tool", "name": name, "call_id": call_id}
        reply = self._link.ask(Frame("call", head, dumps({"arguments": arguments, "defaults": {}}).encode()))
        return loads(reply.body.decode()) if reply.get("how") == "returned" else reply.get("message")


def results(message: dict, contents: list) -> list:
    calls = message["tool_calls"]
    return [
        {"role": "assistant", "content": message["content"], "tool_calls": calls},
        *(
            {"role": "tool", "tool_call_id": one["id"], "content": text}
            for one, text in zip(calls, contents, strict=True)
        ),
    ]


async def in_tasks(agent: Agent, rng: random.Random, prompt: str) -> list:
    """The loop of an agent that makes the calls of a turn as tasks."""
    messages, seen = [{"role": "user", "content": prompt}], []

    async def one_call(one):
        for _ in range(rng.randrange(5)):
            await asyncio.sleep(0)
        return agent.use(one)

    while (message := agent.model(messages)).get("tool_calls"):
        order = rng.sample(message["tool_calls"], k=len(message["tool_calls"]))
        tasks = {one["id"]: asyncio.ensure_future(one_call(one)) for one in order}
        contents = [await tasks[one["id"]] for one in message["tool_calls"]]
        seen.append(contents)
        messages += results(message, contents)
    return [*seen, message.get("content")]


class Turns:
    """Lets threads go on one at a time, in an order that is given."""

    def __init__(self, order: list) -> None:
        self._order, self._at = order, 0
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, number: int) -> Iterator[None]:
        with self._changed:
            assert self._changed.wait_for(lambda: self._order[self._at] == number, 30)
        yield
        with self._changed:
            self._at += 1
            if self._at < len(self._order):
                self._changed.notify_all()


def in_threads(works: list[Callable], rng: random.Random, steps: int) -> list:
    """Run what is given in threads, which take `steps` turns each; return what each came to."""
    order = [number for number in range(len(works)) for _ in range(steps)]
    rng.shuffle(order)
    turns = Turns(order)
    found = [None] * len(works)

    def work(number: int) -> None:
        found[number] = works[number](lambda: turns.turn(number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@contextmanager
def hosted(tape) -> Iterator[tuple[Agent, Matcher]]:
    ours, theirs = socket.socketpair()
    channel, far = Channel(ours.detach()), Channel(theirs.detach())
    matcher = Matcher(tape, Rules(None, is_secret))
    thread = threading.Thread(target=Host(matcher, channel).serve)
    thread.start()
    try:
        yield Agent(Link(far)), matcher
    finally:
        far.close()
        thread.join()
        channel.close()


def outcomes(tape: Tape, run: Callable[..., Any], seeds: Iterable[int]) -> set[tuple[Any, ...]]:
    """Return the different outcomes of all schedules: what the agent saw, and what diverged."""
    found = set()
    for seed in seeds:
        with hosted(tape) as (agent, matcher):
            seen = run(agent, random.Random(seed))
        divergences, not_reached = matcher.finish(stopped=False)
        found.add((json.dumps(seen), tuple((one.type, one.recorded) for one in divergences), not_reached))
    return found
