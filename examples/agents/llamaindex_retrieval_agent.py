"""A LlamaIndex retriever under a query engine; scenario `policies` has that engine as a tool of an agent."""

import asyncio
import os

import telemetry
import tools

options = telemetry.options()
tracers, loggers = telemetry.set_up("retrieval-agent")
if options.instrumentation == "native":
    from llama_index.observability.otel import LlamaIndexOpenTelemetry

    LlamaIndexOpenTelemetry(tracer_provider=tracers).start_registering()
else:
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    LlamaIndexInstrumentor().instrument(tracer_provider=tracers)

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import QueryEngineTool
from llama_index.llms.openai import OpenAI

TEXTS = {
    "kb-17": "Refunds are paid within 14 days. Ask dana.fields@example.com.",
    "kb-22": "Shipping to Norway takes 5 days.",
}


class Keyword(BaseRetriever):
    """Stands for an index somewhere else."""

    def _retrieve(self, query_bundle):
        tools.ran("Keyword")
        nodes = [TextNode(id_=key, text=text, metadata={"rev": 3}) for key, text in TEXTS.items()]
        return [NodeWithScore(node=node, score=0.5) for node in nodes]


model = OpenAI(model="gpt-4o-mini", api_base=os.environ.get("OPENAI_BASE_URL"), temperature=0)
engine = RetrieverQueryEngine.from_args(Keyword(), llm=model)


async def main() -> str:
    """Run it once."""
    asked = f"[scenario:{options.scenario}] When are refunds paid?"
    if options.scenario != "policies":
        return str(await engine.aquery(asked))
    tool = QueryEngineTool.from_defaults(engine, name="policies", description="Answers questions about policies.")
    return str(await FunctionAgent(tools=[tool], llm=model, streaming=options.stream).run(asked))


print("FINAL", asyncio.run(main()))
