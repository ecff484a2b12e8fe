"""Finds which model call asked for which tool call, and what the model was told in return.

Ids that the model gave pair first, then name and arguments; order breaks ties. Ids alone are not trusted: local
models use `call_1` at every turn. An interrupted answer asked for nothing, since its reader had left.
"""

from collections.abc import Mapping, Sequence

from runreel.runs.draft import Call, Draft, fingerprint, parts_of
from runreel.runs.tree import upwards
from runreel.semconv.view import Found, Memo, withheld
from runreel.values import Value


class Conversation:
    """The model calls of a run in order, with the tool calls that they ask for and the answers that they are given."""

    def __init__(self, drafts: Sequence[Draft], memo: Memo) -> None:
        self.memo = memo
        self.turns = sorted((one for one in drafts if one.kind == "llm" and one.counts), key=lambda one: one.order)
        self.calls = [call for index, turn in enumerate(self.turns) for call in self._calls(index, turn)]
        self.responses = [_responses(turn) for turn in self.turns]
        self.by_id: dict[str, list[Call]] = {}
        for call in self.calls:
            if call.id:
                self.by_id.setdefault(call.id, []).append(call)

    def _calls(self, index: int, turn: Draft) -> list[Call]:
        if turn.fields.get("interrupted") is True:
            return []
        out: list[Call] = []
        for position, part in enumerate(parts_of(turn.output, "tool_call")):
            call_id, name = part.get("id"), part.get("name")
            known = "arguments" in part
            call = Call(turn, index, position, _text(call_id), _text(name), part.get("arguments"), known)
            call.fingerprint = fingerprint(call.arguments, self.memo) if known else b""
            out.append(call)
        return out

    def answer(self, call: Call) -> tuple[Draft, Value] | None:
        """Return the first later model call that was told the result of a call, and the result."""
        if not call.id:
            return None
        told = len(self.responses[call.index].get(call.id, ()))
        later = range(call.index + 1, len(self.turns))
        # Clocks of two hosts may disagree; a unique id does not lie.
        earlier = range(call.index) if told == 0 and len(self.by_id[call.id]) == 1 else range(0)
        for index in (*later, *earlier):
            found = self.responses[index].get(call.id, ())
            if len(found) > told:
                return self.turns[index], found[told]
        return None


def pair(talk: Conversation, tools: Sequence[Draft]) -> None:
    """Say of each tool step which model call asked for it, and fill what only the other side recorded."""
    ordered = sorted(tools, key=lambda one: one.order)
    for tool in ordered:
        candidates = [call for call in talk.by_id.get(tool.call_id, ()) if _free(call, tool)] if tool.call_id else []
        same_name = [call for call in candidates if call.name == tool.reading.name]
        if candidates:
            _take(tool, same_name or candidates, "call_id", talk.memo)
    for infer in (_by_arguments, _by_name):
        for tool in ordered:
            if tool.asked_by is None and tool.call_id not in talk.by_id:
                infer(tool, talk)
    for call in talk.calls:
        if call.taken_by is not None:
            _fill(call, call.taken_by, talk)


def _by_arguments(tool: Draft, talk: Conversation) -> None:
    """Without an id that a model gave: the call with the same name and equal arguments."""
    if tool.input.state != "whole":
        return
    mine = fingerprint(tool.input.value, talk.memo)
    same = [call for call in talk.calls if call.name == tool.reading.name and call.fingerprint == mine]
    _choose(tool, [call for call in same if _free(call, tool)], same, talk)


def _by_name(tool: Draft, talk: Conversation) -> None:
    """Frameworks write arguments in forms of their own, or with defaults filled in: then the next call of that name."""
    same = [call for call in talk.calls if call.name == tool.reading.name and call.turn.end_ns <= tool.start_ns]
    _choose(tool, [call for call in same if _free(call, tool)], same, talk)


def _free(call: Call, tool: Draft) -> bool:
    """Say whether a call is not taken yet, and not asked for inside the very tool step: a sub-agent's turn."""
    return call.taken_by is None and all(above is not tool for above in upwards(call.turn))


def _choose(tool: Draft, free: Sequence[Call], fitting: Sequence[Call], talk: Conversation) -> None:
    if not free:
        return
    chosen = _take(tool, free, "inferred", talk.memo)
    tool.call_id = tool.call_id or chosen.id
    if sum(1 for call in fitting if call.turn is chosen.turn) > 1:
        # Two calls of one answer fit equally well; which of them this was is a guess, and said to be one.
        tool.fields["pairing"] = "ambiguous"


def _take(tool: Draft, candidates: Sequence[Call], how: str, memo: Memo) -> Call:
    """Give a tool step the best of the calls: equal arguments, asked before it started, the latest such turn."""
    mine = fingerprint(tool.input.value, memo) if tool.input.state == "whole" else b""

    def preference(call: Call) -> tuple[bool, bool, int, int]:
        before = call.turn.end_ns <= tool.start_ns
        return (call.fingerprint != mine, not before, -call.index if before else call.index, call.position)

    chosen = min(candidates, key=preference)
    chosen.taken_by = tool
    tool.asked_by = chosen.turn
    tool.fields["pairing"] = how
    return chosen


def _fill(call: Call, tool: Draft, talk: Conversation) -> None:
    """Take from the model's side what the tool span lacks: arguments from the request, the result from the next one."""
    lacking = tool.input.state in ("absent", "withheld") or _bare(tool.input.value, call.arguments)
    if lacking and call.has_arguments and not withheld(call.arguments):
        tool.input = Found(call.arguments, "whole")
        tool.fields["input_source"] = "model_call"
    # An empty attribute is the result null, unless the model was told another one.
    known = tool.output.state == "whole" and tool.output.value is not None
    if known or tool.reading.error is not None:
        return
    told = talk.answer(call)
    if told is None or told[0].input.state != "whole" or withheld(told[1]):
        return
    # A result that ends with "[truncated]" is whole where the model was told just that: the tool cut it itself.
    if told[1] != tool.output.value:
        tool.fields["output_source"] = "next_model_call"
    tool.output = Found(told[1], "whole")


def _bare(value: Value, arguments: Value) -> bool:
    """Say whether a tool span holds the one argument of a call without its name, as LangChain writes it."""
    if not isinstance(arguments, Mapping) or len(arguments) != 1 or not isinstance(value, str):
        return False
    (only,) = arguments.values()
    return isinstance(only, str | int | float) and str(only) == value


def _responses(turn: Draft) -> Mapping[str, list[Value]]:
    out: dict[str, list[Value]] = {}
    for part in parts_of(turn.input, "tool_call_response"):
        if "response" in part and isinstance(part.get("id"), str):
            out.setdefault(_text(part["id"]), []).append(part["response"])
    return out


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ""
