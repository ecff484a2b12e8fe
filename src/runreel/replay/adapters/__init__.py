"""Agent frameworks as boundaries: the innermost call of their tools and retrievers is answered from the record.

Each adapter leaves the framework's validation, callbacks, hooks and error handling to run, and lets it build its own
types of the answer. Nothing is imported: a framework is patched when the agent imports it. A tool whose function is
answered already (swapped, or a boundary of the recorder) is left to that.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from runreel.replay.adapters import langchain, openai_agents, pydantic_ai
from runreel.replay.adapters.answers import Answers
from runreel.replay.boundaries.functions import Asking
from runreel.replay.transports.versions import outside
from runreel.values import Kind

__all__ = ["ADAPTERS", "Adapter", "Answers", "frameworks", "install", "problem"]


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
    Adapter("Pydantic AI", "pydantic-ai-slim", (2, 68), (3,), ("pydantic-ai",), pydantic_ai.install),
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


def install(kinds: Mapping[str, Kind], asking: Callable[[str], Asking]) -> list[str]:
    """Install every adapter; return what is wrong with those that are left out, for the version that is installed.

    `kinds` are the recorded names; `asking` says, for a framework's name, who answers for it.
    """
    problems = []
    for adapter in ADAPTERS:
        if found := adapter.problem:
            problems.append(found)
        else:
            adapter.install(Answers(kinds, asking(adapter.name)))
    return problems
