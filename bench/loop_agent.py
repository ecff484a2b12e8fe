"""An agent for the bench: the OpenAI SDK under its instrumentation, and one tool of its own.

With BENCH_INSTANT_MODEL it brings a model that answers at once, in its own process: what is left is the agent itself.
With `--window` it forgets old turns, so that a step of a long run is no larger than one of a short run. With `--plain`
no recorder is in it: OpenTelemetry's SDK as one sets it up, and a span around the tool with what it took and gave.
"""

import argparse
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx2
from openai import OpenAI
from opentelemetry import trace
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

INSTANT = "BENCH_INSTANT_MODEL"
MODEL = "gpt-4o-mini"
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "read_page",
            "description": "Read one page of the report.",
            "parameters": {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]},
        },
    }
]


def read_page(page: int) -> dict[str, Any]:
    """Return a page of about two kilobytes."""
    lines = [
        f"{page}.{line} the quarter's figures for region {line * 7 % 13} are in line with the plan"
        for line in range(28)
    ]
    return {"page": page, "text": "\n".join(lines)}


class InstantModel(httpx2.BaseTransport):
    """A model that asks for one page after the other, and is done after `steps` answers."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        messages: Sequence[Mapping[str, Any]] = json.loads(request.read())["messages"]
        results = [json.loads(message["content"]) for message in messages if message["role"] == "tool"]
        turn = 1 + (results[-1]["page"] if results else 0)
        return httpx2.Response(200, json=_completion(turn, last=turn >= self._steps))


def _completion(turn: int, *, last: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "The report is in line with the plan." if last else None}
    if not last:
        arguments = json.dumps({"page": turn})
        function = {"name": "read_page", "arguments": arguments}
        message["tool_calls"] = [{"id": f"call_{turn}", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if last else "tool_calls", "logprobs": None}
    usage = {"prompt_tokens": 100 * turn, "completion_tokens": 20, "total_tokens": 100 * turn + 20}
    return {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion",
        "created": 1_764_000_000,
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    }


def work(question: str, tool: Callable[..., Any], steps: int, window: int) -> str:
    """Read the report page by page; the model is told the last `window` turns, 0: all of them."""
    client = OpenAI(
        api_key="no-key-needed",
        base_url="http://model.invalid/v1",
        http_client=httpx2.Client(transport=InstantModel(steps)) if INSTANT in os.environ else None,
    )
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        told = [messages[0], *messages[1:][-2 * window :]] if window else messages
        answer = client.chat.completions.create(model=MODEL, messages=told, tools=TOOLS, temperature=0)
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            if call.type != "function":
                raise RuntimeError(f"a call that is no function call: {call.type}")
            result = tool(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


def recorded(question: str, steps: int, window: int) -> None:
    """Answer one question, recorded by RunReel."""
    import runreel.record as rr

    rr.configure(agent="report-reader")
    OpenAIInstrumentor().instrument()
    with rr.run(user_input=question) as run:
        run.answer(work(question, rr.tool(version="1")(read_page), steps, window))


def plain(question: str, steps: int, window: int) -> None:
    """Answer one question under plain OpenTelemetry."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": "report-reader"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    OpenAIInstrumentor().instrument()
    tracer = trace.get_tracer("report-reader")

    def tool(**arguments: Any) -> Any:
        with tracer.start_as_current_span("execute_tool read_page") as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", "read_page")
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps(arguments))
            result = read_page(**arguments)
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        return result

    with tracer.start_as_current_span("invoke_agent report-reader") as span:
        span.set_attribute("gen_ai.operation.name", "invoke_agent")
        work(question, tool, steps, window)
    provider.shutdown()


def main() -> None:
    """Answer one question."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--steps", type=int, default=40)
    options.add_argument("--window", type=int, default=0, help="how many turns the model is told; 0: all of them")
    options.add_argument("--plain", action="store_true", help="without RunReel's recorder")
    args = options.parse_args()
    answer = plain if args.plain else recorded
    answer("Is the report in line with the plan?", args.steps, args.window)


if __name__ == "__main__":
    main()
