"""Notices model calls that happened and were not recorded: what remains of them in later requests and tool steps."""

from collections.abc import Iterator, Mapping
from typing import Final

from runreel.values import Gap, Ref, Run, Step, Value

_FIX: Final = "instrument every model client of the agent, and flush the exporter before the process ends"


def missing_model_calls(run: Run) -> Iterator[Gap]:
    """Yield a gap for each tool call that a request says the model asked for and that no recorded answer holds.

    What the first request of a conversation brings along is history from before the run, and no gap. A tool step
    whose call id was asked for by no recorded answer, and whose parent is missing too, counts as well.
    """
    turns = [step for step in run.steps if step.kind == "llm" and step.shadowed_by is None]
    answered = {call for turn in turns for call in _ids(run, turn.output, "tool_call")}
    complete = all(turn.output.state == "whole" or turn.error is not None for turn in turns)
    earlier: list[tuple[Value, ...]] = []
    reported: set[str] = set()
    for turn in turns:
        messages = run.value(turn.input)
        listed = messages if isinstance(messages, tuple) else ()
        known = _longest_prefix(listed, earlier)
        for call in _ids_in(listed[known:], "tool_call") if known and complete else ():
            if call not in answered and call not in reported:
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


def _ids(run: Run, ref: Ref, kind: str) -> Iterator[str]:
    value = run.value(ref)
    yield from _ids_in(value if isinstance(value, tuple) else (), kind)


def _ids_in(messages: tuple[Value, ...], kind: str) -> Iterator[str]:
    for message in messages:
        parts = message.get("parts") if isinstance(message, Mapping) else None
        for part in parts if isinstance(parts, tuple) else ():
            call = part.get("id") if isinstance(part, Mapping) and part.get("type") == kind else None
            if isinstance(call, str) and call:
                yield call
