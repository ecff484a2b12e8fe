"""What a report says of recorded steps that happened in another process than the agent's: a sub-agent of its own.

A replay runs the agent's process, and the Python programs that it starts. What another service did was reached through
a call, and that call is the recorded boundary: its answer stands for whatever happened behind it.
"""

from collections.abc import Container, Iterator, Mapping, Sequence

from runreel.replay.values import Entry
from runreel.values import Run, Step, Value

_MOST_LISTED = 12


def notes_on(run: Run, entries: Sequence[Entry], answered: Container[int]) -> Iterator[str]:
    """Say, for each other process of the record, which of its steps were answered, which were not, and which happened
    behind a recorded call that was answered in their place."""
    on_tape = {entry.seq for entry in entries}
    for name, steps in _by_process(run.steps).items():
        asked = [step.seq for step in steps if step.seq in on_tape]
        behind = [step.seq for step in steps if step.kind in ("llm", "tool", "retrieval") and step.seq not in on_tape]
        parts = [
            _part([seq for seq in asked if seq in answered], "answered from the record"),
            _part(
                [seq for seq in asked if seq not in answered], "not asked for: that process was no part of this replay"
            ),
            _part(behind, "behind a recorded call, whose answer stands for them"),
        ]
        said = "; ".join(part for part in parts if part)
        if said:
            yield f"the record has steps of another process ({name}): {said}"


def _by_process(steps: Sequence[Step]) -> Mapping[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    for step in steps:
        process = step.fields.get("process")
        if isinstance(process, Mapping) and step.shadowed_by is None:
            found.setdefault(_name(process), []).append(step)
    return found


def _name(process: Mapping[str, Value]) -> str:
    return str(process.get("service.name") or process.get("service.instance.id") or "unnamed")


def _part(seqs: Sequence[int], what: str) -> str:
    if not seqs:
        return ""
    listed = ", ".join(map(str, seqs[:_MOST_LISTED])) + (", …" if len(seqs) > _MOST_LISTED else "")
    return f"step{'s' if len(seqs) > 1 else ''} {listed} {what}"
