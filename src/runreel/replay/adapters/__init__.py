"""Agent frameworks as boundaries: the innermost call of their tools and retrievers is answered from the record.

Each adapter leaves the framework's validation, callbacks, hooks and error handling to run, and lets it build its own
types of the answer. Nothing is imported: a framework is patched when the agent imports it. A tool whose function is
answered already (swapped, or a boundary of the recorder) is left to that.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from runreel.replay.adapters import (
    google_adk,
    langchain,
    langgraph,
    llamaindex,
    mcp,
    openai_agents,
    pydantic_ai,
    smolagents,
    strands,
)
from runreel.replay.adapters.answers import Answers
from runreel.replay.adapters.mcp_server import facts as mcp_facts
from runreel.replay.boundaries.functions import Asking
from runreel.replay.transports.versions import outside
from runreel.values import Kind

__all__ = ["ADAPTERS", "Adapter", "Answers", "frameworks", "install", "mcp_facts", "problem"]


@dataclass(frozen=True, slots=True)
class Adapter:
    """One framework: its package with the first version that is tested and the first one beyond, and the scopes of the
    instrumentations whose spans show that a call went through it."""

    name: str
    package: str
    first: tuple[int, ...]
    beyond: tuple[int, ...]
    scopes: tuple[str, ...]
    install: Callable[[Answers], None]

    @property
    def problem(self) -> str:
        """Say what is wrong with the version that is installed; "" where it is tested, or none is installed."""
        return outside(self.package, self.first, self.beyond)


ADAPTERS: Final = (
    Adapter(
        "LangChain",
        "langchain-core",
        (1, 8),
        (2,),
        (
            "openinference.instrumentation.langchain",
            "opentelemetry.instrumentation.genai.langchain",
            "opentelemetry.instrumentation.langchain",
            "langsmith",
        ),
        langchain.install,
    ),
    Adapter("LangGraph checkpoints", "langgraph-checkpoint", (4, 3), (5,), (), langgraph.install),
    Adapter(
        "OpenAI Agents",
        "openai-agents",
        (0, 24),
        (0, 25),
        (
            "openinference.instrumentation.openai_agents",
            "opentelemetry.instrumentation.genai.openai_agents",
            "opentelemetry.instrumentation.openai_agents",
        ),
        openai_agents.install,
    ),
    Adapter("Strands", "strands-agents", (1, 62), (2,), ("strands.telemetry.tracer",), strands.install),
    Adapter(
        "smolagents",
        "smolagents",
        (1, 26),
        (2,),
        ("openinference.instrumentation.smolagents", "opentelemetry.instrumentation.genai.smolagents"),
        smolagents.install,
    ),
    Adapter(
        "LlamaIndex",
        "llama-index-core",
        (0, 14),
        (0, 15),
        ("openinference.instrumentation.llama_index", "llamaindex.opentelemetry.tracer"),
        llamaindex.install,
    ),
    Adapter(
        "Google ADK",
        "google-adk",
        (2, 13),
        (3,),
        ("gcp.vertex.agent", "openinference.instrumentation.google_adk"),
        google_adk.install,
    ),
    Adapter("Pydantic AI", "pydantic-ai-slim", (2, 68), (3,), ("pydantic-ai",), pydantic_ai.install),
    Adapter(
        "MCP",
        "mcp",
        (1, 30),
        (3,),
        ("mcp-python-sdk", "fastmcp", "opentelemetry.instrumentation.mcp", "openinference.instrumentation.mcp"),
        mcp.install,
    ),
)


def frameworks(calls: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return which recorded names were called through which framework, from each call's name and instrumentation."""
    found: dict[str, str] = {}
    for name, instrumentation in calls:
        adapter = next((one for one in ADAPTERS if instrumentation.startswith(one.scopes)), None)
        if adapter is not None:
            found.setdefault(name, adapter.name)
    return found


def problem(name: str) -> str:
    """Say why a framework cannot be answered for; "" where it can."""
    return next((one.problem for one in ADAPTERS if one.name == name), f"there is no adapter for {name}")


def install(
    kinds: Mapping[str, Kind],
    asking: Callable[[str], Asking],
    facts: Mapping[str, Any] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Install every adapter; return what is wrong with those that are left out, for the version that is installed.

    `kinds` are the recorded names; `asking` says, for a framework's name, who answers for it; `facts` are what else the
    record holds; what `tell` is told stands in the report.
    """
    problems = []
    for adapter in ADAPTERS:
        if found := adapter.problem:
            problems.append(found)
        else:
            adapter.install(Answers(kinds, asking(adapter.name), facts or {}, tell))
    return problems
