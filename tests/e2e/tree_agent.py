"""One run in three processes: an agent, an expert that it starts as a program, and an MCP server that both of them ask.

Run as a program by test_run_tree.py; the first argument says which of the three it is.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys

import uvicorn
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer

import runreel.record as rr

server = MCPServer("weather", instructions="Ask for one city at a time.")


def ran(what):
    with open(os.environ["TOOL_CALLS"], "a", encoding="utf-8") as calls:
        calls.write(f"{what}\n")


@rr.retriever("climate", index_version="2026-10")
def climate(query):
    ran("climate")
    return [{"id": query, "content": f"{query} is cold."}]


@server.tool()
def get_weather(city: str, days: int = 1) -> dict[str, str | int]:
    """Tell the weather."""
    ran(f"get_weather {city}")
    if city == "Atlantis":
        raise ValueError("no such city")
    return {"city": city, "days": days, "known": climate(city)[0]["content"]}


@server.resource("note://packing")
def packing() -> str:
    """What to pack."""
    ran("packing")
    return "Pack wool."


@server.prompt()
def greeting(name: str) -> str:
    """How to greet."""
    ran("greeting")
    return f"Good morning, {name}."


def serve():
    """Serve on a free port of loopback; the first line printed is the address."""
    # uvicorn raises the signal that ended it once more: by default that is a death in which the last spans are lost.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run([listening])


async def ask_server(ask):
    async with (
        streamable_http_client(os.environ["MCP_URL"]) as (read, write, *_),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        return await ask(session)


async def agents_questions(session):
    """Ask all that a session can be asked; everything that comes back is in what this returns."""
    tools = (await session.list_tools()).tools
    schema = next(tool.output_schema or {} for tool in tools if tool.name == "get_weather")
    weather = await session.call_tool("get_weather", {"city": "Oslo"})
    failed = await session.call_tool("get_weather", {"city": "Atlantis"})
    note = await session.read_resource("note://packing")
    greeted = await session.get_prompt("greeting", {"name": "Dana"})
    return [
        session.initialize_result.instructions,
        [tool.description for tool in tools],
        schema.get("type"),
        weather.structured_content["known"],
        failed.is_error,
        note.contents[0].text,
        greeted.messages[0].content.text,
    ]


async def experts_question(session):
    return (await session.call_tool("get_weather", {"city": "Lima", "days": 3})).structured_content["known"]


def main():
    """Ask the server, then an expert that asks it, too."""
    with rr.run(user_input="Where to?") as run:
        said = asyncio.run(ask_server(agents_questions))
        command = [sys.executable, os.path.abspath(__file__), "expert"]
        said.append(subprocess.run(command, env=rr.environment(), capture_output=True, text=True, check=True).stdout)
        run.answer(repr(said))
    print(said)


def expert():
    with rr.run():
        print(asyncio.run(ask_server(experts_question)))


if __name__ == "__main__":
    role = sys.argv[1]
    rr.configure(agent={"agent": "trip", "expert": "expert", "server": "weather-server"}[role])
    rr.mcp()
    {"agent": main, "expert": expert, "server": serve}[role]()
