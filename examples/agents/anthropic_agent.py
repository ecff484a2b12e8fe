"""A loop on the Anthropic SDK, without a framework; its spans of the agent and of tools are written by hand."""

import json

import handmade
import telemetry
import tools

options = telemetry.options()
tracers, loggers = telemetry.set_up()
if options.instrumentation == "genai":
    from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor as Instrumentor
elif options.instrumentation == "openllmetry":
    from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor as Instrumentor
else:
    from openinference.instrumentation.anthropic import AnthropicInstrumentor as Instrumentor
Instrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)

from anthropic import Anthropic

client = Anthropic()
parameters = {"model": "claude-sonnet-4-5", "max_tokens": 1024, "system": tools.SYSTEM, "tools": tools.ANTHROPIC}


def ask(messages: list):
    """Ask the model; return its message."""
    if not options.stream:
        return client.messages.create(messages=messages, **parameters)
    with client.messages.stream(messages=messages, **parameters) as stream:
        return stream.get_final_message()


def main() -> str:
    """Run it once."""
    asked = [{"role": "user", "content": tools.prompt(options.scenario)}]
    while True:
        answer = ask(asked)
        asked.append({"role": "assistant", "content": [one.model_dump(exclude_none=True) for one in answer.content]})
        results = []
        for use in (one for one in answer.content if one.type == "tool_use"):
            said, failed = handmade.call_tool(use.id, use.name, json.dumps(use.input), content=False)
            results.append({"type": "tool_result", "tool_use_id": use.id, "is_error": failed, "content": said})
        if not results:
            return "".join(one.text for one in answer.content if one.type == "text")
        asked.append({"role": "user", "content": results})


with handmade.agent("weather-agent"):
    print("FINAL", main())
