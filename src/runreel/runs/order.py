"""Puts steps into order and says which answers each of them could have seen.

Order: by start, then the longer one first, then the sender's own number, then span id, except that no step comes
before its cause. Causes are: the parent; for a tool call the model call that asked for it; for a model call the tool
calls whose results it was told. They outrank clocks, since children start before parents on other hosts' clocks.

Causal order (`after`): the steps that ended before this one started and stand before it, and its causes other than
its parents, and whatever those could have seen. Calls that one model answer asked for are not ordered among each
other, nor is what happens inside them: an agent may run them at once or one by one. Steps that are merely another
view of a step (`shadowed_by`) and the step's own ancestors are left out.
"""

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from runreel.runs.draft import Draft
from runreel.runs.pairing import Conversation
from runreel.runs.tree import upwards


def causes(talk: Conversation) -> list[tuple[Draft, Draft]]:
    """Return (cause, step): a model call and the tool call it asked for, a tool call and the model call told of it."""
    edges: list[tuple[Draft, Draft]] = []
    for call in talk.calls:
        tool = call.taken_by
        if tool is None:
            continue
        edges.append((call.turn, tool))
        told = talk.answer(call)
        if told is not None:
            edges.append((tool, told[0]))
    return edges


def arrange(drafts: Sequence[Draft], edges: Sequence[tuple[Draft, Draft]]) -> list[Draft]:
    """Return the steps in order. A circle of causes (ids used twice) is cut, never a parent's place."""
    waiting: dict[Draft, int] = dict.fromkeys(drafts, 0)
    followers: dict[Draft, list[Draft]] = {one: [] for one in drafts}
    for cause, step in (*((one.parent, one) for one in drafts), *edges):
        if cause is not None and cause is not step and cause in waiting and step in waiting:
            waiting[step] += 1
            followers[cause].append(step)
    ready = [(one.order, index, one) for index, one in enumerate(drafts) if waiting[one] == 0]
    heapq.heapify(ready)
    numbers = {one: index for index, one in enumerate(drafts)}
    out: list[Draft] = []
    done: set[Draft] = set()
    while len(out) < len(drafts):
        if ready:
            one = heapq.heappop(ready)[2]
        else:
            left = (draft for draft in drafts if draft not in done and (draft.parent is None or draft.parent in done))
            one = min(left, key=lambda draft: draft.order)
        if one in done:
            continue
        done.add(one)
        out.append(one)
        for step in followers[one]:
            waiting[step] -= 1
            if waiting[step] == 0 and step not in done:
                heapq.heappush(ready, (step.order, numbers[step], step))
    return out


def after_sets(ordered: Sequence[Draft], edges: Sequence[tuple[Draft, Draft]]) -> list[frozenset[int]]:
    """Return, for each step in order, the places of the steps whose answers it could have seen."""
    place = {one: index for index, one in enumerate(ordered)}
    bits = _ended_before(ordered)
    subtree = _subtrees(ordered, place)
    siblings = _siblings(ordered, place)
    shadowed = sum(1 << index for index, one in enumerate(ordered) if not one.counts)
    told: list[list[int]] = [[] for _ in ordered]
    for cause, step in edges:
        if cause in place and step in place and place[cause] < place[step]:
            told[place[step]].append(place[cause])
    masks: list[int] = []
    for index, one in enumerate(ordered):
        mask = bits[index]
        for cause_index in told[index]:
            mask |= 1 << cause_index | masks[cause_index]
        hidden = shadowed
        for ancestor in upwards(one):
            at = place[ancestor]
            hidden |= 1 << at
            for sibling in siblings.get(at, ()):
                hidden |= subtree[sibling]
        masks.append(mask & ~hidden & ((1 << index) - 1))
    return [frozenset(_members(mask)) for mask in masks]


def _ended_before(ordered: Sequence[Draft]) -> list[int]:
    """Return, for each step, the mask of those that ended before it started. What never ended did not."""
    by_end = sorted((one.end_ns, index) for index, one in enumerate(ordered) if one.ended)
    ends = [end for end, _ in by_end]
    prefix = [0]
    for _, index in by_end:
        prefix.append(prefix[-1] | 1 << index)
    return [prefix[bisect_right(ends, one.start_ns)] for one in ordered]


def _subtrees(ordered: Sequence[Draft], place: dict[Draft, int]) -> list[int]:
    """Return, for each step, the mask of itself and all below it."""
    masks = [1 << index for index in range(len(ordered))]
    for index in range(len(ordered) - 1, -1, -1):
        parent = ordered[index].parent
        if parent is not None and place[parent] < index:
            masks[place[parent]] |= masks[index]
    return masks


def _siblings(ordered: Sequence[Draft], place: dict[Draft, int]) -> dict[int, list[int]]:
    """Return, for each tool step, the others that the same model answer asked for."""
    by_turn: dict[Draft, list[int]] = {}
    for one in ordered:
        if one.asked_by is not None:
            by_turn.setdefault(one.asked_by, []).append(place[one])
    return {
        at: [other for other in group if other != at] for group in by_turn.values() for at in group if len(group) > 1
    }


def _members(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
