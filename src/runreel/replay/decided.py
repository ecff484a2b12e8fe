"""Compare what the agent decided, and the flags that it saw, with the record: nobody is asked for either.

Both come from what the replay recorded of itself, so that an agent which exports no spans has nothing to compare.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from runreel.canonical import Bindings, Mismatch
from runreel.replay.unifying import Rules, tokens_in
from runreel.replay.values import Divergence
from runreel.values import Run, Step, Value

_FLAGS_PLACE = -1.0  # a flag is the run's: it was seen before what it decided
_ADVICE = "every call before it is as recorded: the agent's own code, or what it reads beside its calls, decides this"


@dataclass(frozen=True, slots=True)
class Decided:
    """A difference and its place among the recorded steps."""

    place: float
    divergence: Divergence


def differences(
    recorded: Run, own: Run, rules: Rules, bindings: Bindings, *, last: int | None, ended: bool
) -> list[Decided]:
    """Return what was decided otherwise, in recorded order.

    Args:
        recorded: The run that was replayed.
        own: What the replay recorded of itself.
        rules: How values unify.
        bindings: What the tokens were found to stand for.
        last: The last recorded step that was answered. What was decided after it may not have been reached.
        ended: Whether the agent came to its own end.
    """
    comparing = _Comparing(recorded, own, rules, bindings)
    found = list(comparing.flags(ended=ended))
    theirs, ours = _by_name(recorded), _by_name(own)
    for name, steps in theirs.items():
        others = ours.get(name, ())
        for step, other in zip(steps, others, strict=False):
            found += comparing.decision(step, other)
        for step in steps[len(others) :]:
            if ended or (last is not None and last > step.seq):
                found.append(Decided(step.seq, _missing(step)))
    for name, others in ours.items():
        before = theirs.get(name, ())
        for _ in others[len(before) :]:
            after = before[-1].seq if before else last
            found.append(Decided(-0.5 if after is None else after + 0.5, _unrecorded(name, after)))
    return sorted(found, key=lambda one: one.place)


def put_in(found: Sequence[Decided], divergences: Sequence[Divergence]) -> tuple[Divergence, ...]:
    """Put what was decided otherwise before the divergences that may follow from it."""
    places = [_place(divergence) for divergence in divergences]
    before: dict[int, list[Divergence]] = defaultdict(list)
    for one in found:
        behind = (index for index, place in enumerate(places) if place > one.place)
        before[next(behind, len(places))].append(one.divergence)
    out: list[Divergence] = []
    for index, divergence in enumerate(divergences):
        out += [*before[index], divergence]
    return (*out, *before[len(places)])


def _place(divergence: Divergence) -> float:
    if divergence.recorded is not None:
        return divergence.recorded
    if divergence.kind == "other":  # an attempt at the network: it stays with what stands before it
        return float("-inf")
    return 0.0 if divergence.after is None else divergence.after + 0.5


def _by_name(run: Run) -> dict[str, list[Step]]:
    out: dict[str, list[Step]] = defaultdict(list)
    for step in run.steps:
        if step.kind == "decision" and step.shadowed_by is None:
            out[step.name].append(step)
    return out


@dataclass(frozen=True, slots=True)
class _Comparing:
    recorded: Run
    own: Run
    rules: Rules
    bindings: Bindings

    def decision(self, step: Step, other: Step) -> Iterator[Decided]:
        """Yield the first thing in which a decision differs: what was chosen, from what, and of which sort it is."""
        was, now = _facts(self.recorded, step), _facts(self.own, other)
        mismatch = self._unify(was, now)
        if mismatch is not None:
            yield Decided(step.seq, _mismatch(step.name, step.seq, mismatch))

    def flags(self, *, ended: bool) -> Iterator[Decided]:
        """Yield the flags with another value. An agent that was stopped need not have come to see all of them."""
        was, now = self.recorded.flags, self.own.flags
        for name in sorted({*was, *now}):
            if name not in now and not ended:
                continue
            one = {name: was[name]} if name in was else {}
            other = {name: now[name]} if name in now else {}
            mismatch = self._unify({"flags": one}, {"flags": other})
            if mismatch is not None:
                yield Decided(_FLAGS_PLACE, _mismatch(name, None, mismatch))

    def _unify(self, was: Value, now: Value) -> Mismatch | None:
        rules = replace(self.rules, served=self.rules.served | tokens_in(was))
        found = rules.unify(was, now, self.bindings)
        return found if isinstance(found, Mismatch) else None


def _facts(run: Run, step: Step) -> Mapping[str, Value]:
    facts = {"chosen": run.value(step.output), "type": step.fields.get("type"), "options": step.fields.get("options")}
    return {name: value for name, value in facts.items() if value is not None}


def _mismatch(name: str, seq: int | None, mismatch: Mismatch) -> Divergence:
    return Divergence(
        "decision_mismatch",
        kind="decision",
        name=name,
        recorded=seq,
        path=mismatch.path,
        was=mismatch.was,
        now=mismatch.now,
        has_was=True,
        has_now=True,
        reason=mismatch.reason,
        advice=_ADVICE,
    )


def _missing(step: Step) -> Divergence:
    reason = "recorded, not made any more"
    return Divergence(
        "decision_mismatch", kind="decision", name=step.name, recorded=step.seq, reason=reason, advice=_ADVICE
    )


def _unrecorded(name: str, after: int | None) -> Divergence:
    reason = "made, and not recorded"
    return Divergence("decision_mismatch", kind="decision", name=name, reason=reason, advice=_ADVICE, after=after)
