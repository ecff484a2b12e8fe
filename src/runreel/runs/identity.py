"""Says which spans and log events belong to one run."""

from collections.abc import Mapping, Sequence

from runreel.semconv import keys
from runreel.semconv.reading import dialect_of, kind_of
from runreel.semconv.view import View
from runreel.values import LogEvent, Span

Group = tuple[tuple[Span, ...], tuple[LogEvent, ...]]


def group(spans: Sequence[Span], logs: Sequence[LogEvent] = ()) -> Mapping[str, Group]:
    """Return the spans and log events of each run, by run id.

    A span belongs to the run that it names, else to that of its nearest ancestor that names one, else to the one run
    named in its trace, else to a run with the id of its trace. A log event follows its span. Spans of which none is a
    GenAI step make no run.
    """
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.key.trace_id, []).append(span)
    run_of: dict[tuple[str, str], str] = {}
    default: dict[str, str] = {}
    for trace_id, members in traces.items():
        default[trace_id] = _name_spans(trace_id, members, run_of)
    chosen: dict[str, list[Span]] = {}
    for span in spans:
        chosen.setdefault(run_of[span.key.trace_id, span.key.span_id], []).append(span)
    events: dict[str, list[LogEvent]] = {}
    for log in logs:
        run_id = run_of.get((log.trace_id, log.span_id)) or default.get(log.trace_id)
        if run_id is not None:
            events.setdefault(run_id, []).append(log)
    return {
        run_id: (tuple(members), tuple(events.get(run_id, ())))
        for run_id, members in chosen.items()
        if any(is_step(span) for span in members)
    }


def is_step(span: Span) -> bool:
    """Say whether a span is a GenAI step and not only structure."""
    view = View(span)
    return kind_of(view, dialect_of(view))[0] != "other"


def run_hint(span: Span) -> str:
    """Return the run that a span names itself, else ""."""
    value = span.attributes.get(keys.RUN_ID)
    return value if isinstance(value, str) else ""


def _name_spans(trace_id: str, members: Sequence[Span], run_of: dict[tuple[str, str], str]) -> str:
    """Fill `run_of` for the spans of one trace; return the run of what stands under no named span."""
    parents = {span.key.span_id: span.parent_id for span in members if span.parent_id}
    hints = {span.key.span_id: hint for span in members if (hint := run_hint(span))}
    if not hints:
        for span in members:
            value = span.resource.attributes.get(keys.RUN_ID)
            if isinstance(value, str) and value:
                hints[span.key.span_id] = value
    named = set(hints.values())
    default = next(iter(named)) if len(named) == 1 else trace_id
    for span in members:
        run_of[trace_id, span.key.span_id] = _nearest(span.key.span_id, parents, hints) or default
    return default


def _nearest(span_id: str, parents: Mapping[str, str], hints: Mapping[str, str]) -> str:
    seen: set[str] = set()
    at: str | None = span_id
    while at is not None and at not in seen:
        if at in hints:
            return hints[at]
        seen.add(at)
        at = parents.get(at)
    return ""
