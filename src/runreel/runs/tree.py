"""Finds each step's place in the tree of spans, and which steps are only another view of the same call.

Two instrumentations in one process, or a framework above a provider's SDK, write two spans for one model call. The
deepest one stands for the call, since it is nearest to the wire; the outer one is kept, marked, and not counted. Of
two nested spans of one tool call (MCP below a framework) the outer one stands, since that is what the agent called.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runreel.runs.copies import Settled
from runreel.runs.draft import Draft
from runreel.semconv.view import Found
from runreel.values import Span

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


def shadow(drafts: Sequence[Draft]) -> None:
    """Mark the steps that are another view of a step nested in them, or around them."""
    for inner in sorted(drafts, key=lambda one: one.order):
        for outer in upwards(inner):
            if outer is inner or outer.kind != inner.kind:
                continue
            if inner.kind == "llm" and _same_model_call(outer, inner):
                outer.shadowed_by = inner
                _complete(inner, outer)
            elif inner.kind in ("tool", "retrieval") and _same_inner_call(outer, inner):
                inner.shadowed_by = outer
                break


def _same_model_call(outer: Draft, inner: Draft) -> bool:
    ids = outer.fields.get("response_id"), inner.fields.get("response_id")
    if all(ids):
        return ids[0] == ids[1]
    usage = outer.fields.get("usage")
    overlap = outer.start_ns <= inner.end_ns and inner.start_ns <= outer.end_ns
    models = {outer.fields.get("model"), outer.fields.get("model_requested")} & {
        inner.fields.get("model"),
        inner.fields.get("model_requested"),
    }
    return overlap and usage is not None and usage == inner.fields.get("usage") and bool(models - {None})


def _same_inner_call(outer: Draft, inner: Draft) -> bool:
    if inner.kind == "tool" and outer.reading.name != inner.reading.name:
        return False
    if outer.call_id and inner.call_id:
        return outer.call_id == inner.call_id
    return _same_value(outer.input, inner.input)


def _same_value(outer: Found, inner: Found) -> bool:
    return inner.state == "absent" or outer.state == "absent" or outer.value == inner.value


def _complete(inner: Draft, outer: Draft) -> None:
    """Give the step that stands for the call what only its double recorded."""
    if inner.input.state != "whole" and outer.input.state == "whole":
        inner.input = outer.input
    if inner.output.state != "whole" and outer.output.state == "whole":
        inner.output = outer.output
    for key, value in outer.fields.items():
        if inner.fields.get(key) in (None, {}) and key != "instrumentation":
            inner.fields[key] = value
