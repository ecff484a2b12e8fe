"""An agent whose only tool is another agent: no function has its name."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "agents"))

import telemetry
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

from agents import Agent, Runner, set_trace_processors

tracers, _ = telemetry.set_up()
set_trace_processors([])
OpenAIAgentsInstrumentor().instrument(tracer_provider=tracers)
expert = Agent(name="expert", instructions="Answer.", model="gpt-4o-mini")
desk = Agent(
    name="desk", instructions="Ask.", model="gpt-4o-mini", tools=[expert.as_tool("ask_expert", "Knows the weather.")]
)

print("FINAL", asyncio.run(Runner.run(desk, "[scenario:expert] How is Oslo?")).final_output)
