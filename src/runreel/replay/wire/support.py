"""Which recorded model calls can be answered: the rest is refused before anything of the agent runs."""

from collections.abc import Mapping, Sequence
from typing import Final

from runreel.errors import RefusedError
from runreel.values import Step

_BEHIND: Final = (
    "put the call behind a tool or a retriever (runreel.record.tool, runreel.record.retriever) and record the run again"
)
_OPERATIONS: Final[Mapping[str, str]] = {
    "embeddings": "embeddings are not recorded by any convention, so that there is no vector to answer with; "
    + _BEHIND,
    "text_completion": "the completions API of old is not answered; use chat completions or responses, or " + _BEHIND,
    "fetch_response": "a response that is fetched by its id later is not answered; " + _BEHIND,
}
# By the beginning of the name: who they are served by says which protocol their SDK speaks.
_PROVIDERS: Final[Mapping[str, str]] = {
    "aws.bedrock": "Bedrock's own API (botocore) is not answered; use its OpenAI-compatible or Anthropic endpoint, or ",
    "cohere": "Cohere's own API is not answered; use its OpenAI-compatible endpoint, or ",
    "ibm.watsonx": "watsonx's own API is not answered; use an OpenAI-compatible gateway, or ",
}


def require_answerable(steps: Sequence[Step]) -> None:
    """Raise RefusedError where a recorded model call speaks a protocol that is not answered; it lists which and why.

    A provider that is not known here may still be answered: gateways speak the protocols of others under any name.
    """
    found = {reason: step for step in reversed(steps) if step.kind == "llm" and (reason := _reason(step))}
    if found:
        listed = "\n".join(f"  - step {step.seq} ({step.name}): {reason}" for reason, step in reversed(found.items()))
        raise RefusedError(f"the run cannot be replayed, these model calls have no answer:\n{listed}")


def _reason(step: Step) -> str:
    operation, provider = step.fields.get("operation"), step.fields.get("provider")
    if isinstance(operation, str) and operation in _OPERATIONS:
        return f"operation {operation}: {_OPERATIONS[operation]}"
    for name, reason in _PROVIDERS.items():
        if isinstance(provider, str) and provider.startswith(name):
            return f"provider {provider}: {reason}{_BEHIND}"
    return ""
