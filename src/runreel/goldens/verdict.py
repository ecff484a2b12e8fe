"""Judge a golden: what is expected must hold of the replay, and what is not expected must be as it was recorded.

A bad run replays identically, so that a failure is caught by what is expected alone. Once its code is mended, the agent
does something else: where an expectation that holds speaks of it, that is a note, anywhere else a finding.
"""

from collections.abc import Sequence

from runreel.goldens import stale
from runreel.goldens.expect import Expectation, Judge, check
from runreel.goldens.values import Check, Golden, Result, Verdict
from runreel.goldens.view import View, view
from runreel.replay.ending import OUTCOME
from runreel.replay.values import Divergence, Replayed
from runreel.text import many
from runreel.values import Run

_RENEW = (
    "its recorded answers no longer belong to what is asked. Run the agent once with a live model, look at that run, "
    "and put it in the place of the old one: runreel golden update {name} --from RUN"
)

_TEMPLATE = (
    "A message of the user's differs: wrong data in it, or its template was edited. If it was edited on purpose, its "
    "recorded answers are stale: runreel golden update {name} --from RUN"
)


def judge(golden: Golden, replayed: Replayed, expectations: Sequence[Expectation], ask: Judge) -> Result:
    """Return what a replay of a golden came to. `ask` asks judges.

    Raises RefusedError where a judge cannot be asked.
    """
    checks = checked(replayed, expectations, ask)
    findings: list[Divergence] = []
    notes: list[Divergence] = []
    held = [one for one, found in zip(expectations, checks, strict=True) if found.passed]
    for one in (one for one in replayed.divergences if one.fails):
        (notes if any(covers(expectation, one) for expectation in held) else findings).append(one)
    verdict, reason = _verdict(golden, replayed, checks, findings)
    return Result(golden, verdict, reason, checks, tuple(findings), tuple(notes), replayed)


def _verdict(
    golden: Golden, replayed: Replayed, checks: Sequence[Check], findings: Sequence[Divergence]
) -> tuple[Verdict, str]:
    if replayed.verdict == "not_comparable":
        return "not_comparable", "the replay did not come to its end"
    what = stale.changed(findings[0], golden.run, replayed) if findings else ""
    if what:
        return "stale", f"the {what} changed: {_RENEW.format(name=golden.name)}"
    failed = [one for one in checks if not one.passed]
    also = ""
    if findings and stale.may_be_prompt(findings[0], golden.run, replayed):
        also = f". {_TEMPLATE.format(name=golden.name)}"
    if failed:
        return "failed", f"{len(failed)} of {many(len(checks), 'expectation')} did not hold{also}"
    if findings:
        return "failed", f"{many(len(findings), 'divergence')} that no expectation speaks of{also}"
    if not checks and not compares(replayed):
        return "failed", "it compares nothing: no call was answered from the record, and nothing is expected"
    return "passed", ""


def compares(replayed: Replayed) -> bool:
    """Say whether a replay compared anything with the record."""
    return bool(replayed.coverage)


def checked(replayed: Replayed, expectations: Sequence[Expectation], ask: Judge) -> tuple[Check, ...]:
    """Check every expectation on what the replay recorded of itself."""
    if replayed.run is None:
        why = "the agent exports no spans of its own: nothing is known of what it did in the replay"
        return tuple(Check(one.text, False, why) for one in expectations)
    seen = view(replayed.run)
    return tuple(check(one, seen, ask) for one in expectations)


def of_recorded(run: Run, expectations: Sequence[Expectation], ask: Judge) -> tuple[Check, ...]:
    """Check every expectation on the recorded run itself: a failure must fail at least one."""
    seen: View = view(run)
    return tuple(check(one, seen, ask) for one in expectations)


def why_failure(run: Run) -> str:
    """Say why a run is one that must not come again; empty where nothing says so."""
    if run.flagged or run.outcome == "user_flagged":
        return "flagged"
    return "" if run.outcome == "ok" else f"outcome {run.outcome}"


def covers(expectation: Expectation, found: Divergence) -> bool:
    """Say whether an expectation speaks of what a divergence is about.

    Of the ways a replay went wrong in itself (network, an unstubbed tool, order, what cannot come again) none does.
    """
    if found.type == "output_mismatch":
        return _covers_output(expectation, found)
    if found.type in ("missing_call", "unrecorded_call"):
        return expectation.operator == "called" and _names(expectation, found)
    if found.type in ("input_mismatch", "decision_mismatch"):
        # A count says nothing about what a call was asked for.
        side = "input" if found.type == "input_mismatch" else "output"
        return expectation.side == side and _names(expectation, found) and _on_one_path(expectation.pointer, found.path)
    return False


def _covers_output(expectation: Expectation, found: Divergence) -> bool:
    if found.path == OUTCOME:
        return expectation.of == "outcome" and expectation.value == "ok"
    # An agent that crashed, or gives no answer at all, is not what anybody expects of its answer or outcome.
    if not found.has_now:
        return False
    return expectation.of == "output" and _on_one_path(expectation.pointer, found.path.removeprefix("/final_output"))


def _names(expectation: Expectation, found: Divergence) -> bool:
    return expectation.of == found.kind and expectation.name in ("*", found.name)


def _on_one_path(pointer: str, path: str) -> bool:
    """Say whether one of two pointers leads to what the other one is in."""
    one, other = pointer.split("/")[1:], path.split("/")[1:]
    return all("*" in pair or pair[0] == pair[1] for pair in zip(one, other, strict=False))
