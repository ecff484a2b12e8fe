"""Pydantic AI under its own instrumentation; `--instrumentation v2` is an older format of it."""

import asyncio

import telemetry
import tools
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel

options = telemetry.options()
tracers, _ = telemetry.set_up()
version = {"version": int(options.instrumentation[1:])} if options.instrumentation.startswith("v") else {}
Agent.instrument_all(InstrumentationSettings(tracer_provider=tracers, **version))
agent = Agent(
    OpenAIChatModel("gpt-4o-mini"),
    name="weather-agent",
    system_prompt=tools.SYSTEM,
    tools=tools.TOOLS,
    retries=2,
    model_settings={"temperature": 0, "seed": 7},
)


async def main() -> str:
    """Run it once."""
    asked = tools.prompt(options.scenario)
    if not options.stream:
        return (await agent.run(asked)).output
    async with agent.run_stream(asked) as result:
        async for _ in result.stream_text():
            pass
        return await result.get_output()


print("FINAL", asyncio.run(main()))
