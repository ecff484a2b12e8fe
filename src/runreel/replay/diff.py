"""Compare two runs: what differs, step by step and leaf by leaf, the first divergence first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import inf
from typing import Literal

from runreel.canonical import canonical
from runreel.replay.align import Alignment, align, counted, with_call_ids
from runreel.replay.compare import Change, compare
from runreel.replay.unifying import comparable
from runreel.values import Kind, Ref, Run, Step, Value

DifferenceType = Literal[
    "input_mismatch", "output_mismatch", "decision_mismatch", "missing_call", "unrecorded_call", "order_mismatch"
]
Side = Literal["input", "output", ""]


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between two runs, of one step's input or output, or of the step as a whole.

    `a` and `b` are the step's seqs in the two runs, None where it has no partner. `follows` is the place in
    `Diff.differences` of an earlier difference with the same changes: this one only carries them on.
    """

    type: DifferenceType
    kind: Kind
    name: str
    a: int | None
    b: int | None
    side: Side = ""
    changes: tuple[Change, ...] = field(default=(), repr=False)
    follows: int | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """What a run cost. Tokens are None where no model call said; the duration is in nanoseconds."""

    run_id: str
    agent_id: str
    replay_of: str | None
    model_calls: int
    tool_calls: int
    retrievals: int
    input_tokens: int | None
    output_tokens: int | None
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Diff:
    """What two runs differ in. `pairs` are the steps that were compared; `masked` counts the changes that `masks` hid;
    `notes` say what could not be compared."""

    a: Totals
    b: Totals
    differences: tuple[Difference, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()
    masked: int = 0
    masks: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Say whether nothing differs."""
        return not self.differences

    @property
    def first(self) -> Difference | None:
        """The first divergence, None where there is none."""
        return self.differences[0] if self.differences else None


def diff(a: Run, b: Run, masks: Sequence[str] = ()) -> Diff:
    """Compare two runs. Pure.

    A mask is a pattern (`*` and `?`) over `kind/name/side/path`: `tool/search/output/*/score` hides the scores that
    a search returned. No difference are: formatting of JSON inside texts, numbers written otherwise (1 and 1.0), the
    ids that models give tool calls, and what instrumentations differ in (empty text parts; parameters that only one
    of two kinds of recording has). A token is the same where its name is.
    """
    comparing = _Comparing(a, b, align(a, b), tuple(masks))
    found = [*comparing.alone(), *comparing.order(), *comparing.contents()]
    differences = _followed([one for _, one in sorted(found, key=lambda pair: pair[0])])
    pairs, notes = comparing.alignment.pairs, tuple(comparing.notes)
    return Diff(_totals(a), _totals(b), differences, pairs, notes, comparing.masked, comparing.masks)


# Where a difference happened on the first run's time line: before a step, what happened in it, its number and side.
_Place = tuple[float, int, int, int]


class _Comparing:
    """One comparison: the two runs, and what has been noted on the way."""

    def __init__(self, a: Run, b: Run, alignment: Alignment, masks: tuple[str, ...]) -> None:
        self.a, self.b, self.alignment, self.masks = a, b, alignment, masks
        self.steps_a = {step.seq: step for step in a.steps}
        self.steps_b = {step.seq: step for step in b.steps}
        self.notes: list[str] = []
        self.masked = 0
        seen = [(seq, step.seq) for step in counted(a) for seq in step.after]
        self._seen_by: dict[int, int] = {}
        for seq, by in seen:
            self._seen_by[seq] = min(by, self._seen_by.get(seq, by))

    def _end(self, step: Step) -> _Place:
        """An answer happens before the first step that could have seen it; one that nobody saw, at the end."""
        seen = self._seen_by.get(step.seq)
        return (inf, 0, step.end_ns, 1) if seen is None else (seen - 0.5, 0, step.seq, 1)

    def alone(self) -> list[tuple[_Place, Difference]]:
        """Return the steps without a partner."""
        found: list[tuple[_Place, Difference]] = []
        for seq in self.alignment.only_a:
            step = self.steps_a[seq]
            found.append(((seq, 0, seq, 0), Difference("missing_call", step.kind, step.name, seq, None)))
        by_second = sorted((two, one) for one, two in self.alignment.pairs)
        at, before = 0, -1
        for seq in sorted(self.alignment.only_b):
            step = self.steps_b[seq]
            while at < len(by_second) and by_second[at][0] < seq:
                before = max(before, by_second[at][1])
                at += 1
            found.append(((before + 0.75, 0, seq, 0), Difference("unrecorded_call", step.kind, step.name, None, seq)))
        return found

    def order(self) -> list[tuple[_Place, Difference]]:
        """Return the steps that the second run took before what they followed from in the first."""
        found: list[tuple[_Place, Difference]] = []
        partner = dict(self.alignment.pairs)
        for one, two in self.alignment.pairs:
            step, other = self.steps_a[one], self.steps_b[two]
            for before in sorted(step.after):
                late = partner.get(before)
                if late is not None and two in self.steps_b[late].after:
                    was = f"after step {before} ({_title(self.steps_a[before])})"
                    change = Change("", "changed", was, f"before it ({_title(self.steps_b[late])} came as step {late})")
                    difference = Difference("order_mismatch", other.kind, other.name, one, two, "", (change,))
                    found.append(((one, 0, one, 0), difference))
                    break
        return found

    def contents(self) -> list[tuple[_Place, Difference]]:
        """Return the differences of steps that stand for each other."""
        found: list[tuple[_Place, Difference]] = []
        for one, two in self.alignment.pairs:
            step, other = self.steps_a[one], self.steps_b[two]
            was, now = self._input(self.a, step, {}), self._input(self.b, other, self.alignment.call_ids)
            if step.dialect != other.dialect:
                was, now = _shared_params(was, now), _shared_params(now, was)
            self._add(found, (one, 0, one, 0), "input_mismatch", "input", step, other, was, now)
            kind: DifferenceType = "decision_mismatch" if step.kind == "decision" else "output_mismatch"
            was, now = self._output(self.a, step, {}), self._output(self.b, other, self.alignment.call_ids)
            self._add(found, self._end(step), kind, "output", step, other, was, now)
        return found

    def _add(
        self,
        found: list[tuple[_Place, Difference]],
        place: _Place,
        type_: DifferenceType,
        side: Literal["input", "output"],
        step: Step,
        other: Step,
        was: Mapping[str, Value],
        now: Mapping[str, Value],
    ) -> None:
        # A single content value needs no name of its own in paths.
        prefix = "/value" if step.kind not in ("llm", "retrieval") else ""
        both = {name for name in was if name in now}
        for name in sorted((set(was) | set(now)) - both):
            self.notes.append(f"step {step.seq} ({_title(step)}): only one run has its {side} ({name})")
        changes = []
        for change in compare({n: was[n] for n in was if n in both}, {n: now[n] for n in now if n in both}):
            path = change.path.removeprefix(prefix) if prefix else change.path
            if any(fnmatchcase(f"{step.kind}/{step.name}/{side}{path}", mask) for mask in self.masks):
                self.masked += 1
            else:
                changes.append(replace(change, path=path))
        if changes:
            difference = Difference(type_, step.kind, step.name, step.seq, other.seq, side, tuple(changes))
            found.append((place, difference))

    def _input(self, run: Run, step: Step, call_ids: Mapping[str, str]) -> Mapping[str, Value]:
        fields = step.fields
        if step.kind == "llm":
            known: dict[str, Value] = {"model": fields.get("model_requested") or fields.get("model") or ""}
            known.update(_content(run, "messages", step.input, call_ids))
            known["tools"] = fields.get("tool_definitions") or ()
            known["params"] = fields.get("params") or {}
            return known
        if step.kind == "retrieval":
            parts = {name: fields.get(name) for name in ("index_version", "top_k", "filters")}
            return {**_content(run, "query", step.input), **parts}
        return _content(run, "value", step.input)

    def _output(self, run: Run, step: Step, call_ids: Mapping[str, str]) -> Mapping[str, Value]:
        error = None if step.error is None else {"type": step.error.type, "message": step.error.message}
        out: dict[str, Value] = {"error": error, "status": step.status}
        if step.kind == "llm":
            out["model"] = step.fields.get("model") or ""
            return {**out, **_content(run, "messages", step.output, call_ids)}
        return {**out, **_content(run, "documents" if step.kind == "retrieval" else "value", step.output)}


def _content(run: Run, name: str, ref: Ref, call_ids: Mapping[str, str] | None = None) -> dict[str, Value]:
    """Return a content value under a name; nothing where the record has none."""
    if not ref.sha256:
        return {}
    value = run.value(ref)
    return {name: value if call_ids is None else comparable(with_call_ids(value, call_ids))}


def _shared_params(one: Mapping[str, Value], other: Mapping[str, Value]) -> Mapping[str, Value]:
    """Keep the parameters of a model call that both records know of."""
    mine, theirs = one.get("params"), other.get("params")
    if not isinstance(mine, Mapping) or not isinstance(theirs, Mapping):
        return one
    return {**one, "params": {name: value for name, value in mine.items() if name in theirs}}


def _title(step: Step) -> str:
    return f"{step.kind} {step.name}".rstrip()


def _followed(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Mark the differences that only carry on earlier ones: a changed message is in every later request."""
    first: dict[bytes, int] = {}
    out: list[Difference] = []
    for place, one in enumerate(differences):
        keys = [canonical((change.operation, change.was, change.now)) for change in one.changes]
        earlier = [first[key] for key in keys if key in first]
        for key in keys:
            first.setdefault(key, place)
        out.append(replace(one, follows=min(earlier)) if keys and len(earlier) == len(keys) else one)
    return tuple(out)


def _totals(run: Run) -> Totals:
    steps = counted(run)
    return Totals(
        run_id=run.run_id,
        agent_id=run.agent_id,
        replay_of=run.replay_of,
        model_calls=sum(step.kind == "llm" for step in steps),
        tool_calls=sum(step.kind == "tool" for step in steps),
        retrievals=sum(step.kind == "retrieval" for step in steps),
        input_tokens=_tokens(steps, "input_tokens"),
        output_tokens=_tokens(steps, "output_tokens"),
        duration_ns=max(0, run.ended_ns - run.started_ns),
    )


def _tokens(steps: Sequence[Step], name: str) -> int | None:
    usages = [step.fields.get("usage") for step in steps if step.kind == "llm"]
    numbers = [usage.get(name) for usage in usages if isinstance(usage, Mapping)]
    known = [number for number in numbers if isinstance(number, int)]
    return sum(known) if known else None
