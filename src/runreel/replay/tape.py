"""A recorded run, arranged so that a boundary can ask it for an answer."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from runreel.canonical import SCHEME, make_ref
from runreel.errors import RefusedError
from runreel.record.convert import rebuild
from runreel.record.said import CHECKPOINTS, FLAGS, PROMPTS, SESSIONS
from runreel.replay.spellings import Spellings
from runreel.replay.stacks import causes_in
from runreel.replay.strands import untangled
from runreel.replay.values import Answer, Entry, Raised, Returned, Streamed
from runreel.replay.wire.support import require_answerable
from runreel.runs.loose_ends import LOOSE
from runreel.values import Gap, Kind, Run, Step, Value

KINDS: tuple[Kind, ...] = ("llm", "tool", "retrieval", "memory")
"""What a frozen replay answers. Agent steps are the code that runs again; decisions are what it does."""


@dataclass(frozen=True, slots=True)
class Tape:
    """The answers of one run. `entries` are in causal order; `inside` counts the steps below recorded tools and
    retrievals: those bodies do not run, so nothing asks for what happened in them."""

    run: Run
    entries: tuple[Entry, ...] = ()
    inside: int = 0
    notes: tuple[str, ...] = field(default=())

    def named(self) -> Mapping[str, Kind]:
        """Return the names that need a function to answer for, with their kind.

        Flags, prompts, checkpoints and what MCP sessions ask need none: whoever asks for one is answered.
        """
        wanted = [entry for entry in self.entries if entry.kind in ("tool", "retrieval", "memory")]
        return {entry.name: entry.kind for entry in wanted if (entry.kind, entry.name) not in _OF_THE_RECORDER}

    def asked_for(self) -> frozenset[str]:
        """Return the names of tools that a recorded model answer asks for and that nothing here answers for.

        What came of them is not recorded: the agent never told a model. They must not run for real either.
        """
        answers = (entry.answer for entry in self.entries if entry.kind == "llm")
        values = (answer.value for answer in answers if not isinstance(answer, Raised))
        names = {part.get("name") for value in values for part in parts_of(value, "tool_call")}
        return frozenset(name for name in names if isinstance(name, str) and name and name not in self.named())


_OF_THE_RECORDER = {("memory", store) for store in (FLAGS, PROMPTS, SESSIONS, CHECKPOINTS)}


def build(run: Run) -> Tape:
    """Arrange a run for frozen replay. Raises RefusedError where it lacks what that needs, with the list of gaps."""
    doubles = _doubles_of_models(run.steps)
    steps = [step for step in run.steps if step.shadowed_by is None or step.seq in doubles.values()]
    below = _below_answered(run.steps) | doubles.keys()
    told = [step for step in steps if step.kind in KINDS and step.seq not in below]
    require_answerable(run, told)
    require_replayable(run, below)
    spelt = Spellings(steps)
    made = [_behind(_entry(run, step, spelt), run, doubles) for step in told]
    entries = untangled(made, steps, _calls_of)
    _require_names(run, entries)
    _require_boundaries(run, [step for step in steps if step.seq not in below])
    inside = sum(1 for step in steps if step.kind in KINDS and step.seq in below and step.seq not in doubles)
    notes = []
    if inside:
        notes.append(f"{inside} recorded steps inside tools or retrievals are not replayed: their bodies do not run")
    if run.open:
        notes.append("the run was still going on when it was loaded: what came later is not on the tape")
    notes += [f"step {gap.step}: {gap.cause}; {gap.fix}" for gap in run.gaps if gap.field == LOOSE]
    return Tape(run, entries, inside, tuple(notes))


def require_replayable(run: Run, below: Set[int] = frozenset()) -> None:
    """Raise RefusedError where the run lacks what a frozen replay needs; the message lists what, and the fix of each.

    What the steps `below` recorded tools and retrievals lack is no matter. Payload text never stands in the message:
    gaps name fields and settings.
    """
    gaps = [gap for gap in run.gaps if gap.needed_for == "frozen" and gap.step not in below]
    if gaps:
        listed = "\n".join(f"  - {_gap_line(gap)}" for gap in _distinct(gaps))
        raise RefusedError(f"run {run.run_id} cannot be replayed frozen, its record lacks:\n{listed}")
    if run.replayable == "none":
        raise RefusedError(f"run {run.run_id} cannot be replayed frozen: it holds no step that could be answered for")


def _distinct(gaps: Sequence[Gap]) -> Iterable[Gap]:
    """Say one cause once, for the first step that has it: one missing setting empties every step."""
    return {(gap.field, gap.cause, gap.fix): gap for gap in reversed(gaps)}.values()


def _gap_line(gap: Gap) -> str:
    where = "the run" if gap.step is None else f"step {gap.step}"
    return f"{where}: {gap.field}: {gap.cause}. {gap.fix}".rstrip(". ") + "."


def _require_names(run: Run, entries: Sequence[Entry]) -> None:
    """A name that is both a tool and an index would be answered by one function for two things."""
    kinds: dict[str, Kind] = {}
    for entry in entries:
        if entry.kind != "llm" and kinds.setdefault(entry.name, entry.kind) != entry.kind:
            raise RefusedError(
                f"run {run.run_id} cannot be replayed frozen: {entry.name} is recorded as a tool and as a retrieval; "
                "give one of them another name"
            )


def _require_boundaries(run: Run, steps: Sequence[Step]) -> None:
    """What a memory gave the agent is in the record, but only the recorder's boundary stands in the memory's place."""
    memories = sorted({step.name for step in steps if step.kind == "memory" and not _is_recorders(step)})
    if memories:
        raise RefusedError(
            f"run {run.run_id} cannot be replayed frozen: unstubbed memory {', '.join(memories)}; "
            "put its reads and writes behind runreel.record.memory and record the run again"
        )


def _is_recorders(step: Step) -> bool:
    return str(step.fields.get("instrumentation") or "").startswith("runreel.record")


def _below_answered(steps: Sequence[Step]) -> set[int]:
    """Return the seqs of steps that happened inside a recorded tool, retrieval or memory, also behind another view of
    its call: what a server did stands below its own span of it."""
    by_seq = {step.seq: step for step in steps}
    below: set[int] = set()
    for step in steps:
        above = step.parent
        while above is not None and above in by_seq:
            if by_seq[above].kind in ("tool", "retrieval", "memory") or _is_model_of_the_recorder(by_seq[above]):
                below.add(step.seq)
                break
            above = by_seq[above].parent
    return below


def _is_model_of_the_recorder(step: Step) -> bool:
    return step.kind == "llm" and _is_recorders(step)


def _doubles_of_models(steps: Sequence[Step]) -> dict[int, int]:
    """Return the steps that an instrumentation wrote of calls made inside of `runreel.record.model`, with the step of
    that. The inner one counts as the call; but a replay answers where the boundary is, and its body does not run."""
    return {
        step.shadowed_by: step.seq for step in steps if step.shadowed_by is not None and _is_model_of_the_recorder(step)
    }


def _behind(entry: Entry, run: Run, doubles: Mapping[int, int]) -> Entry:
    """Return an entry with what came before it said by the entries that are on the tape."""
    inner = next((step.after for step in run.steps if doubles.get(step.seq) == entry.seq), frozenset[int]())
    after = frozenset(doubles.get(seq, seq) for seq in entry.after | inner) - {entry.seq}
    return entry if after == entry.after else replace(entry, after=after)


# --- entries ----------------------------------------------------------------------------------------------------------


def _entry(run: Run, step: Step, spelt: Spellings) -> Entry:
    request = _request(run, step)
    output = run.value(step.output)
    return Entry(
        seq=step.seq,
        kind=step.kind,
        name=step.name,
        request=request,
        answer=_model_answer(step, output, spelt) if step.kind == "llm" else _call_answer(step, output),
        key=key_of(request),
        call_id=step.call_id,
        after=step.after,
        calls=tuple(tool_call_ids(output)),
        side_effect=step.fields.get("side_effect") is True,
        source="synthesised" if step.synthesised else "span",
        start_ns=step.start_ns,
        end_ns=step.end_ns,
        instrumentation=str(step.fields.get("instrumentation") or ""),
    )


def key_of(request: Value) -> str:
    """Return the index of a request, named by its scheme: equal for equal requests. Unification decides, not this."""
    return f"{SCHEME}:{make_ref(request).sha256}"


def _request(run: Run, step: Step) -> Value:
    given = run.value(step.input)
    if step.kind == "llm":
        asked = step.fields.get("model_requested")
        # Some instrumentations know only the exact model that answered.
        served = {} if asked else {"model_is_served": True}
        return {
            **served,
            "model": asked or step.fields.get("model"),
            "messages": given,
            "tools": step.fields.get("tool_definitions"),
            "params": step.fields.get("params") or {},
        }
    if step.kind == "memory":
        return {"op": step.fields.get("op"), "arguments": given}
    if step.kind == "retrieval":
        wanted = {name: step.fields.get(name) for name in ("top_k", "filters")}
        return {"query": given, **{name: value for name, value in wanted.items() if value is not None}}
    return given


def _model_answer(step: Step, output: Value, spelt: Spellings) -> Answer:
    fields: dict[str, Value] = {name: value for name, value in step.fields.items() if name not in _OF_REQUEST}
    fields["created_ns"] = step.start_ns
    texts = spelt.of(part for part in parts_of(output, "tool_call") if part.get("id"))
    if texts:
        fields["tool_call_texts"] = texts
    if step.error is not None and not step.fields.get("abandoned"):
        if output is not None:
            fields["partial"] = output
        return Raised(step.error.type, step.error.message, fields)
    if step.fields.get("stream") is True:
        return Streamed(output, fields, interrupted=step.status == "interrupted")
    return Returned(output, fields)


_OF_REQUEST = frozenset({"model_requested", "params", "tool_definitions", "stream"})


_TOLD_OF_FAILURES = "gcp.vertex.agent"
"""Its results are what the model was told, those of calls that it counts as failed, too: an error that a tool reported,
or what an agent's callback made of one."""


