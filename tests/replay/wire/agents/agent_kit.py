"""What the agents of the wire tests share: their spans, their tool, and the order in which they try everything.

`python X_agent.py sync|async plain|stream` talks to one API and prints, as JSON, what its SDK made of each answer. The
same scripts made the captures that the tests replay (see tests/data/wire/README.md).
"""

import asyncio
import json
import sys
from importlib import import_module

import weather
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPhfDwAChAGAZ4gkHwAAAABJRU5ErkJggg=="
PICTURE = "https://images.example.com/cat.png"
SYSTEM = "You are a weather agent. Be brief."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "wire"}


def prompt(scenario):
    return f"What is the weather? [scenario:{scenario}]"


def use(name, arguments, call_id=""):
    """Run a tool below a span of its own, as agents without a framework do."""
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
    with trace.get_tracer("wire").start_as_current_span(f"execute_tool {name}", attributes=about) as span:
        result = weather.get_weather(**arguments)
        span.set_attribute("gen_ai.tool.call.arguments", json.dumps(arguments))
        span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        return result


def main(instrumentor, make):
    """Try everything: `make(is_async, is_stream)` gives the cases, each a coroutine function, by name."""
    how, shape = sys.argv[1:3]
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    module, _, name = instrumentor.partition(":")
    try:
        # The versions that an instrumentation says it is for end before the SDK's current one.
        getattr(import_module(module), name)().instrument(skip_dep_check=True)
    except ImportError:
        print(f"without {module}", file=sys.stderr)

    async def every():
        with trace.get_tracer("wire").start_as_current_span("invoke_agent wire", attributes=AGENT):
            return {label: await case() for label, case in make(how == "async", shape == "stream").items()}

    print(json.dumps(asyncio.run(every()), ensure_ascii=False, sort_keys=True))
    provider.shutdown()


def failure(error):
    return [type(error).__name__, str(error)]


def kinds(result):
    """Return what a tool gave as the text that goes back to the model."""
    return json.dumps(result)
