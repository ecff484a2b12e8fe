"""An agent that another one starts as a program: it joins the trace of its parent by TRACEPARENT, and asks a model."""

import json
import os
import sys

import telemetry
from openai import OpenAI
from opentelemetry import trace
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

SCHEMA = {"type": "function", "function": {"name": "inner_weather", "parameters": {"type": "object"}}}


def inner_weather(city):
    with open(os.environ["TOOL_CALLS"], "a", encoding="utf-8") as calls:
        calls.write("inner_weather\n")
    return {"city": city, "temp_c": -3}


def main(city):
    tracers, loggers = telemetry.set_up("sub-agent")
    OpenAIInstrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)
    tracer = trace.get_tracer("sub-agent")
    above = TraceContextTextMapPropagator().extract({"traceparent": os.environ["TRACEPARENT"]})
    client, messages = OpenAI(), [{"role": "user", "content": f"[scenario:sub] Weather in {city}?"}]
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "sub-agent"}
    with tracer.start_as_current_span("invoke_agent sub-agent", context=above, attributes=about):
        while True:
            got = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=[SCHEMA], temperature=0)
            message = got.choices[0].message
            if not message.tool_calls:
                return print(message.content)
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                asked = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "inner_weather",
                    "gen_ai.tool.call.id": call.id,
                    "gen_ai.tool.call.arguments": call.function.arguments,
                }
                with tracer.start_as_current_span("execute_tool inner_weather", attributes=asked) as span:
                    result = json.dumps(inner_weather(**json.loads(call.function.arguments)))
                    span.set_attribute("gen_ai.tool.call.result", result)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


if __name__ == "__main__":
    main(sys.argv[1])
