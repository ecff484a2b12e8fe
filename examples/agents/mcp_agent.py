"""The MCP client with the OpenAI SDK, in a loop of the agent's own, with no framework between.

The server is started, and asked over its pipes; with `--transport http` or `sse`, the one at the address MCP_URL is.
"""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import telemetry
import tools
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from openai import AsyncOpenAI

SERVER = StdioServerParameters(
    command=sys.executable, args=[str(Path(__file__).with_name("mcp_server.py"))], env=dict(os.environ)
)
options = telemetry.options("--transport", "--record")
tracers, loggers = telemetry.set_up()
if options.instrumentation == "genai":
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor as Instrumentor
else:
    from openinference.instrumentation.openai import OpenAIInstrumentor as Instrumentor
Instrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)
if options.record:  # the whole of what sessions ask, where the library's own spans hold no content
    import runreel.record

    runreel.record.mcp()


@asynccontextmanager
async def connected():
    """Connect to the server; yield the session."""
    if options.transport:
        connect = sse_client if options.transport == "sse" else streamable_http_client
        streams = connect(os.environ["MCP_URL"])
    else:
        streams = stdio_client(SERVER)
    async with streams as (read, write, *_), ClientSession(read, write) as session:
        await session.initialize()
        yield session


async def main() -> str:
    """Run it once."""
    model = AsyncOpenAI()
    messages = [
        {"role": "system", "content": tools.SYSTEM},
        {"role": "user", "content": tools.prompt(options.scenario)},
    ]
    async with connected() as session:
        known = [_definition(tool) for tool in (await session.list_tools()).tools]
        while True:
            asked = model.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=known, temperature=0)
            said = (await asked).choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return said.content
            for call in said.tool_calls:
                result = await session.call_tool(call.function.name, json.loads(call.function.arguments))
                text = "\n".join(part.text for part in result.content if part.type == "text")
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


def _definition(tool):
    schema = tool.model_dump(by_alias=True)["inputSchema"]
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": schema},
    }


with tracers.get_tracer("weather-agent").start_as_current_span("weather-agent"):
    print("FINAL", asyncio.run(main()))
