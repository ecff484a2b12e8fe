"""Replay twice under two hash seeds: what differs depends on the order of a set, and may be different tomorrow."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from runreel.replay.diff import Difference, diff
from runreel.replay.engine import replay
from runreel.replay.values import Divergence, Replayed
from runreel.values import Run

SEEDS = (0, 1)
_ADVICE = "put what comes from a set, or from hash(), into an order (sorted) before it is used"


def check_order(run: Run, agent: str | None = None, **options: Any) -> Replayed:
    """Replay under one hash seed and then under another; return the first replay, with what differs between the two.

    A difference is a divergence of type `nondeterminism`. `options` are those of `engine.replay`, which says what is
    raised.
    """
    first = replay(run, agent, hash_seed=SEEDS[0], **options)
    again = replay(run, agent, hash_seed=SEEDS[1], **options)
    found = compare(first, again)
    note = f"replayed under the hash seeds {SEEDS[0]} and {SEEDS[1]}: " + ("they differ" if found else "no difference")
    verdict = "diverged" if found and first.verdict == "same" else first.verdict
    return replace(first, verdict=verdict, divergences=(*first.divergences, *found), notes=(*first.notes, note))


def compare(first: Replayed, again: Replayed) -> tuple[Divergence, ...]:
    """Return the first thing in which two replays differ: a divergence of one, else of what they recorded."""
    if first.verdict == "not_comparable" or again.verdict == "not_comparable":
        return ()
    for position in range(max(len(first.divergences), len(again.divergences))):
        one, other = _at(first.divergences, position), _at(again.divergences, position)
        if one is None or other is None or _shape(one) != _shape(other):
            return (_told(other or one),)
    if first.run is None or again.run is None:
        return ()
    differences = diff(first.run, again.run).differences
    return (_of(differences[0]),) if differences else ()


def _at(divergences: Sequence[Divergence], position: int) -> Divergence | None:
    return divergences[position] if position < len(divergences) else None


def _shape(one: Divergence) -> tuple[object, ...]:
    return one.type, one.kind, one.name, one.recorded, one.path, one.now


def _told(one: Divergence | None) -> Divergence:
    assert one is not None
    return replace(
        one, type="nondeterminism", reason=f"{one.type} under one hash seed, not under another", advice=_ADVICE
    )


def _of(one: Difference) -> Divergence:
    change = one.changes[0] if one.changes else None
    return Divergence(
        "nondeterminism",
        kind=one.kind,
        name=one.name,
        path=f"/{one.side}{change.path}" if change is not None else "",
        reason="what the agent does here is another thing under another hash seed",
        advice=_ADVICE,
    )
