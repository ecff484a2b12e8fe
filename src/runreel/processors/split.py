"""The split processor: heavy values of clean spans and log events become payloads and parts; rows keep references."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from runreel.canonical import (
    THRESHOLD_BYTES,
    canonical,
    dumps,
    escape_own,
    exact_ref,
    join_payload,
    payload_marker,
    payload_ref,
    split_payload,
    unescape_own,
)
from runreel.canonical.growing import Memo
from runreel.canonical.parts import MARK, Parts, Seen
from runreel.values import (
    CleanBatch,
    Event,
    Facts,
    LogEvent,
    Part,
    Payload,
    Ref,
    Resource,
    Scope,
    Span,
    SpanKey,
    SpanRow,
    SplitBatch,
    Value,
)

# How the copy hash is made is part of every key in the store: these numbers never change.
_COPY_DIGITS = 32
_COPY_INLINE_BYTES = 256

_MEMO_CHARS = 32_000_000  # of histories, to split only what is new in them

_END_CHARS = 64
_PLAIN = re.compile(r"[ !#-\[\]-~]*+")  # as long in typed text as it is
_MOST_BYTES = 8  # that one character takes in typed text: a lone surrogate, escaped


class Split:
    """Splits a clean batch into rows, payloads and parts. Pure but for its memo; thread-safe.

    A whole attribute, event attribute or log body of `threshold` bytes or more (as typed JSON text) becomes a payload;
    its row keeps a marker. `copy` of each key is the hash of the content, the same for every threshold and whichever
    way the record came.
    """

    def __init__(self, threshold: int = THRESHOLD_BYTES) -> None:
        if threshold < 1:
            raise ValueError(f"a threshold of {threshold} bytes: at least 1 is wanted")
        self._threshold = threshold
        self._memo = Memo(_MEMO_CHARS)

    def process(self, batch: CleanBatch) -> SplitBatch:
        """Split one batch; a payload or part that occurs in it several times is listed once."""
        work = _Work(batch.tenant, self._threshold, self._memo)
        facts = batch.facts or (Facts(),) * len(batch.spans)
        rows = tuple(SpanRow(work.span(span), fact) for span, fact in zip(batch.spans, facts, strict=True))
        logs = tuple(work.log(log) for log in batch.logs)
        parts = tuple(Part(batch.tenant, sha256, *part) for sha256, part in work.parts.items())
        return SplitBatch(batch.tenant, rows, logs, tuple(work.payloads.values()), parts, batch.rejected, batch.sealed)


def join_row(row: SpanRow, payload: Callable[[str], str], part: Callable[[str], bytes]) -> Span:
    """Return the whole span of a row. `payload` gives a skeleton by hash, `part` the bytes of a part by hash.

    Raises CorruptError where they do not give the payload that the row names.
    """
    span = row.span
    join = _joiner(payload, part)
    return replace(
        span,
        attributes=_each(span.attributes, join),
        events=tuple(replace(event, attributes=_each(event.attributes, join)) for event in span.events),
    )


def join_log(log: LogEvent, payload: Callable[[str], str], part: Callable[[str], bytes]) -> LogEvent:
    """Return the whole log event of a stored one; as `join_row`."""
    join = _joiner(payload, part)
    return replace(log, body=join(log.body), attributes=_each(log.attributes, join))


class _Work:
    """What one batch comes to. Values are told by identity: they live as long as the batch does."""

    def __init__(self, tenant: str, threshold: int, memo: Memo) -> None:
        self.payloads: dict[str, Payload] = {}
        self.parts: Parts = {}
        self._tenant = tenant
        self._threshold = threshold
        self._alike = threshold == _COPY_INLINE_BYTES  # what a row keeps is what the copy hash is made of
        self._memo = memo
        self._seen = Seen()
        self._texts: dict[tuple[int, str], tuple[str, Ref]] = {}
        self._refs: dict[int, Ref] = {}
        self._shared: dict[int, Value] = {}

    def span(self, span: Span) -> Span:
        attributes = self._values(span.attributes)
        events = tuple([replace(event, attributes=self._values(event.attributes)) for event in span.events])
        copy = _copy(self._span_content(span, attributes, events))
        key = SpanKey(span.key.tenant, span.key.trace_id, span.key.span_id, copy)
        return replace(span, key=key, attributes=attributes, events=events)

    def log(self, log: LogEvent) -> LogEvent:
        body, attributes = self._value(log.body), self._values(log.attributes)
        copy = _copy(self._log_content(log, body, attributes))
        return replace(log, copy=copy, body=body, attributes=attributes)

    def _values(self, attributes: Mapping[str, Value]) -> dict[str, Value]:
        """Return what the row keeps of each attribute."""
        out: dict[str, Value] = {}
        for key, value in attributes.items():
            # Most are light and no marker at first sight.
            if isinstance(value, str):
                plain = len(value) * _MOST_BYTES + 2 < self._threshold and value[:1] != MARK
            else:
                plain = isinstance(value, (int, float))
            out[key] = value if plain else self._value(value)
        return out

    def _value(self, value: Value) -> Value:
        """Return what the row keeps of a value; note its payload and parts."""
        if not _at_least(value, self._threshold):
            return escape_own(value)
        # Texts are large: they are looked up by their length and end, not by a hash of all of it.
        key = (len(value), value[-_END_CHARS:]) if isinstance(value, str) else None
        known = self._texts.get(key) if key else None
        if known is not None and known[0] == value:
            ref = known[1]
        else:
            ref, skeleton, parts = split_payload(value, self._threshold, self._memo, self._seen)
            if ref.sha256 not in self.payloads:
                self.payloads[ref.sha256] = Payload(self._tenant, ref, skeleton, tuple(sorted(parts)))
                self.parts.update(parts)
            if isinstance(value, str) and key:
                self._texts[key] = value, ref
        self._refs[id(value)] = ref
        return payload_marker(ref)

    def _span_content(self, span: Span, attributes: Mapping[str, Value], events: Sequence[Event]) -> Value:
        """Return what the copy hash of a span is made of; the last two are as its row keeps them."""
        return (
            span.key.trace_id,
            span.key.span_id,
            span.parent_id or "",
            (span.name, span.kind, span.status, span.message, span.trace_state, span.flags),
            (span.start_ns, span.end_ns),
            self._origin(span.resource, span.scope),
            self._kept(span.attributes, attributes),
            tuple(
                [
                    (event.name, event.time_ns, self._kept(event.attributes, kept.attributes), event.dropped)
                    for event, kept in zip(span.events, events, strict=True)
                ]
            ),
            tuple(
                [
                    (
                        (link.trace_id, link.span_id, link.trace_state, link.flags, link.dropped),
                        _each(link.attributes, self._content),
                    )
                    for link in span.links
                ]
            ),
            (span.dropped.attributes, span.dropped.events, span.dropped.links),
        )

    def _log_content(self, log: LogEvent, body: Value, attributes: Mapping[str, Value]) -> Value:
        return (
            log.trace_id,
            log.span_id,
            log.event_name,
            (log.time_ns, log.observed_ns, log.severity, log.severity_text, log.flags, log.dropped),
            self._origin(log.resource, log.scope),
            body if self._alike else self._content(log.body),
            self._kept(log.attributes, attributes),
        )

    def _origin(self, resource: Resource, scope: Scope) -> Value:
        return self._digest_of(resource), self._digest_of(scope)

    def _digest_of(self, source: Resource | Scope) -> Value:
        """Return the hash of a resource or scope: a batch has few, and each of its records names one."""
        if id(source) not in self._shared:
            named = (source.name, source.version) if isinstance(source, Scope) else ()
            content = (source.attributes, source.schema_url, source.dropped, named)
            self._shared[id(source)] = hashlib.sha256(canonical(content)).hexdigest()
        return self._shared[id(source)]

    def _kept(self, attributes: Mapping[str, Value], kept: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return what stands for attributes in a copy hash; `kept` is what a row keeps of them."""
        return kept if self._alike else _each(attributes, self._content)

    def _content(self, value: Value) -> Value:
        """Return what stands for a value in a copy hash: itself, or its address."""
        if not _at_least(value, _COPY_INLINE_BYTES):
            return escape_own(value)
        return payload_marker(self._refs.get(id(value)) or exact_ref(value))


def _at_least(value: Value, size: int) -> bool:
    """Say whether a value's typed text has `size` bytes or more; None, booleans and numbers never count as heavy."""
    if isinstance(value, str):
        if len(value) >= size:
            return True
        if len(value) * _MOST_BYTES + 2 < size or (len(value) + 2 < size and _PLAIN.fullmatch(value)):
            return False
    elif value is None or isinstance(value, (bool, int, float)):
        return False
    return len(dumps(value).encode()) >= size


def _each(attributes: Mapping[str, Value], change: Callable[[Value], Value]) -> dict[str, Value]:
    return {key: change(value) for key, value in attributes.items()}


def _joiner(payload: Callable[[str], str], part: Callable[[str], bytes]) -> Callable[[Value], Value]:
    def join(value: Value) -> Value:
        sha256 = payload_ref(value)
        return unescape_own(value) if sha256 is None else join_payload(sha256, payload(sha256), part)

    return join


def _copy(content: Value) -> str:
    return hashlib.sha256(canonical(content)).hexdigest()[:_COPY_DIGITS]
