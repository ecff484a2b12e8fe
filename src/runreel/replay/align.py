"""Pair the steps of two runs by what they are and what they follow from, never by position alone."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from runreel.replay.compare import likeness
from runreel.values import Run, Step, Value

# Two steps of one kind and name are rather one changed step than one gone and one new: leaving out both costs more
# than the worst pair.
_GAP: Final = 0.55
_ALIKE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Alignment:
    """`pairs` are the seqs of steps that stand for each other, in the first run's order; the rest have no partner.

    `call_ids` maps the second run's tool call ids to the first's: models make new ones each time.
    """

    pairs: tuple[tuple[int, int], ...]
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]
    call_ids: Mapping[str, str]


def align(a: Run, b: Run) -> Alignment:
    """Pair the steps of two runs: model calls first, then what they asked for, then the rest."""
    steps_a, steps_b = counted(a), counted(b)
    by_agent = _agents(steps_a) == _agents(steps_b)
    groups_a, groups_b = _groups(a, steps_a, by_agent), _groups(b, steps_b, by_agent)
    pairs: list[tuple[Step, Step]] = []
    call_ids: dict[str, str] = {}
    # Model calls teach which tool call is which, so they come first.
    for group in sorted(set(groups_a) | set(groups_b), key=lambda group: (group[0] != "llm", group)):
        found = _pair(a, b, groups_a.get(group, ()), groups_b.get(group, ()), call_ids)
        pairs += found
        if group[0] == "llm":
            for one, two in found:
                call_ids.update(_same_calls(a, one, b, two))
    pairs.sort(key=lambda pair: pair[0].seq)
    paired_a, paired_b = {one.seq for one, _ in pairs}, {two.seq for _, two in pairs}
    return Alignment(
        tuple((one.seq, two.seq) for one, two in pairs),
        tuple(step.seq for step in steps_a if step.seq not in paired_a),
        tuple(step.seq for step in steps_b if step.seq not in paired_b),
        call_ids,
    )


def counted(run: Run) -> list[Step]:
    """Return the steps that are no other view of another step."""
    return [step for step in run.steps if step.shadowed_by is None]


_Group = tuple[str, str, str]


def _agents(steps: Iterable[Step]) -> set[str]:
    return {step.name for step in steps if step.kind == "agent"}


def _groups(run: Run, steps: Sequence[Step], by_agent: bool) -> dict[_Group, list[Step]]:
    """Group steps that may stand for each other: same kind, same name (a model may be another), same agent around."""
    by_seq = {step.seq: step for step in run.steps}
    groups: dict[_Group, list[Step]] = defaultdict(list)
    for step in steps:
        name = "" if step.kind == "llm" else step.name
        groups[step.kind, name, _agent_of(step, by_seq) if by_agent else ""].append(step)
    return groups


def _agent_of(step: Step, by_seq: Mapping[int, Step]) -> str:
    above = step.parent
    while above is not None and (parent := by_seq.get(above)) is not None:
        if parent.kind == "agent":
            return parent.name
        above = parent.parent
    return ""


def _pair(
    a: Run, b: Run, left: Sequence[Step], right: Sequence[Step], call_ids: Mapping[str, str]
) -> list[tuple[Step, Step]]:
    """Pair the steps of one group: by call id, then by equal input in order, then by likeness in order."""
    pairs: list[tuple[Step, Step]] = []
    keys: tuple[Callable[[Step, bool], str], ...] = (
        lambda step, second: call_ids.get(step.call_id, "") if second else step.call_id,
        lambda step, _: step.input.sha256,
    )
    for key in keys:
        found = _by_key(left, right, key)
        pairs += found
        left = _without(left, (one for one, _ in found))
        right = _without(right, (two for _, two in found))
    return pairs + _by_likeness(a, b, left, right)


def _without(steps: Sequence[Step], gone: Iterable[Step]) -> list[Step]:
    seqs = {step.seq for step in gone}
    return [step for step in steps if step.seq not in seqs]


def _by_key(left: Sequence[Step], right: Sequence[Step], key: Callable[[Step, bool], str]) -> list[tuple[Step, Step]]:
    waiting: dict[str, deque[Step]] = defaultdict(deque)
    for step in left:
        if name := key(step, False):
            waiting[name].append(step)
    return [(queue.popleft(), step) for step in right if (queue := waiting.get(key(step, True)))]


def _by_likeness(a: Run, b: Run, left: Sequence[Step], right: Sequence[Step]) -> list[tuple[Step, Step]]:
    """Pair in order. Like ones from the front and the back first: what one change touches stays mostly in step."""
    start, least = 0, min(len(left), len(right))
    if len(left) == len(right):
        return list(zip(left, right, strict=True))

    def like(one: Step, two: Step) -> float:
        return likeness(a.value(one.input), b.value(two.input))

    while start < least and like(left[start], right[start]) >= _ALIKE:
        start += 1
    end = 0
    while end < least - start and like(left[-1 - end], right[-1 - end]) >= _ALIKE:
        end += 1
    middle = _cheapest(left[start : len(left) - end], right[start : len(right) - end], like)
    back = zip(left[len(left) - end :], right[len(right) - end :], strict=True)
    return [*zip(left[:start], right[:start], strict=True), *middle, *back]


def _cheapest(
    left: Sequence[Step], right: Sequence[Step], like: Callable[[Step, Step], float]
) -> list[tuple[Step, Step]]:
    """Return the pairing in order that costs least: a pair by how unlike it is, a step left out a fixed price."""
    rows, columns = len(left), len(right)
    if not rows or not columns:
        return []
    unlike = [[1.0 - like(one, two) for two in right] for one in left]
    cost = [[_GAP * (i + j) for j in range(columns + 1)] for i in range(rows + 1)]
    for i in range(rows):
        for j in range(columns):
            cost[i + 1][j + 1] = min(cost[i][j] + unlike[i][j], cost[i][j + 1] + _GAP, cost[i + 1][j] + _GAP)
    pairs: list[tuple[Step, Step]] = []
    i, j = rows, columns
    while i and j:
        if cost[i][j] == cost[i - 1][j - 1] + unlike[i - 1][j - 1]:
            i, j = i - 1, j - 1
            pairs.append((left[i], right[j]))
        elif cost[i][j] == cost[i - 1][j] + _GAP:
            i -= 1
        else:
            j -= 1
    return pairs[::-1]


# --- tool call ids ----------------------------------------------------------------------------------------------------


def _same_calls(a: Run, one: Step, b: Run, two: Step) -> dict[str, str]:
    """Say which call of the second answer is which of the first: the next one of the same name."""
    waiting: dict[str, deque[str]] = defaultdict(deque)
    for call_id, name in _calls(a.value(one.output)):
        waiting[name].append(call_id)
    return {call_id: queue.popleft() for call_id, name in _calls(b.value(two.output)) if (queue := waiting.get(name))}


def _calls(output: Value) -> list[tuple[str, str]]:
    parts = [part for message in _maps(output) for part in _maps(message.get("parts"))]
    return [(str(part.get("id")), str(part.get("name"))) for part in parts if part.get("type") == "tool_call"]


def _maps(value: Value) -> list[Mapping[str, Value]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, tuple) else []


def with_call_ids(messages: Value, call_ids: Mapping[str, str]) -> Value:
    """Return messages with the ids of tool calls and their results renamed."""
    if not isinstance(messages, tuple):
        return messages
    return tuple(_message(message, call_ids) for message in messages)


def _message(message: Value, call_ids: Mapping[str, str]) -> Value:
    parts = message.get("parts") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(parts, tuple):
        return message
    return {**message, "parts": tuple(_renamed(part, call_ids) for part in parts)}


def _renamed(part: Value, call_ids: Mapping[str, str]) -> Value:
    if not isinstance(part, Mapping) or part.get("type") not in ("tool_call", "tool_call_response"):
        return part
    call_id = part.get("id")
    return {**part, "id": call_ids[call_id]} if isinstance(call_id, str) and call_id in call_ids else part
