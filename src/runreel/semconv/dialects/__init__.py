"""One file for each dialect of GenAI spans; `DIALECTS` is the order in which they are asked.

To add one: write a file with a `DIALECT` here and name it below, before those that are less sure of themselves.
"""

from typing import Final

from runreel.semconv.dialect import Dialect
from runreel.semconv.dialects import (
    agent_framework,
    anthropic,
    claude_code,
    crewai,
    genkit,
    google_adk,
    langfuse,
    langsmith,
    litellm,
    llamaindex,
    mcp,
    openai_agents,
    openinference,
    openinference_llamaindex,
    openlit,
    openllmetry,
    otel,
    otel_legacy,
    own,
    pydantic_ai,
    semantic_kernel,
    smolagents,
    strands,
    structural,
    vercel_ai,
)

OWN: Final[Dialect] = own.DIALECT
"""Asked first for every span, whatever its dialect."""

STANDARD: Final[Dialect] = otel.DIALECT
"""Asked last for every span: most dialects carry some standard attributes too."""

DIALECTS: Final[tuple[Dialect, ...]] = (
    langfuse.DIALECT,
    openai_agents.DIALECT,
    smolagents.DIALECT,
    openinference_llamaindex.DIALECT,
    openinference.DIALECT,
    langsmith.DIALECT,
    vercel_ai.DIALECT,
    openllmetry.DIALECT,
    google_adk.DIALECT,
    pydantic_ai.DIALECT,
    strands.DIALECT,
    agent_framework.DIALECT,
    semantic_kernel.DIALECT,
    crewai.DIALECT,
    llamaindex.DIALECT,
    claude_code.DIALECT,
    openlit.DIALECT,
    litellm.DIALECT,
    genkit.DIALECT,
    openai_agents.OTEL,
    anthropic.DIALECT,
    mcp.DIALECT,
    otel_legacy.DIALECT,
    otel.DIALECT,
    structural.DIALECT,
)
