"""Notices runs that are a piece of something longer: they begin with a tool's result, or end with a tool call.

A loop around a provider's SDK without a span around it makes a trace of each model call, and each is a run of its own.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from runreel.values import Gap, Run, Step, Value

LOOSE: Final = "conversation"
"""The field that these gaps name."""
LOOP_FIX: Final = (
    "start one span around the agent's whole loop (opentelemetry's `start_as_current_span`, or `runreel.record.run`): "
    "without it each model call is a run of its own"
)
_ENDING: Final = frozenset({"final_answer"})
"""Tools by which agents of smolagents end: what they are given is the answer, and nothing comes back."""


def loose_ends(run: Run) -> Iterator[Gap]:
    """Yield a gap where the first model call answers tool calls of nobody here, and one where the last asks for tools
    of which nothing came.

    Both can be meant (work taken up again, a call that ends the loop): neither takes a verdict away.
    """
    turns = [step for step in run.steps if step.kind == "llm" and step.shadowed_by is None]
    if not turns or run.open:
        return
    tools = [step for step in run.steps if step.kind == "tool"]
    done = {step.call_id for step in tools}
    told = {str(part.get("id")) for turn in turns for part in _parts(run, turn, "tool_call_response")}
    first, last = turns[0], turns[-1]
    began = [part for part in _last_message(run, first) if part.get("type") == "tool_call_response"]
    if began and not any(str(part.get("id")) in done for part in began):
        yield _gap(first, "loose_beginning: it is told tool results, and the model call that asked is in another trace")
    carried_out = {step.name for step in tools if step.fields.get("asked_by") == last.seq}
    asked = [part for part in _parts(run, last, "tool_call", of="output") if str(part.get("id")) not in done | told]
    names = {str(part.get("name")) for part in asked} - carried_out - _ENDING
    if names and last.status == "ok":
        yield _gap(last, f"loose_end: it asks for {', '.join(sorted(names))}, and nothing says what came of that")


def _gap(step: Step, cause: str) -> Gap:
    return Gap(step.seq, LOOSE, "diagnose", cause, LOOP_FIX)


def _last_message(run: Run, step: Step) -> Iterator[Mapping[str, Value]]:
    messages = run.value(step.input)
    last = messages[-1] if isinstance(messages, tuple) and messages else None
    parts = last.get("parts") if isinstance(last, Mapping) else None
    yield from (part for part in (parts if isinstance(parts, tuple) else ()) if isinstance(part, Mapping))


def _parts(run: Run, step: Step, kind: str, *, of: str = "input") -> Iterator[Mapping[str, Value]]:
    messages = run.value(step.output if of == "output" else step.input)
    for message in messages if isinstance(messages, tuple) else ():
        parts = message.get("parts") if isinstance(message, Mapping) else None
        for part in parts if isinstance(parts, tuple) else ():
            if isinstance(part, Mapping) and part.get("type") == kind:
                yield part
