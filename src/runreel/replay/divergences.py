"""How each divergence that the matching finds is told: its values, its reason, what to do about it."""

from collections.abc import Sequence, Set
from typing import Final

from runreel.canonical import Mismatch
from runreel.replay.cleaning import label, mask
from runreel.replay.drawn import Volatile
from runreel.replay.unifying import Call
from runreel.replay.values import Divergence, Entry, Nearest
from runreel.values import Value

_UNSTUBBED: Final = "name the function that runs: --tool NAME=module:function"
UNRECORDED: Final = "the agent does something it did not do when it was recorded; nothing recorded answers it"


def changed(
    call: Call, expected: Entry, mismatch: Mismatch, *, ordinal: int, nearest: Sequence[Nearest], after: int | None
) -> Divergence:
    """A recorded call was made with another request."""
    return Divergence(
        "input_mismatch",
        kind=call.kind,
        name=expected.name,
        recorded=expected.seq,
        replayed=ordinal,
        path=mismatch.path,
        was=mismatch.was,
        now=mismatch.now,
        has_was=True,
        has_now=True,
        reason=mismatch.reason,
        nearest=tuple(nearest),
        advice="the agent's code, prompt or input changed what it asks here; if that is meant, record a new run",
        call_id=call.call_id,
        after=after,
    )


def contract_changed(entry: Entry, was: Value, now: Value) -> Divergence:
    """A recorded call was made again, and the tool's contract judges it otherwise."""
    return Divergence(
        "decision_mismatch",
        kind=entry.kind,
        name=entry.name,
        recorded=entry.seq,
        path="/contract/decision",
        was=was,
        now=now,
        has_was=True,
        has_now=True,
        reason="the tool's contract judges the same arguments otherwise",
        advice="the contract changed; if that is meant, record a new run",
        call_id=entry.call_id,
    )


def nondeterministic(
    call: Call, expected: Entry, mismatch: Mismatch, why: Volatile, *, ordinal: int, after: int | None
) -> Divergence:
    """A recorded call was made with a value that cannot come again."""
    field = f"{call.kind}:{expected.name}{mask(mismatch.path)}"
    return Divergence(
        "nondeterminism",
        kind=call.kind,
        name=expected.name,
        recorded=expected.seq,
        replayed=ordinal,
        path=mismatch.path,
        was=mismatch.was,
        now=mismatch.now,
        has_was=True,
        has_now=True,
        reason=f"it holds the value of a {why}, which is another one in every run",
        advice=f"leave it out of the request, or mask it: --mask {field}",
        call_id=call.call_id,
        after=after,
    )


def unrecorded(call: Call, reason: str, *, ordinal: int, nearest: Sequence[Nearest], after: int | None) -> Divergence:
    """A call that nothing recorded answers."""
    return Divergence(
        "unrecorded_call",
        kind=call.kind,
        name=label(call.name),
        replayed=ordinal,
        now=call.request,
        has_now=True,
        reason=reason,
        nearest=tuple(nearest),
        advice=UNRECORDED,
        call_id=call.call_id,
        after=after,
    )


def times(count: int) -> str:
    """Say how often a call had been recorded that is made once more."""
    if not count:
        return "never recorded"
    return "recorded once, asked for again" if count == 1 else f"recorded {count} times, asked for once more"


def near(one: Nearest) -> str:
    """Say which recorded call comes close, where it differs, and whether it had been answered by then."""
    words = [f"step {one.seq}", f"{one.likeness:.0%} alike"]
    if one.path:
        words.append(f"differs at {mask(one.path)}")
    if one.answered:
        words.append("already answered")
    return ", ".join(words)


def out_of_order(entry: Entry, call: Call, late: Set[int], *, ordinal: int, after: int | None) -> Divergence:
    """A recorded call came before another one that it followed from."""
    listed = ", ".join(map(str, sorted(late)))
    return Divergence(
        "order_mismatch",
        kind=entry.kind,
        name=entry.name,
        recorded=entry.seq,
        replayed=ordinal,
        reason=f"came before step {listed}, whose answer the recorded call could have seen",
        advice="the agent asks in another order than it was recorded, across a dependency",
        call_id=call.call_id,
        after=after,
    )


def unstubbed(entry: Entry) -> Divergence:
    """A recorded tool's result came from elsewhere."""
    return Divergence(
        "unstubbed_tool",
        kind=entry.kind,
        name=entry.name,
        recorded=entry.seq,
        reason="its result reached the model, but no boundary was asked: another function than the one found ran",
        advice=_UNSTUBBED,
        call_id=entry.call_id,
    )


def missing(entry: Entry, *, told_otherwise: bool) -> Divergence:
    """A recorded call was not made. `told_otherwise`: the model was told something in place of its result."""
    reason, advice = "recorded, never asked for", "the agent no longer does what it did when it was recorded"
    if told_otherwise:
        reason += "; the model was told something else in place of its result"
        advice += f"; if a tool did run, {_UNSTUBBED}"
    return Divergence(
        "missing_call",
        kind=entry.kind,
        name=entry.name,
        recorded=entry.seq,
        was=entry.request,
        has_was=True,
        reason=reason,
        advice=advice,
        call_id=entry.call_id,
    )
