"""Which recorded model calls can be answered: the rest is refused before anything of the agent runs."""

from collections.abc import Mapping, Sequence
from typing import Final

from runreel.errors import RefusedError
from runreel.replay.wire.answers import parts_of
from runreel.values import Run, Step, Value

_BEHIND: Final = (
    "put the call behind a tool or a retriever (runreel.record.tool, runreel.record.retriever) and record the run again"
)
_EMBEDDINGS: Final = "embeddings"
_OPERATIONS: Final[Mapping[str, str]] = {
    _EMBEDDINGS: "the vectors are not in the record (OpenInference sends them), or of an API that is not answered "
    "(OpenAI's is); " + _BEHIND,
    "text_completion": "the completions API of old is not answered; use chat completions or responses, or " + _BEHIND,
    "fetch_response": "a response that is fetched by its id later is not answered; " + _BEHIND,
}
# By the beginning of the name: who they are served by says which protocol their SDK speaks.
_PROVIDERS: Final[Mapping[str, str]] = {
    "aws.bedrock": "Bedrock's own API (botocore) is not answered; use its OpenAI-compatible or Anthropic endpoint, or ",
    "cohere": "Cohere's own API is not answered; use its OpenAI-compatible endpoint, or ",
    "ibm.watsonx": "watsonx's own API is not answered; use an OpenAI-compatible gateway, or ",
}


_SEVERAL: Final = (
    "the SDK made several model calls inside this one and called the tool {} itself; only its last answer is recorded. "
    "Switch its automatic function calling off and loop in the agent's code, or instrument each request"
)


def require_answerable(run: Run, steps: Sequence[Step]) -> None:
    """Raise RefusedError where a recorded model call cannot be answered; it lists which and why.

    A provider that is not known here may still be answered: gateways speak the protocols of others under any name.
    """
    reasons = [(step, _reason(step)) for step in steps if step.kind == "llm" and not _has_vectors(step)]
    reasons += _called_inside(run, steps)
    found = {reason: step for step, reason in reversed(reasons) if reason}
    if found:
        listed = "\n".join(f"  - step {step.seq} ({step.name}): {reason}" for reason, step in reversed(found.items()))
        raise RefusedError(f"run {run.run_id} cannot be replayed, these model calls have no answer:\n{listed}")


def _has_vectors(step: Step) -> bool:
    """Say whether an embedding can be answered: its vectors are recorded, and no other API than OpenAI's gave them."""
    if step.fields.get("operation") != _EMBEDDINGS or (step.output.state != "whole" and step.error is None):
        return False
    return not str(step.fields.get("provider") or "").startswith(("gcp", "anthropic", *_PROVIDERS))


def _reason(step: Step) -> str:
    operation, provider = step.fields.get("operation"), step.fields.get("provider")
    if isinstance(operation, str) and operation in _OPERATIONS:
        return f"operation {operation}: {_OPERATIONS[operation]}"
    for name, reason in _PROVIDERS.items():
        if isinstance(provider, str) and provider.startswith(name):
            return f"provider {provider}: {reason}{_BEHIND}"
    return ""


def _called_inside(run: Run, steps: Sequence[Step]) -> list[tuple[Step, str]]:
    """Find tools that ran inside a model call whose answer does not ask for them."""
    by_seq = {step.seq: step for step in run.steps}
    found: list[tuple[Step, str]] = []
    for tool in (step for step in steps if step.kind == "tool" and step.parent is not None):
        above = by_seq.get(tool.parent if tool.parent is not None else -1)
        while above is not None and above.shadowed_by is not None:
            above = by_seq.get(above.shadowed_by)
        if above is None or above.kind != "llm" or above.error is not None:
            continue
        if tool.name not in _asked_for(run.value(above.output)):
            found.append((above, _SEVERAL.format(tool.name)))
    return found


def _asked_for(messages: Value) -> set[Value]:
    listed = messages if isinstance(messages, tuple) else ()
    parts = (part for message in listed if isinstance(message, Mapping) for part in parts_of(message))
    return {part.get("name") for part in parts if part.get("type") == "tool_call"}
