"""Says which runs a list is asked for: by their fields, and by a text in what their steps saw and answered, in names,
errors, and what was said of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from runreel.storage import RunQuery
from runreel.values import Run, RunSummary, Value


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


def newest_first(found: Iterable[RunSummary], limit: int) -> Sequence[RunSummary]:
    """Return runs by their start, the latest first; at most `limit`, 0 is all."""
    ordered = sorted(found, key=lambda summary: (-summary.started_ns, summary.run_id))
    return ordered[:limit] if limit else ordered


def matches(summary: RunSummary, query: RunQuery) -> bool:
    """Say whether a run is one that is asked for, its text aside."""
    return (
        (bool(summary.replay_of) == query.replays if query.replay_of is None else summary.replay_of == query.replay_of)
        and (query.since_ns is None or summary.started_ns >= query.since_ns)
        and (query.agent is None or summary.agent_id == query.agent)
        and (query.user is None or summary.user_ref == query.user)
        and (query.outcome is None or summary.outcome == query.outcome)
        and (query.tool is None or query.tool in summary.tools)
        and (query.verdict is None or summary.replayable == query.verdict)
    )