def _call_answer(step: Step, output: Value) -> Answer:
    told = output is not None and str(step.fields.get("instrumentation") or "").startswith(_TOLD_OF_FAILURES)
    if step.error is not None and not told:
        causes = tuple(causes_in(step.error.stack))
        own = step.fields.get("replay")
        made_with = own.get("error.arguments") if isinstance(own, Mapping) else None
        fields: dict[str, Value] = {"causes": causes} if causes else {}
        if isinstance(made_with, str):
            fields["arguments"] = made_with
        return Raised(step.error.type, step.error.message, fields)
    return Returned(rebuild(output, step.fields.get("replay")))


def _calls_of(entry: Entry) -> Iterable[Mapping[str, Value]]:
    return () if isinstance(entry.answer, Raised) else parts_of(entry.answer.value, "tool_call")


def tool_call_ids(messages: Value) -> Iterable[str]:
    """Return the ids of the tool calls that messages ask for, in order."""
    return (str(part["id"]) for part in parts_of(messages, "tool_call") if part.get("id"))


def parts_of(messages: Value, kind: str) -> Iterable[Mapping[str, Value]]:
    """Return the parts of one kind in normalised messages, in order."""
    for message in messages if isinstance(messages, tuple) else ():
        parts = message.get("parts") if isinstance(message, Mapping) else None
        for part in parts if isinstance(parts, tuple) else ():
            if isinstance(part, Mapping) and part.get("type") == kind:
                yield part
