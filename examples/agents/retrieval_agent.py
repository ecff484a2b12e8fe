"""A LangChain retriever, then one model call with what it found."""

import asyncio

import telemetry
import tools

options = telemetry.options()
tracers, loggers = telemetry.set_up("retrieval-agent")
if options.instrumentation == "genai":
    from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor as Instrumentor
elif options.instrumentation == "openllmetry":
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor as Instrumentor
else:
    from openinference.instrumentation.langchain import LangChainInstrumentor as Instrumentor
Instrumentor().instrument(tracer_provider=tracers, logger_provider=loggers)

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI

DOCUMENTS = [
    Document("Refunds are paid within 14 days. Ask dana.fields@example.com.", metadata={"doc_id": "kb-17", "rev": 3}),
    Document("Shipping to Norway takes 5 days.", metadata={"doc_id": "kb-22", "rev": 1}),
]


class Keyword(BaseRetriever):
    """Stands for an index somewhere else."""

    def _get_relevant_documents(self, query, *, run_manager):
        tools.ran("Keyword")
        return DOCUMENTS


model = ChatOpenAI(model="gpt-4o-mini", temperature=0)


async def answer(question: str) -> str:
    """Answer a question from what is found."""
    found = await Keyword().ainvoke(question)
    system = tools.SYSTEM + "\n" + "\n".join(one.page_content for one in found)
    return (await model.ainvoke([("system", system), ("user", question)])).content


print("FINAL", asyncio.run(RunnableLambda(answer, name="rag").ainvoke("[scenario:plain] When are refunds paid?")))
