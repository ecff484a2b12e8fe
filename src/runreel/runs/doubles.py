"""Recognises one call that two instrumentations recorded: a framework's span and, below or beside it, the client's.

Where the spans hang together the tree shows it. Where they do not (two tracer providers, a context that got lost), the
client's spans are traces of their own. They are the same call if it is the same service instance, the inner one lies
inside the outer one's time, two different scopes wrote them, and they say the same: the same response id, or else the
same answer to the same last message.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from runreel.canonical import canonical
from runreel.runs.draft import Draft
from runreel.semconv.messages import arguments
from runreel.semconv.reading import Reading
from runreel.semconv.registry import fields_of
from runreel.semconv.view import Found, Memo
from runreel.values import Span, Value

_INSTANCE = "service.instance.id"


def instance(span: Span) -> str:
    """Return which process wrote a span, "" where it does not say."""
    value = span.resource.attributes.get(_INSTANCE)
    return value if isinstance(value, str) else ""


def inside(outer: Span, inner: Span) -> bool:
    """Say whether a span lies in another one's time, the other one in front where both times are the same."""
    if not outer.start_ns <= inner.start_ns <= inner.end_ns <= outer.end_ns:
        return False
    return tightness(outer) < tightness(inner)


def tightness(span: Span) -> tuple[int, int, str, str]:
    """Order spans so that of two around a third the closer one is greater."""
    return (span.start_ns, -span.end_ns, span.key.trace_id, span.key.span_id)


def same_call(outer: Span, said: Reading, inner: Span, told: Reading, memo: Memo) -> bool:
    """Say whether two model spans of unconnected traces are one call."""
    return (
        said.kind == told.kind == "llm"
        and outer.scope.name != inner.scope.name
        and bool(instance(outer))
        and instance(outer) == instance(inner)
        and inside(outer, inner)
        and same_words(said, told, memo)
    )


def same_words(one: Reading, other: Reading, memo: Memo) -> bool:
    """Say whether two readings hold the same answer: by its id, else word for word, to the same last message."""
    ids = one.fields.get("response_id"), other.fields.get("response_id")
    if all(ids):
        return ids[0] == ids[1]
    answers = _words(one.output, memo), _words(other.output, memo)
    if not answers[0] or answers[0] != answers[1]:
        return False
    asked = _words(one.input, memo), _words(other.input, memo)
    return not (asked[0] and asked[1]) or asked[0][-1] == asked[1][-1]


def _words(found: Found, memo: Memo) -> list[bytes]:
    """Return what each message says, without what dialects write differently: roles, names, ids, finish reasons."""
    listed = found.value if found.state == "whole" and isinstance(found.value, tuple) else ()
    out: list[bytes] = []
    for message in listed:
        parts = message.get("parts") if isinstance(message, Mapping) else None
        if isinstance(message, Mapping) and isinstance(parts, tuple):
            out.append(canonical(tuple(_part(part, memo) for part in parts)))
    return out


def _part(part: Value, memo: Memo) -> Value:
    if not isinstance(part, Mapping):
        return part
    if part.get("type") == "tool_call":
        return (part.get("name"), arguments(part.get("arguments"), memo))
    return {key: value for key, value in part.items() if key != "id"}


def beside(drafts: Sequence[Draft], memo: Memo) -> None:
    """Mark steps of one run that two scopes recorded without one hanging below the other.

    A model call from another trace is hung below the call that it is, and the inner one stands. Of two tool steps for
    one call the outer one stands.
    """
    for outer, inner in _pairs([one for one in drafts if one.kind == "llm"]):
        if outer.span is None or inner.span is None:
            continue
        if not same_words(outer.reading, inner.reading, memo) and not _failed_alike(outer, inner):
            continue
        apart = outer.span.key.trace_id != inner.span.key.trace_id
        if apart and not same_call(outer.span, outer.reading, inner.span, inner.reading, memo):
            continue
        if apart and inner.parent is None:
            inner.parent = outer
        elif inner.counts and outer.counts:
            outer.shadowed_by = inner
            complete(inner, outer)
    for outer, inner in _pairs([one for one in drafts if one.kind == "tool"]):
        if inner.counts and outer.counts and _same_tool_call(outer, inner):
            inner.shadowed_by = outer


def _failed_alike(outer: Draft, inner: Draft) -> bool:
    """Say whether a failed model span without content is the inner view of another one that failed around it."""
    if outer.reading.error is None or inner.reading.error is None or inner.input.state != "absent":
        return False
    assert outer.span is not None
    assert inner.span is not None
    asked = outer.fields.get("model_requested") or outer.fields.get("model")
    return bool(asked) and asked == inner.fields.get("model_requested") and inside(outer.span, inner.span)


def _pairs(drafts: Sequence[Draft]) -> Iterator[tuple[Draft, Draft]]:
    """Yield overlapping (earlier, later) steps of different scopes, closest first, where neither is above the other."""
    scopes = {one.span.scope.name for one in drafts if one.span is not None}
    if len(scopes) < 2:
        return
    ordered = sorted(drafts, key=lambda one: one.order)
    for place, inner in enumerate(ordered):
        for outer in reversed(ordered[:place]):
            differ = outer.span is not None and inner.span is not None and outer.span.scope != inner.span.scope
            if differ and inner.start_ns < outer.end_ns and not _above(outer, inner) and not _above(inner, outer):
                yield outer, inner


def _above(upper: Draft, lower: Draft) -> bool:
    at = lower.parent
    while at is not None:
        if at is upper:
            return True
        at = at.parent
    return False


def _same_tool_call(outer: Draft, inner: Draft) -> bool:
    if outer.reading.name != inner.reading.name:
        return False
    if outer.call_id and inner.call_id:
        return outer.call_id == inner.call_id
    whole = outer.input.state == inner.input.state == "whole"
    return whole and outer.input.value == inner.input.value and outer.output.value == inner.output.value


# --- what a double adds ---------------------------------------------------------------------------------------------


def complete(inner: Draft, outer: Draft) -> None:
    """Give the step that stands for the call what only its double recorded."""
    told = inner.input.state != "whole" and outer.input.state == "whole"
    if told:
        inner.input = outer.input
    if inner.output.state != "whole" and outer.output.state == "whole":
        inner.output = outer.output
    if inner.definitions.state != "whole" and outer.definitions.state != "absent":
        inner.definitions = outer.definitions
    for key, value in outer.fields.items():
        if inner.fields.get(key) in (None, {}) and key != "instrumentation":
            inner.fields[key] = value
    if told:
        _complete_params(inner, outer)
    error, other = inner.reading.error, outer.reading.error
    if error is not None and not error.message and other is not None and other.message:
        inner.reading = replace(inner.reading, error=other)


def _complete_params(inner: Draft, outer: Draft) -> None:
    """Of two spans around one SDK's call both saw the request; a framework may name what it did not send."""
    params, more = inner.fields.get("params"), outer.fields.get("params")
    if not isinstance(params, Mapping) or not isinstance(more, Mapping):
        return
    same = outer.reading.dialect == inner.reading.dialect
    inner.fields["params"] = {**{name: one for name, one in more.items() if same or name in _DECLARED}, **params}


_DECLARED: Final = frozenset(one.name.removeprefix("params.") for one in fields_of("llm")) | {"stop_sequences"}
