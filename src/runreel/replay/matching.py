"""Decide which recorded answer a live call gets, and what is a divergence.

A candidate is an entry of the same kind and name whose request unifies with the live one. Among several, what could
have been asked by now comes first, then the same call id, then what needs nothing let pass or assumed, then the
recorded order. A changed request is never given an old answer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice

from runreel.canonical import Bindings, Mismatch, canonical
from runreel.replay import divergences as told
from runreel.replay import unifying
from runreel.replay.cleaning import label
from runreel.replay.compare import likeness
from runreel.replay.drawn import Drawn, Trial
from runreel.replay.masks import Mask, hide_all
from runreel.replay.results import Results
from runreel.replay.standing_for import may_stand_for
from runreel.replay.tape import Tape
from runreel.replay.unifying import Call, Lenient, Rules, tokens_in
from runreel.replay.values import Divergence, Entry, Nearest, OnDivergence, Returned, Streamed
from runreel.replay.waiting import Waiting
from runreel.values import Kind, Value

_MOST_NEAREST = 3
_MOST_COMPARED = 64  # of the entries that a diverging call, or an ambiguous one, is compared with
_Key = tuple[str, str, str, bytes]


@dataclass(frozen=True, slots=True)
class _Fit:
    """An entry that may answer a call: under which bindings, and with what let pass."""

    entry: Entry
    bindings: Bindings
    lenient: Lenient


@dataclass(slots=True)
class Matcher:
    """The state of one replay: what has been answered, what is bound, what diverged. Not thread-safe.

    `coverage` names by step the boundary that was answered; `masked` counts the differences that each mask hid;
    `places` says where among all that `finish` returns each of `divergences` is, and what came after the last one.
    """

    tape: Tape
    rules: Rules
    on_divergence: OnDivergence = "stop"
    bindings: Bindings = field(default_factory=Bindings)
    masks: tuple[Mask, ...] = ()
    drawn: Drawn = field(default_factory=Drawn)
    answered: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    coverage: dict[int, str] = field(default_factory=dict)
    masked: Counter[str] = field(default_factory=Counter)
    divergences: list[Divergence] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    calls: int = 0
    places: dict[int, int] = field(default_factory=dict)
    not_asked: Entry | None = None
    _waiting: Waiting = field(init=False)
    _results: Results = field(init=False)
    _given: dict[int, None] = field(default_factory=dict)
    _said: dict[_Key, Divergence] = field(default_factory=dict)
    _changed_ones: set[int] = field(default_factory=set)
    _noticed: dict[int, int] = field(default_factory=dict)
    _early: dict[int, set[int]] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    _again: dict[_Key, Entry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._waiting = Waiting(self.tape.entries)
        self._results = Results(self.tape.entries)
        self.masked.update({str(mask): 0 for mask in self.masks})

    @property
    def reproduced(self) -> int:
        """How many recorded failures came about again in the agent's own code."""
        return len(self._results.reproduced)

    def serve(self, value: Value) -> None:
        """Say that the agent has been given this value: its tokens now stand for themselves."""
        new = tokens_in(value) - self.rules.served
        if new:
            self.rules = replace(self.rules, served=self.rules.served | new)

    def ask(self, call: Call) -> Entry | Divergence:
        """Return the entry that answers a call, or the divergence that it is."""
        self.calls += 1
        if call.kind == "llm" and isinstance(call.request, Mapping):
            self._see_results(call.request.get("messages"))
        found = self._match(call)
        if found is None:
            return self._again.get(_key(call)) or self._diverge(call)
        entry = found.entry
        self.bindings = found.bindings
        self.drawn.keep(found.lenient.trial)
        self.masked.update(map(str, found.lenient.hidden))
        self._note(entry, call)
        late = self._notice(entry)
        if late:
            self._early[len(self.divergences)] = late
            found_late = told.out_of_order(entry, call, late, ordinal=self.calls, after=self.last)
            self.divergences.append(found_late)
        self._give(entry, call.via)
        return entry

    @property
    def last(self) -> int | None:
        """The recorded step that was answered last."""
        return next(reversed(self._given), None)

    # --- looking for an answer ----------------------------------------------------------------------------------------

    def _match(self, call: Call) -> _Fit | None:
        fits: list[_Fit] = []
        failed: set[str] = set()
        by_id = self._waiting.has_id(call)
        for entry in self._waiting.candidates(call):
            key = self._waiting.key(entry)
            if key in failed:
                continue
            found = self._try(entry, call)
            if isinstance(found, Mismatch):
                failed.add(key)
                continue
            fits.append(found)
            if self._is_best(found, call, by_id=by_id):
                break
        if not fits:
            return None
        best = min(fits, key=lambda fit: self._rank(fit, call))
        self._note_twins(best.entry, (fit.entry for fit in fits), call)
        return best

    def _try(self, entry: Entry, call: Call) -> _Fit | Mismatch:
        """Compare a call with an entry, with everything that may be let pass."""
        masks = tuple(mask for mask in self.masks if mask.speaks_of(entry.kind, entry.name))
        lenient = Lenient(Trial(self.drawn), masks)
        found = unifying.compare(entry, call, self.bindings, self.rules, lenient)
        if isinstance(found, Mismatch):
            return found
        if lenient.hidden and hide_all(set(lenient.hidden), entry.kind, entry.request):
            self._say(f"not used, since they would hide a whole request: {', '.join(sorted(map(str, masks)))}")
            lenient = Lenient(Trial(self.drawn))
            found = unifying.compare(entry, call, self.bindings, self.rules, lenient)
            if isinstance(found, Mismatch):
                return found
        if lenient.trial.volatile:
            path, was, now, _ = lenient.trial.volatile[0]
            return Mismatch(path, was, now, "value")
        return _Fit(entry, found, lenient)

    def _rank(self, fit: _Fit, call: Call) -> tuple[bool, bool, int, int, int]:
        other_id = bool(call.call_id) and fit.entry.call_id != call.call_id
        late = not self._waiting.could_come(fit.entry)
        passed = len(fit.lenient.hidden) + len(fit.lenient.trial.assumed)
        return late, other_id, passed, len(fit.bindings.assumed), fit.entry.seq

    def _is_best(self, fit: _Fit, call: Call, *, by_id: bool) -> bool:
        """Say whether no other entry can be better: they come in the order of what else decides."""
        late, other_id, passed, assumed, _ = self._rank(fit, call)
        return not (late or (other_id and by_id) or passed) and assumed == len(self.bindings.assumed)

    def _notice(self, entry: Entry) -> set[int]:
        """Remember which calls should have come before this one: if they never do, this is where they are missing."""
        late = self._waiting.late(entry)
        for seq in late:
            self._noticed.setdefault(seq, len(self.divergences))
        return late

    def _note_twins(self, chosen: Entry, fitting: Iterable[Entry], call: Call) -> None:
        """Two parallel calls with equal arguments and other answers cannot be told apart without their ids."""
        if call.call_id and chosen.call_id == call.call_id:
            return
        twins = islice(self._waiting.twins(chosen), _MOST_COMPARED)
        for other in {entry.seq: entry for entry in (*fitting, *twins)}.values():
            parallel = other.seq not in chosen.after and chosen.seq not in other.after
            if other is not chosen and parallel and other.answer != chosen.answer:
                self._say(
                    f"steps {chosen.seq} and {other.seq} ({chosen.kind} {chosen.name}) are parallel calls with equal "
                    "arguments and different answers, and the call carries no id: answered in recorded order"
                )

    def _note(self, entry: Entry, call: Call) -> None:
        fields = unifying.not_compared(entry, call)
        if fields:
            listed = ", ".join(map(label, fields))
            self._say(f"not compared, since the record does not hold it: {listed} of model requests")

    def _say(self, note: str) -> None:
        self.notes[note] = None

    def _give(self, entry: Entry, via: str) -> None:
        self._waiting.settle(entry)
        self._results.settle(entry)
        self._given[entry.seq] = None
        self.coverage[entry.seq] = via or "boundary"
        self.answered[entry.kind, entry.name] += 1
        if isinstance(entry.answer, (Returned, Streamed)):
            self.serve(entry.answer.value)
        else:
            self.serve((entry.answer.message, *entry.answer.fields.values()))

    def expect_again(self, call: Call, entry: Entry) -> None:
        """Say that the same request may come again and then gets the same answer: an SDK's own retries."""
        self._again[_key(call)] = entry

    def again(self, call: Call) -> Entry | None:
        """Return the entry that a request may get once more, None where it did not have to be expected again."""
        return self._again.get(_key(call))

    def _see_results(self, messages: Value) -> None:
        """Look for results of recorded calls that nobody asked for (see results.Results)."""
        for entry in self._results.seen(messages, refused=self._refused, changed=self._changed_ones):
            if entry.name in self._refused:  # what the agent made of being refused
                self._changed_ones.add(entry.seq)
                self._waiting.stood_for(entry)
                continue
            self._noticed.setdefault(entry.seq, len(self.divergences))
            if entry.seq in self._results.reproduced:
                self.coverage[entry.seq] = "agent"
            if entry.seq not in self._results.told_otherwise:
                self._waiting.settle(entry)

    # --- divergences --------------------------------------------------------------------------------------------------

    def _diverge(self, call: Call) -> Entry | Divergence:
        key = _key(call)
        if key in self._said:  # the SDK or the agent tries the same again
            return self._said[key]
        waiting = self._waiting.waiting(call)
        expected, unique = self._expected(call, waiting)
        if expected is not None:
            self._notice(expected)
            self._changed_ones.add(expected.seq)
            self._waiting.stood_for(expected)
        divergence = self._unrecorded(call, waiting) if expected is None else self._changed(call, expected, waiting)
        self.divergences.append(divergence)
        if self.on_divergence == "continue" and expected is not None and unique:
            self._give(expected, call.via)
            return expected
        self._said[key] = divergence
        self._refused.add(call.name)
        return divergence

    def _expected(self, call: Call, waiting: Sequence[Entry]) -> tuple[Entry | None, bool]:
        """Return the recorded call that this one stands in the place of, and whether no other is as near."""
        if call.kind == "llm":
            if self._was_answered(call):
                return None, False  # a request that was answered comes once more: it stands in no other's place
            waiting = [entry for entry in waiting[:_MOST_COMPARED] if may_stand_for(entry, call)]
        alike = {entry.seq: likeness(entry.request, call.request) for entry in self._near(call, waiting)}

        def distance(entry: Entry) -> tuple[bool, bool, float]:
            same_id = bool(call.call_id) and entry.call_id == call.call_id
            return not same_id, not self._waiting.could_come(entry), -alike.get(entry.seq, 0.0)

        ranked = sorted(waiting, key=lambda entry: (distance(entry), entry.seq))
        if not ranked:
            return None, False
        return ranked[0], len(ranked) == 1 or distance(ranked[0]) < distance(ranked[1])

    def _was_answered(self, call: Call) -> bool:
        answered = (entry for entry in self._waiting.of_length(call) if entry.seq in self._given)
        return any(isinstance(self._try(entry, call), _Fit) for entry in answered)

    def _changed(self, call: Call, expected: Entry, waiting: Sequence[Entry]) -> Divergence:
        lenient = Lenient(Trial(self.drawn), tuple(m for m in self.masks if m.speaks_of(expected.kind, expected.name)))
        found = unifying.compare(expected, call, self.bindings, self.rules, lenient)
        volatile = lenient.trial.volatile
        if isinstance(found, Bindings) and volatile:
            path, was, now, why = volatile[0]
            found = Mismatch(path, was, now, "value")
            return told.nondeterministic(call, expected, found, why, ordinal=self.calls, after=self.last)
        if isinstance(found, Bindings):  # only a mask that would hide all of it stands between them
            again = unifying.compare(expected, call, self.bindings, self.rules)
            found = again if isinstance(again, Mismatch) else Mismatch("", expected.request, call.request, "value")
        nearest = self._nearest(call, waiting)
        return told.changed(call, expected, found, ordinal=self.calls, nearest=nearest, after=self.last)

    def _unrecorded(self, call: Call, waiting: Sequence[Entry]) -> Divergence:
        reason = told.times(len(self._waiting.like(call)))
        if call.kind == "llm" and waiting:
            again = self._was_answered(call)
            reason = "answered before, asked for once more" if again else "no recorded request is like it"
        nearest = self._nearest(call, waiting)
        return told.unrecorded(call, reason, ordinal=self.calls, nearest=nearest, after=self.last)

    def _near(self, call: Call, waiting: Sequence[Entry]) -> Sequence[Entry]:
        """Return the entries worth comparing as a whole: those that are due, and before them those answered last."""
        by_id = [entry for entry in waiting if call.call_id and entry.call_id == call.call_id]
        return [*by_id, *waiting[:_MOST_COMPARED]]

    def _nearest(self, call: Call, waiting: Sequence[Entry]) -> tuple[Nearest, ...]:
        answered = [entry for entry in self._waiting.like(call) if entry.seq in self._given]
        near = {entry.seq: entry for entry in (*self._near(call, waiting), *answered[-_MOST_COMPARED:])}
        ranked = sorted((-likeness(entry.request, call.request), seq) for seq, entry in near.items())
        return tuple(self._as_nearest(near[seq], call, -unlike) for unlike, seq in ranked[:_MOST_NEAREST])

    def _as_nearest(self, entry: Entry, call: Call, alike: float) -> Nearest:
        found = unifying.compare(entry, call, self.bindings, self.rules)
        path = found.path if isinstance(found, Mismatch) else ""
        return Nearest(entry.seq, entry.kind, entry.name, path, round(alike, 3), entry.seq in self._given)

    # --- the end ------------------------------------------------------------------------------------------------------

    def finish(self, *, stopped: bool, cut_off: bool = False) -> tuple[tuple[Divergence, ...], int]:
        """Return every divergence in order, and how many recorded calls were not reached because of one.

        A call that never came stands where the first one came that should have followed it. `stopped`: the agent ended
        early, with an exception. What it then did not ask for any more is one fact, not a divergence for each call.
        `cut_off`: somebody ended it, or its process went away. Then nothing says that it would not have asked: the
        first of those calls is `not_asked`, and whoever asks for this decides what that is worth.
        """
        never: dict[int, list[Divergence]] = {}
        not_reached = 0
        end = len(self.divergences)
        came = self._given.keys() | self._results.reproduced
        for entry in self.tape.entries:
            if entry.seq in came or entry.seq in self._changed_ones:
                continue
            noticed = self._noticed.get(entry.seq)
            ran = entry.seq in self._results.ran
            if noticed is None and cut_off and not ran:
                not_reached += 1
                self.not_asked = self.not_asked or entry
            elif noticed is None and end and (stopped or not self._changed_ones.isdisjoint(entry.after)):
                not_reached += 1
            else:
                otherwise = entry.seq in self._results.told_otherwise
                one = told.unstubbed(entry) if ran else told.missing(entry, told_otherwise=otherwise)
                never.setdefault(end if noticed is None else noticed, []).append(one)
        return self._all(never, came), not_reached

    def _all(self, never: Mapping[int, Sequence[Divergence]], came: Set[int]) -> tuple[Divergence, ...]:
        out: list[Divergence] = []
        for position, divergence in enumerate(self.divergences):
            out += never.get(position, ())
            self.places[position] = len(out)
            late = self._early.get(position)
            # Out of order is only what came before a call that came, too.
            if late is None or late & came:
                out.append(self._settle(divergence))
        self.places[len(self.divergences)] = len(out)
        return (*out, *never.get(len(self.divergences), ()))

    def _settle(self, divergence: Divergence) -> Divergence:
        """A changed call whose recorded one was asked for after all was a call more, not a changed one."""
        if divergence.type == "input_mismatch" and divergence.recorded in self._given and self.on_divergence == "stop":
            reason = "the recorded calls of this name were all made as well"
            return replace(divergence, type="unrecorded_call", recorded=None, reason=reason, advice=told.UNRECORDED)
        return divergence


def _key(call: Call) -> _Key:
    return call.kind, call.name, call.call_id, canonical(call.request)
