"""Finds the decisions of a run: hand-offs and routers among its steps, and what each answer of a model decided.

Frameworks dress hand-overs to another agent up as tools. The framework carries them out itself, so nothing stands at a
boundary that a replay could answer for: they are decisions, and no tool calls. A name alone proves nothing, since
`transfer_to_savings` may well move money: a hand-off needs the agent that it leads to.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Final

from runreel.runs.draft import Call, Draft
from runreel.runs.pairing import Conversation
from runreel.semconv.reading import Reading
from runreel.semconv.view import Found
from runreel.values import Span

_HANDOFF_SPAN: Final = re.compile(r"handoff to (.+)")
_TRANSFER: Final = re.compile(r"transfer_(?:back_)?to_(.+)")
_END: Final = "__end__"
_OPERATIONS: Final[Mapping[str, str]] = {"handoff": "handoff", "goto": "route", "decide": "route"}
_LONGEST_NAME: Final = 200


def merged(reading: Reading, span: Span) -> bool:
    """Say whether a tool span only sums up the tool spans beside it, as Google ADK's does for parallel calls."""
    return reading.kind == "tool" and "(merged tools)" in (reading.name, span.name.removeprefix("execute_tool "))


def hand_over(drafts: Sequence[Draft], talk: Conversation) -> None:
    """Give each hand-off span the model's call that it carries out: their names differ."""
    for draft in sorted(drafts, key=lambda one: one.order):
        target = _handoff_span(draft)
        if draft.kind not in ("tool", "decision") or not target or draft.asked_by is not None:
            continue
        wanted = _plain(f"transfer_to_{target}")
        fitting = [call for call in talk.calls if call.taken_by is None and _plain(call.name) == wanted]
        before = [call for call in fitting if call.turn.end_ns <= draft.start_ns]
        if before:
            call = before[-1]
            call.taken_by, draft.asked_by = draft, call.turn
            draft.call_id = draft.call_id or call.id
            draft.fields["pairing"] = "inferred"


def decide(drafts: Sequence[Draft], talk: Conversation) -> None:
    """Turn what only looks like a tool or an agent into the decision that it is; say what each answer decided."""
    agents = {_plain(one.reading.name): one.reading.name for one in drafts if one.kind == "agent"}
    below = {one.parent for one in drafts}
    for one in drafts:
        if one.kind == "decision":
            _name_type(one)
        elif one.kind == "tool" and (target := _handoff(one, agents)):
            _become(one, "handoff", target)
        elif one.kind == "agent" and one not in below and (chosen := _route(one, drafts)):
            _become(one, "route", chosen)
    _answers(talk)


def _become(one: Draft, type_: str, chosen: str) -> None:
    one.fields["type"] = type_  # a tool's own `type` (function) says something else
    one.reading = replace(one.reading, kind="decision", kind_source="assembled")
    one.output = Found(chosen, "whole")


def _name_type(one: Draft) -> None:
    """A decision span without a type of ours has the one that its operation means, or its name."""
    if isinstance(one.fields.get("type"), str) or one.span is None:
        return
    operation = one.span.attributes.get("gen_ai.operation.name")
    type_ = _OPERATIONS.get(operation) if isinstance(operation, str) else None
    target = _handoff_span(one)
    if type_ or target:
        one.fields["type"] = type_ or "handoff"
    if target and one.output.state != "whole":
        one.output = Found(target, "whole")


def _handoff_span(one: Draft) -> str:
    found = _HANDOFF_SPAN.fullmatch(one.reading.name)
    return found[1] if found else ""


def _handoff(one: Draft, agents: Mapping[str, str]) -> str:
    """Return the agent that a tool step hands over to, "" where it is a tool like any other."""
    if target := _handoff_span(one):
        return agents.get(_plain(target), "")
    found = _TRANSFER.fullmatch(_plain(one.reading.name))
    if found is None:
        return ""
    if found[1] == "agent" and isinstance(one.input.value, Mapping):
        named = one.input.value.get("agent_name")
        return agents.get(_plain(named), "") if isinstance(named, str) else ""
    return agents.get(found[1], "")


def _route(one: Draft, drafts: Sequence[Draft]) -> str:
    """Return where a router leads: it does nothing but to name a step beside it that begins afterwards, or the end."""
    value = one.output.value
    if one.parent is None or one.output.state != "whole" or not isinstance(value, str) or len(value) > _LONGEST_NAME:
        return ""
    if value == _END:
        return value
    around = {one.parent, one.parent.parent} - {None}
    follows = any(
        other.reading.name == value and other is not one and other.start_ns >= one.end_ns and other.parent in around
        for other in drafts
    )
    return value if follows else ""


def _answers(talk: Conversation) -> None:
    """Say what each answer of a model decided: which tools, whom to hand over to, to try again, or to give up."""
    asked: dict[Draft, list[Call]] = {}
    told: dict[Draft, list[Call]] = {}
    for call in talk.calls:
        asked.setdefault(call.turn, []).append(call)
        if (answer := talk.answer(call)) is not None:
            told.setdefault(answer[0], []).append(call)
    failed: set[str] = set()
    for turn in talk.turns:
        calls = asked.get(turn, [])
        if calls:
            turn.fields["decision"] = {"type": _type(calls, failed), "chosen": tuple(call.name for call in calls)}
        elif turn.output.state == "whole" and turn in told and all(map(_failed, told[turn])):
            turn.fields["decision"] = {"type": "give_up"}
        failed |= {call.name for call in calls if _failed(call)}


def _type(calls: Sequence[Call], failed: Set[str]) -> str:
    if any(call.taken_by is not None and call.taken_by.fields.get("type") == "handoff" for call in calls):
        return "handoff"
    return "retry" if all(call.name in failed for call in calls) else "tool_choice"


def _failed(call: Call) -> bool:
    return call.taken_by is not None and call.taken_by.reading.error is not None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
