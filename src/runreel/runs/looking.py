"""Looks for a text in a run: in what its steps saw and answered, their names and errors, and what was said of it."""

from collections.abc import Iterator, Mapping

from runreel.values import Run, Value


def holds(run: Run, text: str) -> bool:
    """Say whether the run holds the text, whatever the case. Content is looked at as it is stored: redacted."""
    wanted = text.casefold()
    return any(wanted in one.casefold() for one in _texts(run))


def _texts(run: Run) -> Iterator[str]:
    yield run.run_id
    yield run.agent_id
    for step in run.steps:
        yield step.name
        if step.error is not None:
            yield step.error.type
            yield step.error.message
    for value in (*run.payloads.values(), run.flagged):
        yield from _strings(value)


def _strings(value: Value) -> Iterator[str]:
    stack: list[Value] = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, tuple):
            stack += one
