"""LlamaIndex's `FunctionAgent`, under OpenInference's instrumentation or the library's own.

Scenario `handover` has a first agent that hands over to this one.
"""

import asyncio
import os

import telemetry
import tools

options = telemetry.options()
tracers, loggers = telemetry.set_up()
if options.instrumentation == "native":
    from llama_index.observability.otel import LlamaIndexOpenTelemetry

    LlamaIndexOpenTelemetry(tracer_provider=tracers).start_registering()
else:
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    LlamaIndexInstrumentor().instrument(tracer_provider=tracers)
if options.also_openai:
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=tracers)

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAI

model = OpenAI(
    model="gpt-4o-mini", api_base=os.environ.get("OPENAI_BASE_URL"), temperature=0, additional_kwargs={"seed": 7}
)
worker = FunctionAgent(
    name="weather-agent",
    description="Knows the weather.",
    tools=[FunctionTool.from_defaults(one) for one in tools.TOOLS],
    llm=model,
    system_prompt=tools.SYSTEM,
    streaming=options.stream,
)
if options.scenario == "handover":
    triage = FunctionAgent(
        name="triage", description="Hands over.", llm=model, system_prompt="Hand over.", streaming=options.stream
    )
    first = AgentWorkflow(agents=[triage, worker], root_agent="triage")
else:
    first = worker


async def main() -> str:
    """Run it once."""
    return str(await first.run(tools.prompt(options.scenario)))


print("FINAL", asyncio.run(main()))
