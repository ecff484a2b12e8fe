"""Puts the spans and log events of one run together into a Run: pure, and whatever the order of their arrival.

What it does, in order: settle copies, join log events to spans, read each span, find its place in the tree, recognise
doubled spans, pair tool steps with the model calls that asked for them, make tool steps where there are none, find the
decisions, order all steps and their causes, say what is known of the whole, judge it.
"""

from collections.abc import Sequence
from dataclasses import replace

from runreel.canonical import make_ref
from runreel.runs import about
from runreel.runs.carried import carried
from runreel.runs.copies import Settled, revision, settle, settle_logs
from runreel.runs.cuts import spread_cuts
from runreel.runs.decisions import decide, hand_over, merged
from runreel.runs.doubles import beside
from runreel.runs.draft import Draft
from runreel.runs.identity import run_hint
from runreel.runs.order import after_sets, arrange, causes
from runreel.runs.pairing import Conversation, pair
from runreel.runs.processes import mark_processes
from runreel.runs.replayed import replay_result
from runreel.runs.scores import flagged, judged, scores
from runreel.runs.synthesise import synthesise, tool_call_texts
from runreel.runs.tree import Tree, link, remote_parent, shadow
from runreel.runs.verdict import judge
from runreel.semconv.reading import Reading, read
from runreel.semconv.recognise import root_run_id
from runreel.semconv.view import Found, Memo, View
from runreel.values import LogEvent, Ref, Run, Span, Step, Value


def assemble(
    spans: Sequence[Span], logs: Sequence[LogEvent] = (), *, run_id: str | None = None, quiet: bool = True
) -> Run:
    """Return the run that the spans and log events make (`identity.group` says which belong together).

    `quiet` says that nothing more is expected: a run whose root never came is then over, else it is open.
    Raises ValueError where there is no span.
    """
    if not spans:
        raise ValueError("a run needs at least one span")
    memo = Memo()
    settled, notes = settle(spans)
    events = settle_logs(logs)
    tree = Tree({(one.span.key.trace_id, one.span.key.span_id): one for one in settled})
    drafts = _drafts(settled, events, tree, memo)
    beside(drafts, memo)
    shadow(drafts, memo)
    spread_cuts(drafts, memo)
    talk = Conversation(drafts, memo)
    pair(talk, [one for one in drafts if one.kind == "tool" and one.counts])
    hand_over(drafts, talk)
    drafts += synthesise(talk)
    tool_call_texts(talk)
    decide(drafts, talk)
    edges = causes(talk)
    ordered = arrange(drafts, edges)
    root = next((one for one in ordered if one.parent is None and one.counts), None)
    mark_processes(ordered, root)
    payloads = _Payloads()
    steps = _steps(ordered, after_sets(ordered, edges), payloads)
    evaluations = scores([one.span for one in settled], events, _places(steps))
    flags = flagged(events)
    run = _run(root, ordered, tree, events, memo, payloads, quiet=quiet)
    run = replace(
        run,
        run_id=run_id or run.run_id,
        revision=revision(settled, events),
        steps=steps,
        outcome=judged(run.outcome, flags, evaluations),
        scores=evaluations,
        flagged=flags,
        replay_result=replay_result(events),
        payloads=payloads.values,
        notes=(*notes, *about.unread([one.span for one in settled])),
    )
    replayable, gaps = judge(run)
    return replace(run, replayable=replayable, gaps=gaps)


def _places(steps: Sequence[Step]) -> dict[tuple[str, str], int]:
    return {(key.trace_id, key.span_id): step.seq for step in steps for key in step.keys}


