"""Finds each step's place in the tree of spans, and which steps are only another view of the same call.

Two instrumentations in one process, or a framework above a provider's SDK, write two spans for one model call. The
deepest one stands for the call, since it is nearest to the wire; the outer one is kept, marked, and not counted. Of
two nested spans of one tool call (MCP below a framework) the outer one stands, since that is what the agent called.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runreel.runs.copies import Settled
from runreel.runs.doubles import complete, same_call, same_words
from runreel.runs.draft import Draft
from runreel.semconv.view import Found, Memo
from runreel.values import Span, Value

SpanIds = tuple[str, str]
_REMOTE_PARENT = 0x300
"""OTLP's span flags: it is known whether the parent is remote, and it is."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The spans of a run by (trace id, span id)."""

    spans: Mapping[SpanIds, Settled]

    def parent(self, span: Span) -> Span | None:
        """Return the span above, None where it is not here."""
        above = self.spans.get((span.key.trace_id, span.parent_id or ""))
        return above.span if above is not None and above.span is not span else None

    def above(self, span: Span) -> Iterator[Span]:
        """Yield the spans above, nearest first; a circle of parents ends the walk."""
        seen = {span.key.span_id}
        at = self.parent(span)
        while at is not None and at.key.span_id not in seen:
            seen.add(at.key.span_id)
            yield at
            at = self.parent(at)

    def tops(self) -> list[Span]:
        """Return the spans that have nothing above them here, the earliest first; all of them if all go in circles."""
        spans = [one.span for one in self.spans.values()]
        found = [span for span in spans if self.parent(span) is None] or spans
        return sorted(found, key=lambda span: (span.start_ns, -span.end_ns, span.key.span_id))


def remote_parent(span: Span) -> bool:
    """Say whether a span's parent is known to live in another process."""
    return span.flags & _REMOTE_PARENT == _REMOTE_PARENT


def link(drafts: Mapping[SpanIds, Draft], tree: Tree) -> None:
    """Give each step its parent: the nearest step above it. Note a parent that never arrived."""
    for draft in drafts.values():
        span = draft.span
        if span is None:
            continue
        top = span
        for above in tree.above(span):
            top = above
            found = drafts.get((above.key.trace_id, above.key.span_id))
            if found is not None and not _is_below(found, draft):
                draft.parent = found
                break
        if draft.parent is None and top.parent_id and tree.parent(top) is None and not remote_parent(top):
            draft.fields["missing_parent"] = top.parent_id


def _is_below(one: Draft, ancestor: Draft) -> bool:
    return any(above is ancestor for above in upwards(one))


def upwards(one: Draft) -> Iterator[Draft]:
    """Yield a step and the steps above it."""
    at: Draft | None = one
    while at is not None:
        yield at
        at = at.parent


def shadow(drafts: Sequence[Draft], memo: Memo) -> None:
    """Mark the steps that are another view of a step nested in them, or around them."""
    below: dict[Draft, list[Draft]] = {}
    for inner in sorted(drafts, key=lambda one: one.order):
        direct = True
        for outer in upwards(inner):
            if outer is inner:
                continue
            direct = direct and outer.kind == "llm"
            if outer.kind != inner.kind:
                continue
            if inner.kind == "llm":
                if direct:
                    below.setdefault(outer, []).append(inner)
                if _same_model_call(outer, inner, memo) or (direct and _nothing_against(outer, inner, memo)):
                    outer.shadowed_by = inner
                    complete(inner, outer)
            elif inner.kind in ("tool", "retrieval") and _same_inner_call(outer, inner):
                inner.shadowed_by = outer
                break
    for outer, inners in below.items():
        _sum_up(outer, [one for one in inners if one.counts])


def _sum_up(outer: Draft, inners: Sequence[Draft]) -> None:
    """A model span around several model calls is their sum, and no call: the last of them gave its answer."""
    own = outer.fields.get("response_id")
    ids = [one.fields.get("response_id") for one in inners]
    if outer.counts and len(inners) > 1 and (not own or own in ids):
        outer.shadowed_by = inners[ids.index(own) if own else -1]


def _nothing_against(outer: Draft, inner: Draft, memo: Memo) -> bool:
    """Say whether a model span directly below another one may be the same call where one of them says too little.

    An outer span without usage of its own (or around one without) is the caller's view of the call, unless ids,
    models or answers differ.
    """
    sides = outer.fields, inner.fields
    if all(side.get("response_id") for side in sides) or all(side.get("usage") for side in sides):
        return False
    models = [{side.get("model"), side.get("model_requested")} - {None} for side in sides]
    answers = outer.output.state == inner.output.state == "whole"
    return (
        outer.start_ns <= inner.start_ns <= inner.end_ns <= outer.end_ns
        and (not all(models) or bool(models[0] & models[1]))
        and (not answers or same_words(outer.reading, inner.reading, memo))
    )


def _same_model_call(outer: Draft, inner: Draft, memo: Memo) -> bool:
    ids = outer.fields.get("response_id"), inner.fields.get("response_id")
    if all(ids):
        return ids[0] == ids[1]
    if outer.span is not None and inner.span is not None and outer.span.key.trace_id != inner.span.key.trace_id:
        return same_call(outer.span, outer.reading, inner.span, inner.reading, memo)
    usage = _spent(outer)
    overlap = outer.start_ns <= inner.end_ns and inner.start_ns <= outer.end_ns
    models = {outer.fields.get("model"), outer.fields.get("model_requested")} & {
        inner.fields.get("model"),
        inner.fields.get("model_requested"),
    }
    return overlap and usage is not None and usage == _spent(inner) and bool(models - {None})


def _spent(draft: Draft) -> Mapping[str, Value] | None:
    """Return a call's usage; what was none of, some senders say and others do not."""
    usage = draft.fields.get("usage")
    return {name: count for name, count in usage.items() if count != 0} if isinstance(usage, Mapping) else None


def _same_inner_call(outer: Draft, inner: Draft) -> bool:
    if outer.call_id and inner.call_id:
        return outer.call_id == inner.call_id
    if inner.kind == "tool" and outer.reading.name != inner.reading.name:
        return False
    return _same_value(outer.input, inner.input)


def _same_value(outer: Found, inner: Found) -> bool:
    return inner.state == "absent" or outer.state == "absent" or outer.value == inner.value
