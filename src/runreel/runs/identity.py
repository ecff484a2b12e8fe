"""Says which spans and log events belong to one run."""

from collections.abc import Callable, Mapping, Sequence

from runreel.runs.doubles import inside, instance, same_call, tightness
from runreel.semconv import keys
from runreel.semconv.reading import Reading, dialect_of, kind_of, read
from runreel.semconv.recognise import root_run_id
from runreel.semconv.view import Memo, View
from runreel.values import LogEvent, Span

Group = tuple[tuple[Span, ...], tuple[LogEvent, ...]]


def group(spans: Sequence[Span], logs: Sequence[LogEvent] = ()) -> Mapping[str, Group]:
    """Return the spans and log events of each run, by run id.

    A span belongs to the run that it names, else to that of its nearest ancestor that names one, else to the one run
    named in its trace (by our attribute, else by a framework on the root), else to a run with the id of its trace. A
    trace of nothing but model calls, each of which is another instrumentation's record of a call in one other run (see
    `doubles`), belongs to that run. A log event follows its span, else the run that it names. Spans of which none is a
    GenAI step make no run, nor does the mere making of an agent.
    """
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.key.trace_id, []).append(span)
    run_of: dict[tuple[str, str], str] = {}
    default: dict[str, str] = {}
    for trace_id, members in traces.items():
        default[trace_id] = _name_spans(trace_id, members, run_of)
    for trace_id, home in _joined(traces, run_of, logs).items():
        default[trace_id] = home
        run_of.update({(trace_id, span.key.span_id): home for span in traces[trace_id]})
    chosen: dict[str, list[Span]] = {}
    for span in spans:
        chosen.setdefault(run_of[span.key.trace_id, span.key.span_id], []).append(span)
    events: dict[str, list[LogEvent]] = {}
    for log in logs:
        said = log.attributes.get(keys.RUN_ID)
        own = run_of.get((log.trace_id, log.span_id)) or (said if isinstance(said, str) and said in chosen else None)
        run_id = own or default.get(log.trace_id)
        if run_id is not None:
            events.setdefault(run_id, []).append(log)
    return {
        run_id: (tuple(members), tuple(events.get(run_id, ())))
        for run_id, members in chosen.items()
        if any(is_step(span) and not _only_makes(span) for span in members)
    }


def _only_makes(span: Span) -> bool:
    """Say whether a span says that an agent was made: nothing ran, and where it did another span says so."""
    return span.attributes.get("gen_ai.operation.name") == "create_agent"


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
    # Of different spans with one id the first counts, whichever came first: the last to be written stands.
    ordered = sorted(members, key=lambda span: (span.start_ns, run_hint(span), span.parent_id or ""), reverse=True)
    parents = {span.key.span_id: span.parent_id for span in ordered if span.parent_id}
    hints = {span.key.span_id: hint for span in ordered if (hint := run_hint(span))}
    if not hints:
        for span in ordered:
            value = span.resource.attributes.get(keys.RUN_ID)
            if isinstance(value, str) and value:
                hints[span.key.span_id] = value
    if not hints:
        hints = {span.key.span_id: name for span in ordered if (name := root_run_id(span))}
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


def _joined(
    traces: Mapping[str, Sequence[Span]], run_of: Mapping[tuple[str, str], str], logs: Sequence[LogEvent]
) -> Mapping[str, str]:
    """Return the run of each trace whose model calls all are calls of one other run. Content is read only where the
    instance, the time and the scopes leave that open."""
    calls = _calls(traces)
    if len({scope for found in calls.values() for scope in found[1]}) < 2:
        return {}
    memo = Memo()
    readings: dict[int, Reading] = {}

    def reading(span: Span) -> Reading:
        if id(span) not in readings:
            ids = (span.key.trace_id, span.key.span_id)
            own = [log for log in logs if (log.trace_id, log.span_id) == ids]
            readings[id(span)] = read(View(span, own, memo))
        return readings[id(span)]

    joined: dict[str, str] = {}
    for trace_id, (inner, _, alone) in calls.items():
        unnamed = all(run_of[trace_id, span.key.span_id] == trace_id for span in traces[trace_id])
        if not alone or not unnamed:
            continue
        homes = {_home(span, calls, reading, memo) for span in inner}
        runs = {run_of[home] if home is not None else None for home in homes}
        if len(runs) == 1 and (run_id := runs.pop()) is not None:
            joined[trace_id] = run_id
    return {trace_id: _last(run_id, joined) for trace_id, run_id in joined.items()}


def _calls(traces: Mapping[str, Sequence[Span]]) -> dict[str, tuple[list[Span], set[str], bool]]:
    """Return, by trace, its model spans, their scopes, and whether it has no other steps."""
    found: dict[str, tuple[list[Span], set[str], bool]] = {}
    for trace_id, members in traces.items() if len(traces) > 1 else ():
        kinds = [(span, kind_of(view, dialect_of(view))[0]) for span in members for view in (View(span),)]
        calls = [span for span, kind in kinds if kind == "llm" and instance(span)]
        if calls:
            alone = all(kind in ("llm", "other") for _, kind in kinds)
            found[trace_id] = (calls, {span.scope.name for span in calls}, alone)
    return found


def _home(
    inner: Span,
    calls: Mapping[str, tuple[list[Span], set[str], bool]],
    reading: Callable[[Span], Reading],
    memo: Memo,
) -> tuple[str, str] | None:
    """Return the ids of the closest model span of another trace that is the same call."""
    around = [
        span
        for trace_id, (spans, _, _) in calls.items()
        for span in spans
        if trace_id != inner.key.trace_id
        and span.scope.name != inner.scope.name
        and instance(span) == instance(inner)
        and inside(span, inner)
    ]
    for outer in sorted(around, key=tightness, reverse=True):
        if same_call(outer, reading(outer), inner, reading(inner), memo):
            return outer.key.trace_id, outer.key.span_id
    return None


def _last(run_id: str, joined: Mapping[str, str]) -> str:
    """Follow a trace that joined a trace that joined another. There is no circle: the outer one began first."""
    while run_id in joined:
        run_id = joined[run_id]
    return run_id