class _Payloads:
    """The run's content values by hash; equal objects (tool definitions, mostly) are hashed once."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self._known: dict[int, tuple[Value, Ref]] = {}

    def ref(self, found: Found) -> Ref:
        """Keep a content value and return its ref; what has no value gets one without a hash."""
        if found.value is None and found.state != "whole":
            return Ref(state=found.state, reason=found.reason)
        known = self._known.get(id(found.value))
        if known is None:
            # The value is kept beside its ref, so that its id is not given to another one.
            known = self._known[id(found.value)] = (found.value, make_ref(found.value))
        ref = known[1]
        self.values[ref.sha256] = found.value
        return ref if found.state == "whole" else replace(ref, state=found.state, reason=found.reason)

    def of(self, value: Value) -> Ref:
        """Keep a whole value; None is absent."""
        return Ref() if value is None else self.ref(Found(value, "whole"))


def _drafts(settled: Sequence[Settled], events: Sequence[LogEvent], tree: Tree, memo: Memo) -> list[Draft]:
    """Read every span with its log events; link each step to the nearest step above it."""
    joined = carried(settled, events)
    drafts: dict[tuple[str, str], Draft] = {}
    for one in settled:
        ids = (one.span.key.trace_id, one.span.key.span_id)
        reading = read(View(one.span, joined.get(ids, ()), memo))
        if reading.kind != "other" and not merged(reading, one.span):
            drafts[ids] = _draft(one, reading)
    link(drafts, tree)
    return list(drafts.values())


def _draft(settled: Settled, reading: Reading) -> Draft:
    span = settled.span
    end = max(span.start_ns, span.end_ns)
    order = reading.fields.get("order")
    number = order if isinstance(order, int) else 0
    fields = dict(reading.fields)
    if reading.kind == "tool" and reading.input.text is not None:
        fields["arguments_text"] = reading.input.text
    return Draft(
        reading,
        span.start_ns,
        end,
        (span.start_ns, -end, number, span.key.trace_id, span.key.span_id, 0),
        keys=settled.keys,
        span=span,
        call_id=reading.call_id,
        fields=fields,
        input=reading.input,
        output=reading.output,
        definitions=reading.definitions,
        ended=span.end_ns != 0,
    )


def _steps(ordered: Sequence[Draft], after: Sequence[frozenset[int]], payloads: _Payloads) -> tuple[Step, ...]:
    place = {one: index for index, one in enumerate(ordered)}
    steps: list[Step] = []
    for index, one in enumerate(ordered):
        error = one.reading.error
        interrupted = one.fields.get("interrupted") is True
        steps.append(
            Step(
                seq=index,
                keys=one.keys,
                parent=place[one.parent] if one.parent is not None else None,
                kind=one.reading.kind,
                name=one.reading.name,
                after=after[index],
                call_id=one.call_id,
                start_ns=one.start_ns,
                end_ns=one.end_ns,
                status="error" if error is not None else "interrupted" if interrupted else "ok",
                input=payloads.ref(one.input),
                output=payloads.ref(one.output),
                error=error,
                fields=_fields(one, place, payloads),
                shadowed_by=place[one.shadowed_by] if one.shadowed_by is not None else None,
                synthesised=one.synthesised,
                dialect=one.reading.dialect,
            )
        )
    return tuple(steps)


def _fields(one: Draft, place: dict[Draft, int], payloads: _Payloads) -> dict[str, Value]:
    fields = dict(one.fields)
    if one.asked_by is not None:
        fields["asked_by"] = place[one.asked_by]
    if one.definitions.value is not None:
        fields["tool_definitions"] = one.definitions.value
        fields["tool_definitions_hash"] = str(payloads.ref(one.definitions))
    elif one.definitions.state != "absent":
        fields["tool_definitions_missing"] = f"{one.definitions.state}: {one.definitions.reason}"
    if one.reading.raw.state == "whole":
        fields["response_raw"] = str(payloads.ref(one.reading.raw))
    return fields


def _run(
    root: Draft | None,
    ordered: Sequence[Draft],
    tree: Tree,
    events: Sequence[LogEvent],
    memo: Memo,
    payloads: _Payloads,
    *,
    quiet: bool,
) -> Run:
    spans = tuple(sorted((one.span for one in tree.spans.values()), key=_when))
    tops = tree.tops()
    turns = [one for one in ordered if one.kind == "llm" and one.counts]
    facets = about.Facets(root, spans, tuple(events), memo)
    traces = tuple(dict.fromkeys(span.key.trace_id for span in (*tops, *spans)))
    parent_run_id, relation = about.parent(facets, tops, frozenset(traces))
    started, ended = _window(root, spans)
    here = any(span.parent_id is None or bool(run_hint(span)) for span in tops)
    return Run(
        tenant=spans[0].key.tenant,
        run_id=facets.text("run_id") or next(filter(None, map(root_run_id, tops)), traces[0]),
        revision="",
        trace_ids=traces,
        agent_id=about.agent_id(facets),
        outcome=about.outcome(facets, has_root=here or any(map(remote_parent, tops)), quiet=quiet),
        open=not quiet and not here,
        started_ns=started,
        ended_ns=ended,
        parent_run_id=parent_run_id,
        parent_relation=relation,
        replay_of=facets.text("replay_of") or None,
        versions=_versions(facets, turns, payloads),
        prompt_versions=about.prompts(turns, spans),
        user_ref=facets.text("user_ref") or None,
        user_input=payloads.of(about.user_input(facets, turns)),
        final_output=payloads.of(about.final_output(facets, turns)),
        flags=about.flags(facets),
        env=facets.text("env"),
        service=about.service(facets),
        conversation_id=facets.text("conversation_id") or None,
    )


def _versions(facets: about.Facets, turns: Sequence[Draft], payloads: _Payloads) -> dict[str, Value]:
    shown = dict.fromkeys(str(payloads.ref(turn.definitions)) for turn in turns if turn.definitions.state == "whole")
    return {**about.versions(facets), **({"tool_definitions": tuple(shown)} if shown else {})}


def _window(root: Draft | None, spans: Sequence[Span]) -> tuple[int, int]:
    """Return when the run began and ended: as its root says, else by all spans whose times can be."""
    if root is not None and root.span is not None and root.span.parent_id is None and root.end_ns > root.start_ns:
        return root.start_ns, root.end_ns
    sane = [span for span in spans if not any(mark.startswith("time:") for mark in span.marks)] or spans
    return min(span.start_ns for span in sane), max(max(span.start_ns, span.end_ns) for span in sane)


def _when(span: Span) -> tuple[int, int, str, str]:
    return (span.start_ns, -span.end_ns, span.key.trace_id, span.key.span_id)
