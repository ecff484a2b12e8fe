"""Which recorded calls could have seen which answers, where an agent did several things at once.

A record's causal order is told by time: what ended before a call started could have been seen by it. Among threads and
tasks that is chance. Calls of different strands that went on at once are therefore not ordered: strands are
conversations with a model (each request holds the one before it) with their tools, and the spans around concurrent
work. What came one after the other stays in that order, and so does a conversation inside a pause of another one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from runreel.replay.values import Entry
from runreel.values import Step, Value


@dataclass(slots=True, eq=False)
class _Strand:
    """One conversation and what was asked for in it; `last` is the newest request."""

    last: tuple[Value, ...]
    entries: list[Entry] = field(default_factory=list)
    group: int = -1

    @property
    def start_ns(self) -> int:
        return min(entry.start_ns for entry in self.entries)

    @property
    def end_ns(self) -> int:
        return max(entry.end_ns for entry in self.entries)

    def goes_on(self, messages: tuple[Value, ...]) -> bool:
        """Say whether these messages are the conversation, continued. Looks at its ends: the rest follows."""
        size = len(self.last)
        return 0 < size < len(messages) and messages[size - 1] == self.last[-1] and messages[0] == self.last[0]

    def was_busy(self, start_ns: int, end_ns: int) -> bool:
        """Say whether one of its calls was going on in that time."""
        return any(entry.start_ns < end_ns and start_ns < entry.end_ns for entry in self.entries)


def untangled(
    entries: Sequence[Entry], steps: Iterable[Step], calls_of: Callable[[Entry], Iterable[Mapping[str, Value]]]
) -> tuple[Entry, ...]:
    """Return the entries without the order that only time gave to what happened at once.

    `calls_of` returns the tool calls (parts of messages) that the answer of a model call asked for.
    """
    strands, above = _strands(entries, calls_of), _Above({step.seq: step for step in steps}, entries)
    talks_at_once = _group({id(strand): strand for strand in strands.values()}.values())
    spans_at_once = above.any_at_once()
    if not talks_at_once and not spans_at_once:
        return tuple(entries)

    def chance(one: int, other: int) -> bool:
        return _apart(strands.get(one), strands.get(other)) or (spans_at_once and above.at_once(one, other))

    out = []
    for entry in entries:
        seen = frozenset(seq for seq in entry.after if not chance(entry.seq, seq))
        out.append(entry if len(seen) == len(entry.after) else replace(entry, after=seen))
    return tuple(out)


def _apart(one: _Strand | None, other: _Strand | None) -> bool:
    """Say whether two strands went on at once, directly or by way of others."""
    return one is not None and other is not None and one is not other and one.group == other.group >= 0


def _group(strands: Iterable[_Strand]) -> bool:
    """Number the groups of strands that went on at once; say whether there are any."""
    going: list[_Strand] = []
    groups = 0
    for strand in sorted(strands, key=lambda one: one.start_ns):
        start, end = strand.start_ns, strand.end_ns
        going = [one for one in going if one.end_ns > start]
        for one in going:
            if one.was_busy(start, end) and strand.was_busy(one.start_ns, one.end_ns):
                if one.group < 0:
                    one.group, groups = groups, groups + 1
                if strand.group < 0:
                    strand.group = one.group
                one.group = strand.group
        going.append(strand)
    return groups > 0


def _strands(
    entries: Sequence[Entry], calls_of: Callable[[Entry], Iterable[Mapping[str, Value]]]
) -> Mapping[int, _Strand]:
    """Return the strand of each model call, and of each tool call that a model call asked for by its id.

    Threads may each have a `call_1`: of several it is the one that asked with these arguments.
    """
    found: dict[int, _Strand] = {}
    strands: list[_Strand] = []
    asked: dict[str, list[tuple[Value, _Strand]]] = {}
    for entry in entries:
        if entry.kind == "llm" and isinstance(entry.request, Mapping):
            messages = entry.request.get("messages")
            held = messages if isinstance(messages, tuple) else ()
            strand = next((one for one in reversed(strands) if one.goes_on(held)), None)
            if strand is None:
                strand = _Strand(held)
                strands.append(strand)
            strand.last = held
            for one in calls_of(entry):
                asked.setdefault(str(one.get("id")), []).append((one.get("arguments"), strand))
        else:
            by_id = asked.get(entry.call_id, []) if entry.call_id else []
            fitting = [(said, strand) for said, strand in by_id if said == entry.request] or by_id
            strand = fitting[-1][1] if fitting else None
        if strand is not None:
            strand.entries.append(entry)
            found[entry.seq] = strand
    return found


class _Above:
    """The spans around the calls."""

    def __init__(self, steps: Mapping[int, Step], entries: Iterable[Entry]) -> None:
        self._steps = steps
        self._paths: dict[int, tuple[int, ...]] = {}
        self._calls = [entry.seq for entry in entries]

    def any_at_once(self) -> bool:
        """Say whether there are spans around calls that overlapped, side by side."""
        around: dict[int | None, set[int]] = {}
        for call in self._calls:
            for above, below in pairwise((None, *self._path(call)[:-1])):
                if below is not None:
                    around.setdefault(above, set()).add(below)
        for group in around.values():
            spans = sorted((self._steps[seq] for seq in group), key=lambda step: step.start_ns)
            if any(_overlapped(one, other) for one, other in pairwise(spans)):
                return True
        return False

    def at_once(self, one: int, other: int) -> bool:
        """Say whether two calls are below different spans that overlapped."""
        for left, right in zip(self._path(one), self._path(other), strict=False):
            if left != right:
                return one != left and other != right and _overlapped(self._steps[left], self._steps[right])
        return False

    def _path(self, seq: int) -> tuple[int, ...]:
        """Return the steps from the top down to a call."""
        found = self._paths.get(seq)
        if found is None:
            step = self._steps.get(seq)
            parent = step.parent if step is not None else None
            above = self._path(parent) if parent is not None and parent in self._steps and parent != seq else ()
            found = self._paths[seq] = (*above, seq)
        return found


def _overlapped(one: Step, other: Step) -> bool:
    return one.start_ns < other.end_ns and other.start_ns < one.end_ns
