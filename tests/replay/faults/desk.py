"""A refund desk: two retrievals, a decision, three model calls, two calls at once, a side effect, and a poll.

The OpenAI SDK under an instrumentation, tools and retrievers behind the recorder, a decision and a flag as plain spans.
Faults are edits of this text: see fault_table.py.
"""

import json
from concurrent.futures import ThreadPoolExecutor

import desk_world as world
from openai import OpenAI
from opentelemetry import context, trace
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

import runreel.record as rr

MODEL = "gpt-4o-mini"
PARAMS = {"temperature": 0, "seed": 7, "max_tokens": 256}
SYSTEM = "You handle refunds for the café. Look the order up, follow the policy, then answer."
QUESTION = "Hello, this is Dana Fields (dana.fields@example.com). Order A-1042 arrived broken. [scenario:desk]"
IMAGE = None
TOP_K = 3
REGION = "eu"
POLLS = 5


def schema(name, description, required, **properties):
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    schema(
        "lookup_order",
        "Find an order.",
        ["order_id"],
        order_id={"type": "string"},
        region={"type": "string", "enum": ["eu", "us"], "default": "eu"},
    ),
    schema("lookup_customer", "Find a customer by e-mail address.", ["email"], email={"type": "string"}),
    schema(
        "refund",
        "Pay money back to the card that was used.",
        ["order_id", "cents"],
        order_id={"type": "string"},
        cents={"type": "integer"},
        lines={"type": "array", "items": {"type": "object"}},
        notify={"type": "boolean"},
    ),
]


@rr.retriever("policy", index_version="2026-10")
def search_policy(query, top_k=10, **filters):
    world.ran("policy")
    return world.DOCUMENTS[:top_k]


@rr.retriever("notices")
def search_notices(query):
    world.ran("notices")
    return [world.NOTICE]


@rr.tool(version="2")
def lookup_order(order_id, region="us"):
    world.ran("lookup_order")
    return dict(world.ORDER)


@rr.tool
def lookup_customer(email):
    world.ran("lookup_customer")
    return dict(world.CUSTOMER)


@rr.tool(side_effect=True)
def refund(order_id, cents, lines=(), notify=False, currency="EUR"):
    world.ran("refund")
    return dict(world.RECEIPT)


@rr.tool
def refund_v2(order_id, cents, lines=(), notify=False):
    world.ran("refund")
    return dict(world.RECEIPT)


_states = iter(world.STATES)


@rr.tool
def payment_state(receipt):
    world.ran("payment_state")
    return next(_states)


BY_NAME = {"lookup_order": lookup_order, "lookup_customer": lookup_customer, "refund": refund}


def ask(client, messages, **more):
    answer = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS, **{**PARAMS, **more})
    return answer.choices[0].message


def told(message):
    return message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"})


def use(call):
    arguments = json.loads(call.function.arguments)
    with rr.calling(call.id):
        result = BY_NAME[call.function.name](**arguments)
    return {"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)}


def decide(name, chosen, options):
    about = {
        "replay.kind": "decision",
        "replay.decision.type": "route",
        "replay.decision.chosen": chosen,
        "replay.decision.options": json.dumps(options),
    }
    with trace.get_tracer("desk").start_as_current_span(name, attributes=about):
        return chosen


def flag(name, value):
    trace.get_current_span().set_attribute(f"replay.flag.{name}", value)
    return value


def at_once(calls):
    here = context.get_current()

    def one(call):
        token = context.attach(here)
        try:
            return use(call)
        finally:
            context.detach(token)

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(one, calls))


def opening(documents):
    policy = "\n".join(document["content"] for document in documents)
    text = f"{QUESTION}\n\nPolicy:\n{policy}"
    user = (
        text if IMAGE is None else [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": IMAGE}}]
    )
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}]


def work():
    client = OpenAI()
    flag("fast-refunds", True)
    documents = search_policy("refund for broken goods", top_k=TOP_K)
    messages = opening(documents)
    # turn 1
    message = ask(client, messages)
    messages.append(told(message))
    messages += at_once(message.tool_calls)
    # turn 2
    message = ask(client, messages)
    messages.append(told(message))
    route = decide("route", "refund", ["refund", "escalate"])
    for call in message.tool_calls:
        messages.append(use(call))
    # the payment
    for _ in range(POLLS):
        if payment_state("R-1042") == "done":
            break
    # turn 3
    message = ask(client, messages)
    notice = search_notices("refund times")
    return f"{message.content} {notice[0]} ({route})"


def main():
    rr.configure(agent="desk")
    OpenAIInstrumentor().instrument()
    with rr.run(user_input=QUESTION) as run:
        text = work()
        run.answer(text)


if __name__ == "__main__":
    main()
