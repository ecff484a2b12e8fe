"""Notices reasoning that a provider takes back with its signature only, and that was recorded without one."""

from collections.abc import Iterator, Mapping
from typing import Final

from runreel.values import Gap, Run, Step

_SIGNATURES: Final = ("signature", "thoughtSignature", "thought_signature")
_FIX: Final = (
    "nothing to switch on: {by} does not record it. A frozen replay does not need it; before live model calls follow "
    "on this answer, put the block's signature into its reasoning part of gen_ai.output.messages (`signature`) at the "
    "sender, or replay from before it"
)


def unsigned(run: Run) -> Iterator[Gap]:
    """Yield a gap for each answer with reasoning of Anthropic's models, wherever they are served, that lacks one of
    its signatures: with the answer in its history, the provider refuses the next request."""
    for step in run.steps:
        if step.kind != "llm" or step.shadowed_by is not None or not _wants_them_back(step):
            continue
        count = sum(1 for part in _reasoning(run, step) if not any(part.get(key) for key in _SIGNATURES))
        if count:
            what = "a reasoning part" if count == 1 else f"{count} reasoning parts"
            cause = f"no_signature: {what} came without its signature, which the provider wants back with it"
            yield Gap(step.seq, "output", "live", cause, _FIX.format(by=_wrote(run, step)))


def _wrote(run: Run, step: Step) -> str:
    """Return which instrumentation wrote the answer: of two views of one call, the one whose answer was taken over."""
    doubles = [one for one in run.steps if one.shadowed_by == step.seq and one.output.sha256 == step.output.sha256]
    return str((doubles or [step])[0].fields.get("instrumentation") or "its instrumentation")


def _wants_them_back(step: Step) -> bool:
    models = (step.fields.get("model"), step.fields.get("model_requested"))
    return step.fields.get("provider") == "anthropic" or any("claude" in str(model).lower() for model in models)


def _reasoning(run: Run, step: Step) -> Iterator[Mapping[str, object]]:
    messages = run.value(step.output)
    for message in messages if isinstance(messages, tuple) else ():
        parts = message.get("parts") if isinstance(message, Mapping) else None
        for part in parts if isinstance(parts, tuple) else ():
            if isinstance(part, Mapping) and part.get("type") == "reasoning":
                yield part
