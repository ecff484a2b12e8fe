"""The OpenAI Agents SDK on the responses API; scenario `handoff` has a second agent that hands over to the first."""

import asyncio

import telemetry
import tools

from agents import Agent, ModelSettings, Runner, function_tool, set_trace_processors

options = telemetry.options()
tracers, loggers = telemetry.set_up()
set_trace_processors([])  # the SDK's own would be sent to its vendor; the instrumentation adds its processor
if options.instrumentation == "genai":
    from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor as Instrumentor
else:
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor as Instrumentor
Instrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)
if options.also_openai:  # OpenTelemetry's leaves model spans to the instrumentation of the OpenAI SDK
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)

worker = Agent(
    name="weather-agent",
    handoff_description="Knows the weather.",
    instructions=tools.SYSTEM,
    model="gpt-4o-mini",
    model_settings=ModelSettings(temperature=0),
    tools=[function_tool(one) for one in tools.TOOLS],
)
triage = Agent(name="triage", instructions="Hand over.", model="gpt-4o-mini", handoffs=[worker])
first = triage if options.scenario == "handoff" else worker


async def main() -> str:
    """Run it once."""
    asked = tools.prompt(options.scenario)
    if not options.stream:
        return (await Runner.run(first, asked)).final_output
    result = Runner.run_streamed(first, asked)
    async for _ in result.stream_events():
        pass
    return result.final_output


print("FINAL", asyncio.run(main()))
