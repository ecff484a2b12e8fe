"""An agent that makes its tool calls at once: tasks and threads, with an async client. Knows nothing of RunReel."""

import argparse
import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import telemetry
import weather_tools as tools
from openai import AsyncOpenAI
from opentelemetry import context, trace
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor


async def slow_weather(city, units="metric"):
    await asyncio.sleep(0.02 if city == "Lisbon" else 0)  # the second one is quicker
    return tools.get_weather(city, units)


def spanned(tracer, call):
    about = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.function.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.call.arguments": call.function.arguments,
    }
    return tracer.start_as_current_span(f"execute_tool {call.function.name}", attributes=about)


async def in_a_task(tracer, call):
    with spanned(tracer, call) as span:
        given = json.loads(call.function.arguments)
        if call.function.name == "get_weather":
            result = await slow_weather(**given)
        else:
            result = tools.BY_NAME[call.function.name](**given)
        span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        return json.dumps(result)


def in_a_thread(tracer, call, around):
    token = context.attach(around)
    try:
        with spanned(tracer, call) as span:
            result = tools.BY_NAME[call.function.name](**json.loads(call.function.arguments))
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
            return json.dumps(result)
    finally:
        context.detach(token)


async def turn(tracer, calls, threads):
    if not threads:
        return await asyncio.gather(*(in_a_task(tracer, call) for call in calls))
    with ThreadPoolExecutor() as pool:
        here = context.get_current()
        return list(pool.map(lambda call: in_a_thread(tracer, call, here), calls))


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", action="store_true")
    threads = parser.parse_args().threads
    tracers, loggers = telemetry.set_up("async-agent")
    OpenAIInstrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)
    client, tracer = AsyncOpenAI(), trace.get_tracer("async-agent")
    messages = [{"role": "system", "content": tools.SYSTEM}, {"role": "user", "content": tools.prompt("weather")}]
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "async-agent"}
    with tracer.start_as_current_span("invoke_agent async-agent", attributes=about):
        while True:
            answer = await client.chat.completions.create(
                model="gpt-4o-mini", messages=messages, tools=tools.SCHEMAS, temperature=0
            )
            message = answer.choices[0].message
            if not message.tool_calls:
                break
            messages.append(message.model_dump(exclude_none=True))
            for call, result in zip(message.tool_calls, await turn(tracer, message.tool_calls, threads), strict=True):
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print("FINAL", message.content)


if __name__ == "__main__":
    asyncio.run(main())
