"""What a replay came to: the divergences in order, the network attempts, the replay's own run, the verdict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from runreel.canonical import Bindings, Mismatch
from runreel.replay import broken, decided, ending
from runreel.replay.cleaning import mask
from runreel.replay.divergences import missing
from runreel.replay.host import Host
from runreel.replay.processes import notes_on
from runreel.replay.recording import Recording, new_run_id, recording, result
from runreel.replay.sandbox import Attempt, Isolation, NetworkAttempt, merge
from runreel.replay.tape import Tape
from runreel.replay.unifying import tokens_in
from runreel.replay.values import Divergence, Entry, Replayed, Verdict
from runreel.runs.assemble import assemble
from runreel.runs.scores import before_flags
from runreel.values import CleanBatch, RawBatch, Run

Redact = Callable[[RawBatch], CleanBatch]


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything known once the child has ended. `told_id` is what the agent's recorder takes for the id of its run."""

    host: Host
    exit_code: int
    timed_out: bool
    attempts: Sequence[Attempt]
    isolation: Isolation
    told_id: str = ""


def judge(tape: Tape, seen: Seen, *, redact: Redact | None, duration_s: float) -> Replayed:
    """Put everything together. Without a redactor the replay's own run stays as it is, in memory."""
    host, matcher = seen.host, seen.host.matcher
    ended = dict(host.told.get("ended", {}))
    findings, notes = _network(seen)
    # Somebody left the debugger: what the agent would have done is not known.
    left = "left" in host.told
    open_end = seen.timed_out or left
    divergences, not_reached = matcher.finish(stopped=ended.get("how") == "raised", cut_off=open_end or not ended)
    if not divergences and matcher.not_asked is not None and not open_end:
        divergences, not_reached = (_cut_off_before(matcher.not_asked, _gone(seen)),), not_reached - 1
    at = {target: matcher.places.get(place, len(divergences)) for target, place in host.network_at.items()}
    divergences = _in_order(divergences, findings, at)
    own = recording(host.otlp, tape.run, new_run_id(tape.run.run_id), told=seen.told_id)
    run = _own_run(own, redact)
    if run is not None:
        to_end = ended.get("how") in ("returned", "exit") and not seen.timed_out
        other = decided.differences(tape.run, run, matcher.rules, matcher.bindings, last=matcher.last, ended=to_end)
        divergences = decided.put_in(other, divergences)
    if not divergences and not open_end:
        divergences = tuple(_output_divergences(tape, seen, ended, run))
    verdict: Verdict = "diverged" if any(one.fails for one in divergences) else "same"
    if open_end:
        verdict = "not_comparable"
    replayed = Replayed(
        of=tape.run.run_id,
        mode="frozen",
        verdict=verdict,
        divergences=divergences,
        answered=dict(matcher.answered),
        reproduced=matcher.reproduced,
        coverage=dict(matcher.coverage),
        not_reached=not_reached,
        assumed=tuple(sorted(matcher.bindings.assumed)),
        proved=len(set(matcher.bindings.tokens) - matcher.bindings.assumed),
        drawn=tuple(matcher.drawn.assumed),
        masked=dict(matcher.masked),
        network=tuple(asdict(attempt) for attempt in findings),
        isolation=str(seen.isolation),
        exit_code=seen.exit_code,
        ended=_ended(seen, ended),
        notes=(
            *tape.notes,
            *matcher.notes,
            *host.notes,
            *notes_on(tape.run, tape.entries, matcher.coverage),
            *own.problems,
            *notes,
            *_notes_of_end(seen, ended, not_reached),
            *broken.notes(tape, _caught(host, ended, run), tuple(matcher.coverage)),
        ),
        run=run,
        redacted=redact is not None,
        duration_s=duration_s,
    )
    said = run and replace(run, replay_result=result(replayed))
    return replace(replayed, run=said, record=own.batch(replayed, "" if ended else "aborted"))


# --- the network ------------------------------------------------------------------------------------------------------


def _network(seen: Seen) -> tuple[tuple[NetworkAttempt, ...], tuple[str, ...]]:
    for attempt in seen.attempts:
        target = mask(attempt.target)
        seen.host.network_at[target] = min(attempt.at, seen.host.network_at.get(target, attempt.at))
    merged = merge(seen.attempts, seen.host.network, watched=seen.isolation.notify, clean=mask)
    return merged.findings, tuple(f"network, no finding: {attempt}" for attempt in merged.notes)


def _in_order(
    divergences: Sequence[Divergence], findings: Sequence[NetworkAttempt], at: Mapping[str, int]
) -> tuple[Divergence, ...]:
    """Put each attempt where it happened, where that is known: a tool that went live comes before what it caused."""
    out = list(divergences)
    # From behind, so that places in front stay where they are, and attempts at one place in the order they were made.
    ordered = sorted(findings, key=lambda one: at.get(one.target, len(divergences)))
    for attempt in reversed(ordered):
        out.insert(at.get(attempt.target, len(divergences)), _network_divergence(attempt))
    return tuple(out)


def _network_divergence(attempt: NetworkAttempt) -> Divergence:
    return Divergence(
        "network_attempt",
        name=attempt.target or attempt.family,
        reason=str(attempt),
        advice="put it behind a tool (runreel.record.tool, or --tool NAME=module:function); a replay has no network",
    )


# --- how it ended -----------------------------------------------------------------------------------------------------


