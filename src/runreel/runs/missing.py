"""Notices calls that happened and were not recorded: model calls by what remains of them in later requests and tool
steps, tool calls by what models asked for."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from runreel.values import Gap, Ref, Run, Step, Value

_FIX: Final = "instrument every model client of the agent, and flush the exporter before the process ends"

_NO_TOOLS: Final = "opentelemetry.instrumentation.genai.smolagents"
_USE: Final = (
    "use OpenInference's instrumentation of smolagents, which records its tools, or make each tool a boundary "
    "(runreel.record.tool)"
)
_DEFINED: Final = re.compile(r"^def (\w+)\(", re.MULTILINE)
_ENDING: Final = "final_answer"


def missing_tool_calls(run: Run) -> Iterator[Gap]:
    """Yield a gap for each model call of smolagents whose tools nobody recorded: this instrumentation leaves them out,
    and their results come back to the model as prose.

    A model asks for a tool by a call, or by code that calls what its prompt defines.
    """
    if not any(str(step.fields.get("instrumentation") or "").startswith(_NO_TOOLS) for step in run.steps):
        return
    known = {_ENDING, *(step.name for step in run.steps if step.kind in ("tool", "agent"))}
    for turn in (step for step in run.steps if step.kind == "llm" and step.shadowed_by is None):
        names = {name for _, name in _calls(run, turn.output)} | _called_by_code(run, turn)
        if missing := sorted(names - known):
            cause = f"missing_tool_call: the model asked for {', '.join(missing)}, and no span tells what came of it"
            yield Gap(turn.seq, "tool_call", "frozen", cause, _USE)


def _called_by_code(run: Run, turn: Step) -> set[str]:
    asked, answered = (" ".join(_texts(run.value(ref))) for ref in (turn.input, turn.output))
    return {name for name in _DEFINED.findall(asked) if "<code>" in answered and f"{name}(" in answered}


def _texts(messages: Value) -> Iterator[str]:
    for message in messages if isinstance(messages, tuple) else ():
        parts = message.get("parts") if isinstance(message, Mapping) else None
        for part in parts if isinstance(parts, tuple) else ():
            text = part.get("content") if isinstance(part, Mapping) and part.get("type") == "text" else None
            if isinstance(text, str):
                yield text


def missing_model_calls(run: Run) -> Iterator[Gap]:
    """Yield a gap for each tool call that a request says the model asked for and that no recorded answer holds.

    What the first request of a conversation brings along is history from before the run, and no gap. A tool step
    whose call id was asked for by no recorded answer, and whose parent is missing too, counts as well.
    """
    turns = [step for step in run.steps if step.kind == "llm" and step.shadowed_by is None]
    answered = {call for turn in turns for call, _ in _calls(run, turn.output)}
    # Some senders leave the ids out of answers: such a call is known by its name.
    nameless = {name for turn in turns for call, name in _calls(run, turn.output) if not call}
    complete = all(turn.output.state == "whole" or turn.error is not None for turn in turns)
    earlier: list[tuple[Value, ...]] = []
    reported: set[str] = set()
    for turn in turns:
        messages = run.value(turn.input)
        listed = messages if isinstance(messages, tuple) else ()
        known = _longest_prefix(listed, earlier)
        for call, name in _calls_in(listed[known:]) if known and complete else ():
            if call and call not in answered and call not in reported and name not in nameless:
                reported.add(call)
                yield _gap(turn, f"its request holds the tool call {call}, which no recorded answer asked for")
        earlier.append(listed)
    for step in run.steps:
        if _orphan(step) and complete and step.call_id not in reported:
            yield _gap(step, f"no recorded answer asked for this call ({step.call_id})")


def _gap(step: Step, what: str) -> Gap:
    return Gap(step.seq, "model_call", "frozen", f"missing_model_call: {what}", _FIX)


def _orphan(step: Step) -> bool:
    asked = step.fields.get("asked_by") is not None
    return step.kind == "tool" and bool(step.call_id) and not asked and bool(step.fields.get("missing_parent"))


def _longest_prefix(messages: tuple[Value, ...], earlier: list[tuple[Value, ...]]) -> int:
    """Return how many messages were in an earlier request already; 0 where none of those begins this one."""
    for one in reversed(earlier):
        if one and len(one) < len(messages) and messages[: len(one)] == one:
            return len(one)
    return 0


def _calls(run: Run, ref: Ref) -> Iterator[tuple[str, str]]:
    value = run.value(ref)
    yield from _calls_in(value if isinstance(value, tuple) else ())


def _calls_in(messages: tuple[Value, ...]) -> Iterator[tuple[str, str]]:
    """Yield (id, name) of each tool call; the id is "" where there is none."""
    for message in messages:
        parts = message.get("parts") if isinstance(message, Mapping) else None
        for part in parts if isinstance(parts, tuple) else ():
            if isinstance(part, Mapping) and part.get("type") == "tool_call":
                call, name = part.get("id"), part.get("name")
                yield call if isinstance(call, str) else "", name if isinstance(name, str) else ""
