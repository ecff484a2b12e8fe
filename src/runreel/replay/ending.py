"""Compare how a run ended, as its own root says: with an error, with an exit status, with an answer of its own.

What a process prints, and what it ends with after its run, no span says: that cannot be compared.
"""

from runreel.replay.values import Divergence
from runreel.values import Run, Step

OUTCOME = "/outcome"
"""The path of a divergence that says that a run ended well, or badly, other than it did."""
_EXIT = "SystemExit"
_AFTER = "every call is as recorded: the difference comes from the agent's code"


def difference(recorded: Run, own: Run) -> Divergence | None:
    """Return how the end of a replay differs from that of its run, None where it does not, or nothing is known of it.

    Args:
        recorded: The run that was replayed.
        own: What the replay recorded of itself, every call of it as recorded.
    """
    root, ours = _root(recorded), _root(own)
    if root is not None and ours is not None and root.name == ours.name:
        was, now = _error(root), _error(ours)
        if was != now:
            reason = f"the agent's run ended {now or 'well'}; the recorded run ended {was or 'well'}"
            return Divergence("output_mismatch", path=OUTCOME, reason=reason, advice=_AFTER)
        if root.output.sha256 and not ours.output.sha256 and _has_content(own):
            return _silent()
    if recorded.final_output.sha256 and not own.final_output.sha256 and _has_content(own):
        return _silent()
    return None


def _silent() -> Divergence:
    reason = "the agent's run gives no answer any more; the recorded run gave one"
    return Divergence("output_mismatch", path="/final_output", reason=reason, advice=_AFTER)


def _root(run: Run) -> Step | None:
    """Return the agent that the run is: None where there is none, or several that could be."""
    found = [step for step in run.steps if step.kind == "agent" and step.parent is None and step.shadowed_by is None]
    return found[0] if len(found) == 1 else None


def _error(root: Step) -> str:
    """Say what a run ended with; empty where it ended well.

    Of an exception only that there was one: a recorded type may not be there to be raised again. An exit status is the
    same number everywhere.
    """
    error = root.error
    if error is None:
        return ""
    return f"with exit status {error.message}" if error.type == _EXIT and error.message.isdecimal() else "with an error"


def _has_content(run: Run) -> bool:
    """Say whether a run records what its models said: else an answer that is not there says nothing."""
    calls = [step for step in run.steps if step.kind == "llm" and step.shadowed_by is None]
    return bool(calls) and all(step.output.sha256 for step in calls if step.error is None)
