"""A refund desk whose bug is in its own code, after the last model call: its receipt takes cents for dollars."""

import json
from typing import Any

from openai import OpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

import runreel.record as rr

QUESTION = "Order A-1042 arrived broken. Please refund it."
PROMPT = "You handle refunds. Look the order up, refund what it cost, then answer the customer."


def described(name: str, **properties: str) -> Any:
    parameters = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": sorted(properties),
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [described("lookup_order", order_id="string"), described("refund", order_id="string", cents="integer")]


@rr.tool(side_effect=False)
def lookup_order(order_id: str) -> dict[str, Any]:
    return {"order_id": order_id, "status": "delivered", "total_cents": 4900}


@rr.tool(side_effect=True)
def refund(order_id: str, cents: int) -> dict[str, Any]:
    return {"order_id": order_id, "refunded_cents": cents, "receipt": f"R-{order_id}"}


BY_NAME = {"lookup_order": lookup_order, "refund": refund}


def receipt(refunds: list[dict[str, Any]]) -> str:
    """Write the lines below the answer."""
    return "\n".join(f"{one['receipt']}: ${one['refunded_cents']:.2f}" for one in refunds)


def handle(question: str) -> str:
    client, refunds = OpenAI(), []
    messages: list[Any] = [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]
    while True:
        answer = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=TOOLS, temperature=0)
        message = answer.choices[0].message
        if not message.tool_calls:
            return f"{message.content}\n\n{receipt(refunds)}"
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = BY_NAME[call.function.name](**json.loads(call.function.arguments))
            if call.function.name == "refund":
                refunds.append(result)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


if __name__ == "__main__":
    rr.configure(agent="refund-desk")
    OpenAIInstrumentor().instrument()
    with rr.run(user_input=QUESTION) as run:
        text = handle(QUESTION)
        run.answer(text)
    print(text)
