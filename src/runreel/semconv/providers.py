"""Who serves a model: the conventions' name for the spellings that senders use."""

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
    "bedrock": "aws.bedrock",
    "watsonx": "ibm.watsonx.ai",
    "openai.chat": "openai",
}


def provider(name: Value) -> str:
    """Return the conventional name; an unknown one as it is, "" where there is none."""
    return _NAMES.get(name.lower(), name) if isinstance(name, str) else ""
