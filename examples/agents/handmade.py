"""Spans of the agent and of its tools, written by hand as the GenAI conventions say: SDK instrumentations see neither.

TRACEPARENT continues the trace of another process; LINK_TRACEPARENT starts a trace of its own that links back to it.
"""

import contextlib
import json
import os
from collections.abc import Iterator

import tools
from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

tracer = trace.get_tracer("hand-written-agent", "0.1.0")


@contextlib.contextmanager
def agent(name: str) -> Iterator[None]:
    """Write the agent's span around what it does."""
    said = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.conversation.id": "conv-0001"}
    above, linked = _context("TRACEPARENT"), trace.get_current_span(_context("LINK_TRACEPARENT")).get_span_context()
    links = [trace.Link(linked)] if linked.is_valid else []
    with tracer.start_as_current_span(f"invoke_agent {name}", above, attributes=said, links=links):
        yield


def call_tool(call_id: str, name: str, arguments: str, content: bool = True) -> tuple[str, bool]:
    """Run a tool under a span; return what the model is told, and whether the tool failed.

    Without `content` the span says neither arguments nor result: both are in the messages of the model calls.
    """
    said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
    with tracer.start_as_current_span(f"execute_tool {name}", attributes=said) as span:
        if content:
            span.set_attribute("gen_ai.tool.call.arguments", arguments)
        try:
            result, failed = tools.BY_NAME[name](**json.loads(arguments)), False
        except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model is told
            span.record_exception(error)
            span.set_status(trace.StatusCode.ERROR, str(error))
            span.set_attribute("error.type", type(error).__name__)
            result, failed = {"error": f"{type(error).__name__}: {error}"}, True
        text = json.dumps(result, ensure_ascii=False)
        if content:
            span.set_attribute("gen_ai.tool.call.result", text)
        return text, failed


def _context(variable: str):
    return TraceContextTextMapPropagator().extract({"traceparent": os.environ.get(variable, "")})
