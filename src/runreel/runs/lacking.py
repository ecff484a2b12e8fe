"""Which content a run lacks of what a policy wants it to have, told of a run that is over."""

from collections.abc import Container, Iterator

from runreel.values import Ref, Run, Step

_FAILED_HERE = "redaction_failed"


def lacking(run: Run, fields: Container[str]) -> Iterator[tuple[Step, str]]:
    """Yield each step that has none of a wanted field, with the field's name, in the order of the steps.

    Args:
        run: A run that is over: what is open may still be told.
        fields: Names as in `processors.required.OF_CONTENT`: a field, or the kind of a step and its field.

    A field is lacking where the verdict names it as a gap and nothing of it came: it is absent, was withheld by its
    sender, or is elsewhere and could not be read from there. One that was cut came; one that could not be redacted was
    lost here, not by the sender. So did a failed step's output, which is no gap. Steps that were made from others have
    no span that could lack anything.
    """
    steps = {step.seq: step for step in run.steps}
    for gap in run.gaps:
        step = steps.get(gap.step) if gap.step is not None else None
        if step is None or step.synthesised or gap.field not in ("input", "output"):
            continue
        if not _none_of_it(step.input if gap.field == "input" else step.output):
            continue
        for name in (f"{step.kind}.{gap.field}", gap.field):
            if name in fields:
                yield step, name
                break


def _none_of_it(ref: Ref) -> bool:
    return ref.state in ("absent", "external") or (ref.state == "withheld" and _FAILED_HERE not in ref.reason)
