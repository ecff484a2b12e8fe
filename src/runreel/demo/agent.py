"""A refund desk, the demonstration's agent: one retrieval, two tools (one with a side effect), three model calls.

It is an ordinary program: the OpenAI SDK under OpenTelemetry's instrumentation, and its own tools and retriever behind
`runreel.record`. `--prompt` and `--fee` stand for the two changes that people make most: another prompt, other code.
"""

import argparse
import json
import os
from collections.abc import Callable
from typing import Any

from openai import OpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

import runreel.record as rr

PROMPTS = {
    "v1": "You handle refunds. Look the order up, follow the policy, refund what it allows, then answer the customer.",
    "v2": "You handle refunds. Look the order up, follow the policy to the letter, and never promise a date.",
}
QUESTION = (
    "Hello, this is Dana Fields (dana.fields@example.com, +1 202-555-0143). Order A-1042 arrived broken. "
    "I paid with card 4242 4242 4242 4242. Please refund it."
)
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "lookup_order",
            "description": "Find an order and its customer.",
            "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "refund",
            "description": "Pay money back to the card that was used.",
            "parameters": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}, "cents": {"type": "integer"}},
                "required": ["order_id", "cents"],
            },
        },
    },
]
POLICY = [
    {"id": "kb-17", "score": 0.91, "content": "Broken goods are refunded in full within 30 days of delivery."},
    {"id": "kb-22", "score": 0.42, "content": "Shipping costs are refunded only where the whole order goes back."},
]


@rr.retriever("refund-policy", index_version="2026-10")
def search_policy(query: str) -> list[dict[str, Any]]:
    """Find what the policy says."""
    return [document for document in POLICY if "refund" in query.lower() or document["id"] == "kb-17"]


@rr.tool(version="2")
def lookup_order(order_id: str) -> dict[str, Any]:
    """Find an order and its customer."""
    _really_ran("lookup_order")
    return {
        "order_id": order_id,
        "status": "delivered",
        "total_cents": 4900,
        "customer": {"name": "Dana Fields", "email": "dana.fields@example.com", "ip": "203.0.113.7"},
        "payment_note": "charged with api_key sk-test-51HxFAKE0000000000000000",
    }


@rr.tool(side_effect=True, version="1")
def refund(order_id: str, cents: int) -> dict[str, Any]:
    """Pay money back."""
    _really_ran("refund")
    return {"order_id": order_id, "refunded_cents": cents, "receipt": f"R-{order_id}-{cents}"}


BY_NAME: dict[str, Callable[..., dict[str, Any]]] = {"lookup_order": lookup_order, "refund": refund}


def _really_ran(name: str) -> None:
    """Leave a trace outside of the process, so that the demonstration can show that a replay runs no tool."""
    path = os.environ.get("RUNREEL_DEMO_CALLS")
    if path:
        with open(path, "a", encoding="utf-8") as calls:  # noqa: PTH123  as an agent would write it
            calls.write(name + "\n")


def handle(question: str, prompt: str, fee: int) -> str:
    """Answer one customer."""
    client = OpenAI()
    policy = search_policy(query="refund for broken goods")
    system = PROMPTS[prompt] + "\nPolicy:\n" + "\n".join(document["content"] for document in policy)
    messages: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    while True:
        answer = client.chat.completions.create(
            model="gpt-4o-mini", messages=messages, tools=TOOLS, temperature=0, seed=7
        )
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            if call.type != "function":
                raise RuntimeError(f"a call that is no function call: {call.type}")
            arguments = json.loads(call.function.arguments)
            if call.function.name == "refund":
                arguments["cents"] -= fee
            result = BY_NAME[call.function.name](**arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


def main() -> None:
    """Handle one question, recorded."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--question", default=QUESTION)
    options.add_argument("--prompt", choices=sorted(PROMPTS), default="v1")
    options.add_argument("--fee", type=int, default=0, help="cents to keep: a change in the agent's own code")
    args = options.parse_args()
    rr.configure(agent="refund-desk")
    OpenAIInstrumentor().instrument()
    with rr.run(user_input=args.question, user="u-812"):
        print(handle(args.question, args.prompt, args.fee))


if __name__ == "__main__":
    main()
