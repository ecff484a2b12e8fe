"""A loop on the OpenAI SDK, without a framework; its spans of the agent and of tools are written by hand."""

import handmade
import telemetry
import tools

options = telemetry.options()
tracers, loggers = telemetry.set_up()
if options.instrumentation == "genai":
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor as Instrumentor
elif options.instrumentation == "v2":
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor as Instrumentor
elif options.instrumentation == "openllmetry":
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor as Instrumentor
else:
    from openinference.instrumentation.openai import OpenAIInstrumentor as Instrumentor
Instrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)

from openai import OpenAI

client = OpenAI()
parameters = {"model": "gpt-4o-mini", "temperature": 0, "max_tokens": 256, "seed": 7, "tools": tools.OPENAI}


def complete(messages: list) -> tuple[str, list]:
    """Ask the model; return its text and its calls as (id, name, arguments)."""
    if not options.stream:
        said = client.chat.completions.create(messages=messages, **parameters).choices[0].message
        calls = said.tool_calls or []
        return said.content or "", [(one.id, one.function.name, one.function.arguments) for one in calls]
    text, calls = "", {}
    for chunk in client.chat.completions.create(messages=messages, stream=True, **parameters):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or []:
                call = calls.setdefault(part.index, [part.id, part.function.name, ""])
                call[2] += part.function.arguments or ""
    return text, list(calls.values())


def main() -> str:
    """Run it once."""
    asked = [{"role": "system", "content": tools.SYSTEM}, {"role": "user", "content": tools.prompt(options.scenario)}]
    while True:
        text, calls = complete(asked)
        if not calls:
            return text
        called = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
        asked.append({"role": "assistant", "content": text or None, "tool_calls": called})
        for call_id, name, arguments in calls:
            said, _ = handmade.call_tool(call_id, name, arguments)
            asked.append({"role": "tool", "tool_call_id": call_id, "content": said})


with handmade.agent("weather-agent"):
    print("FINAL", main())
