"""LangChain's `create_agent` on LangGraph, under one of three instrumentations."""

import asyncio

import telemetry
import tools

options = telemetry.options()
tracers, loggers = telemetry.set_up()
if options.instrumentation == "genai":
    from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor as Instrumentor
elif options.instrumentation == "openllmetry":
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor as Instrumentor
else:
    from openinference.instrumentation.langchain import LangChainInstrumentor as Instrumentor
Instrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)
if options.also_openai:
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=tracers)

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="gpt-4o-mini", temperature=0, seed=7, streaming=options.stream)
agent = create_agent(model, tools=[tool(one) for one in tools.TOOLS], system_prompt=tools.SYSTEM, name="weather-agent")


async def main() -> str:
    """Run it once."""
    asked = {"messages": [("user", tools.prompt(options.scenario))]}
    config = {"configurable": {"thread_id": "thread-0001"}}
    if not options.stream:
        return (await agent.ainvoke(asked, config))["messages"][-1].content
    async for state in agent.astream(asked, config, stream_mode="values"):
        last = state
    return last["messages"][-1].content


print("FINAL", asyncio.run(main()))
