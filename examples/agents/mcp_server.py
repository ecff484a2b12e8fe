"""An MCP server with the tools of these agents: over its own pipes, or on loopback with `--http`.

    python mcp_server.py                 stdio, as an agent starts it
    python mcp_server.py --http          streamable HTTP; prints its address, then serves until it is killed
    python mcp_server.py --http --sse    the older transport

It sends spans of its own where OTEL_EXPORTER_OTLP_ENDPOINT is set: they are steps of the run of whoever asks, since the
trace context of a request stands in its `_meta`.
"""

import argparse
import os
import socket

import telemetry
import tools
import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("weather")
for tool in tools.TOOLS:
    server.add_tool(tool)


def main() -> None:
    """Serve as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--sse", action="store_true")
    options = parser.parse_args()
    if os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        telemetry.set_up("weather-server")
    if not options.http:
        server.run("stdio")
        return
    listening = socket.create_server(("127.0.0.1", 0))
    path = "sse" if options.sse else "mcp"
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/{path}", flush=True)
    app = server.sse_app() if options.sse else server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run([listening])


if __name__ == "__main__":
    main()
