"""Who serves a model: the conventions' name for the spellings that senders use."""

import re
from collections.abc import Mapping
from typing import Final

from runreel.values import Value

_NAMES: Final[Mapping[str, str]] = {
    "az.ai.openai": "azure.ai.openai",
    "az.ai.inference": "azure.ai.inference",
    "azure": "azure.ai.openai",
    "vertex_ai": "gcp.vertex_ai",
    "vertexai": "gcp.vertex_ai",
    "gemini": "gcp.gemini",
    "google": "gcp.gen_ai",
    "xai": "x_ai",
    "mistralai": "mistral_ai",
    "aws": "aws.bedrock",
    "bedrock": "aws.bedrock",
    "watsonx": "ibm.watsonx.ai",
    "openai.chat": "openai",
    **{name: name for name in ("openai", "anthropic", "cohere", "groq", "deepseek", "perplexity")},
    "openai.completion": "openai",
    "openai.embedding": "openai",
    "openai.responses": "openai",
    "anthropic.messages": "anthropic",
    "amazon-bedrock": "aws.bedrock",
    "azure-openai.chat": "azure.ai.openai",
    "azure-openai.responses": "azure.ai.openai",
    "azure.chat": "azure.ai.openai",
    "azure.responses": "azure.ai.openai",
    "google.generative-ai": "gcp.gemini",
    "google.vertex.chat": "gcp.vertex_ai",
    "cohere.chat": "cohere",
    "deepseek.chat": "deepseek",
    "groq.chat": "groq",
    "mistral.chat": "mistral_ai",
    "perplexity": "perplexity",
    "xai.chat": "x_ai",
}
# Frameworks put their own names where the provider's belongs.
_FRAMEWORKS: Final = frozenset(
    {
        "crewai",
        "gcp.vertex.agent",
        "langchain",
        "langgraph",
        "microsoft.agent_framework",
        "openai_agents",
        "strands-agents",
    }
)
_MODELS: Final[Mapping[str, str]] = {
    "claude-": "anthropic",
    "gemini-": "gcp.gemini",
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
}

# As Bedrock names models: by their vendor, behind a region's prefix where they run in several. OpenAI's have such names
# at its endpoint for OpenAI's API, too.
_BEDROCK: Final = re.compile(
    r"(?:arn:aws[\w-]*:bedrock:|(?:[a-z]{2,6}(?:-gov)?\.)?"
    r"(?:ai21|amazon|anthropic|cohere|deepseek|meta|mistral|qwen|writer)\.)"
)


def provider(name: Value, model: Value = None) -> str:
    """Return the conventional name; an unknown one as it is, "" where there is none.

    A framework's name is no provider's: then the model's name tells, where it can.
    """
    if not isinstance(name, str):
        return ""
    if name.lower() in _FRAMEWORKS:
        start = model if isinstance(model, str) else ""
        if _BEDROCK.match(start):
            return "aws.bedrock"
        return next((known for prefix, known in _MODELS.items() if start.startswith(prefix)), "")
    return _NAMES.get(name.lower(), name)