def _output_divergences(tape: Tape, seen: Seen, ended: Mapping[str, Any], run: Run | None) -> list[Divergence]:
    """Every call was as recorded: is what came out of it, too?"""
    recorded = tape.run
    went_well = before_flags(recorded) == "ok"
    if not ended and went_well:
        cut_off = _cut_off(seen, recorded, run)
        if cut_off:
            return [
                Divergence("output_mismatch", reason=cut_off, advice="let the agent's code return or exit by itself")
            ]
    if ended.get("how") == "raised" and went_well:
        if "broken" in ended:
            return [broken.divergence(tape, ended["broken"], tuple(seen.host.matcher.coverage))]
        reason = f"the agent ended with {ended['error_type']}; the recorded run ended well"
        return [Divergence("output_mismatch", reason=reason, advice="what it printed on the terminal says where")]
    if run is None:
        return []
    ended_otherwise = ending.difference(recorded, run)
    if ended_otherwise is not None:
        return [ended_otherwise]
    if not recorded.final_output.sha256 or not run.final_output.sha256:
        return []
    was, now = recorded.value(recorded.final_output), run.value(run.final_output)
    rules = seen.host.matcher.rules
    # The replay's own record holds tokens where it went through the redactor: they stand for themselves.
    rules = replace(rules, served=rules.served | tokens_in(was))
    found = rules.unify(was, now, seen.host.matcher.bindings)
    if isinstance(found, Bindings):
        return []
    assert isinstance(found, Mismatch)
    return [
        Divergence(
            "output_mismatch",
            path=f"/final_output{found.path}",
            was=found.was,
            now=found.now,
            has_was=True,
            has_now=True,
            reason=found.reason,
            advice="every call is as recorded: the difference comes from the agent's code after the last one",
        )
    ]


def _gone(seen: Seen) -> str:
    """Say how a process ended that did not come to its own end."""
    how = f"by signal {-seen.exit_code}" if seen.exit_code < 0 else f"with exit status {seen.exit_code}"
    return f"the agent's process ended {how}"


def _cut_off_before(entry: Entry, gone: str) -> Divergence:
    """The first call that a process which is gone did not get to; those behind it are counted, and no more."""
    advice = "let the agent's code return or exit by itself"
    return replace(missing(entry, told_otherwise=False), reason=f"not reached: {gone} before it", advice=advice)


def _cut_off(seen: Seen, recorded: Run, run: Run | None) -> str:
    """Return what a process that ended without a word did not get to; nothing where nothing is known to be missing."""
    if seen.exit_code < 0:
        return f"the agent's process ended by signal {-seen.exit_code}; the recorded run ended well"
    if seen.exit_code:
        return f"the agent's process was cut off with exit status {seen.exit_code}; the recorded run ended well"
    if recorded.final_output.sha256 and (run is None or not run.final_output.sha256):
        return f"the agent's process ended (exit status {seen.exit_code}) before the output that the recorded run gave"
    return ""


def _caught(host: Host, ended: Mapping[str, Any], run: Run | None) -> list[Mapping[str, Any]]:
    """Return what tokens broke in the agent's code, each place once, but for what ended it."""
    seen = {_place(ended["broken"])} if "broken" in ended else set()
    out = []
    for told in (*host.parsers, *broken.recorded_errors(run)):
        if _place(told) not in seen:
            seen.add(_place(told))
            out.append(told)
    return out


def _place(told: Mapping[str, Any]) -> tuple[Any, ...]:
    return told["token"], told["file"], told["line"]


def _ended(seen: Seen, ended: Mapping[str, Any]) -> str:
    if "left" in seen.host.told:
        return "quit"
    return "timeout" if seen.timed_out else str(ended.get("how", "killed" if seen.exit_code < 0 else "exit"))


def _notes_of_end(seen: Seen, ended: Mapping[str, Any], not_reached: int) -> list[str]:
    notes = []
    if not_reached:
        calls = "1 recorded call was" if not_reached == 1 else f"{not_reached} recorded calls were"
        before = "before its time was up" if seen.timed_out else "before the debugger was left"
        cut = before if seen.timed_out or "left" in seen.host.told else f"before {_gone(seen)}"
        notes.append(f"{calls} not reached {'after the divergence' if ended else cut}")
    if seen.host.break_at is not None:
        notes.append(f"step {seen.host.break_at} was never asked for: the debugger did not open")
    if "left" in seen.host.told:
        notes.append("the debugger was left before the agent had ended")
    elif seen.timed_out:
        notes.append("the agent was still running when its time was up, and was killed")
    elif not ended:
        how = f"signal {-seen.exit_code}" if seen.exit_code < 0 else f"exit status {seen.exit_code}, without returning"
        notes.append(f"the agent's process ended by {how}")
    elif ended.get("how") == "exit" and seen.exit_code:
        notes.append(f"the agent ended with exit status {seen.exit_code}")
    return notes


# --- the replay's own run ---------------------------------------------------------------------------------------------


def _own_run(own: Recording, redact: Redact | None) -> Run | None:
    """Assemble what the replay recorded of itself; the largest run, where it made several."""
    spans, logs = own.main
    if not spans:
        return None
    if redact is not None:
        clean = redact(RawBatch(spans[0].key.tenant, spans, logs))
        spans, logs = clean.spans, clean.logs
    return replace(assemble(spans, logs, run_id=own.run_id), replay_of=own.of_run)
