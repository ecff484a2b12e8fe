"""Walks every text of every field of a batch, and withholds, alone, what cannot be redacted."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from runreel.processors.redact.joins import is_chunk_name, is_stream_name
from runreel.processors.redact.signed import BROKEN, broken
from runreel.processors.redact.values import Values, renamed
from runreel.values import (
    CleanBatch,
    Event,
    Facts,
    Gap,
    Link,
    LogEvent,
    Pointer,
    RawBatch,
    Rejection,
    Resource,
    Scope,
    Span,
    Value,
)

WITHHELD = "<WITHHELD:redaction_failed>"
REASON = "redaction_failed"
FAILURES = "redaction_failures"
_STREAMED = re.compile("chunk|delta|stream|token", re.IGNORECASE)

T = TypeVar("T", Resource, Scope)


class Walk:
    """One batch on its way through the redactor. Used once, by one thread."""

    def __init__(self, values: Values, key_id: str = "") -> None:
        self._values = values
        self._key_id = key_id
        self._counts: Counter[str] = Counter()
        self._counted = self._tokens = 0  # all that was counted, and the tokens in it, when they were last asked for
        # Spans of one request share their resource and scope: each is redacted once, and still shared afterwards.
        self._shared: dict[int, tuple[Resource | Scope, Resource | Scope, tuple[str, ...]]] = {}
        self._marks: list[str] = []

    def batch(self, batch: RawBatch) -> CleanBatch:
        spans = tuple(self._span(span) for span in batch.spans)
        logs = tuple(self._log(event) for event in batch.logs)
        facts = tuple(self._facts(item) for item in batch.facts)
        rejected = tuple(self._rejection(item) for item in batch.rejected)
        return CleanBatch(batch.tenant, spans, logs, facts, rejected, dict(self._counts))

    def text(self, text: str) -> str:
        return self._text(text, "text")

    def _span(self, span: Span) -> Span:
        self._marks = []
        made = self._made()
        return replace(
            span,
            name=self._text(span.name, "name"),
            message=self._text(span.message, "message"),
            trace_state=self._text(span.trace_state, "trace_state"),
            scope=self._common(span.scope, "scope"),
            resource=self._common(span.resource, "resource"),
            attributes=self._attributes(span.attributes, "attributes"),
            events=tuple(
                self._event(event, f"events/{place}") for place, event in enumerate(self._joined(span.events))
            ),
            links=tuple(self._link(link, f"links/{place}") for place, link in enumerate(span.links)),
            marks=self._all_marks(span.marks, made),  # last: what was replaced before is marked
        )

    def _log(self, event: LogEvent) -> LogEvent:
        self._marks = []
        made = self._made()
        return replace(
            event,
            event_name=self._text(event.event_name, "event_name"),
            severity_text=self._text(event.severity_text, "severity_text"),
            body=self._value(event.body, "body", "body"),
            attributes=self._attributes(event.attributes, "attributes"),
            resource=self._common(event.resource, "resource"),
            scope=self._common(event.scope, "scope"),
            marks=self._all_marks(event.marks, made),
        )

    def _made(self) -> int:
        """Return how many tokens were made so far, and those base64 texts that may hold one."""
        total = self._counts.total()
        if total != self._counted:
            self._counted = total
            self._tokens = sum(
                count
                for label, count in self._counts.items()
                if not label.startswith("SECRET:") and label not in (FAILURES, BROKEN)
            )
        return self._tokens

    def _name_key(self, made: int) -> None:
        """Say on a record which key made its tokens: keys are changed, and old tokens must still be proved."""
        if self._key_id and self._made() > made:
            self._marks.append(f"key:{self._key_id}")

    def _joined(self, events: tuple[Event, ...]) -> Sequence[Event]:
        """Redact what reaches from one event of a stream into the next."""
        out = list(events)
        for name in dict.fromkeys(name for event in events for name in event.attributes if is_chunk_name(name)):
            places = [
                place
                for place, event in enumerate(events)
                if isinstance(event.attributes.get(name), str)
                and (is_stream_name(name) or _STREAMED.search(event.name))
            ]
            if len(places) < 2:
                continue
            texts = [str(events[place].attributes[name]) for place in places]
            clean = self._chunks(texts)
            for number, place in enumerate(places):
                left = clean[number]
                if left != texts[number]:
                    out[place] = replace(out[place], attributes={**out[place].attributes, name: left})
        return out

    def _chunks(self, texts: list[str]) -> list[str]:
        try:
            return self._values.chunks(texts, "delta", self._counts)
        except Exception:  # noqa: BLE001
            return [self._withheld("events")] * len(texts)

    def _event(self, event: Event, path: str) -> Event:
        name = self._text(event.name, f"{path}/name")
        return replace(event, name=name, attributes=self._attributes(event.attributes, f"{path}/attributes"))

    def _link(self, link: Link, path: str) -> Link:
        state = self._text(link.trace_state, f"{path}/trace_state")
        return replace(link, trace_state=state, attributes=self._attributes(link.attributes, f"{path}/attributes"))

    def _common(self, item: T, path: str) -> T:
        """Redact a resource or a scope, once for all spans that share it; each of them gets its marks."""
        known = self._shared.get(id(item))
        if known is None:
            outer, self._marks = self._marks, []
            made = self._made()
            clean: Resource | Scope = replace(
                item,
                attributes=self._attributes(item.attributes, f"{path}/attributes"),
                schema_url=self._text(item.schema_url, f"{path}/schema_url"),
            )
            if isinstance(clean, Scope):
                clean = replace(
                    clean,
                    name=self._text(clean.name, f"{path}/name"),
                    version=self._text(clean.version, f"{path}/version"),
                )
            self._name_key(made)
            known = self._shared[id(item)] = (item, clean, tuple(self._marks))
            self._marks = outer
        self._marks += known[2]
        assert isinstance(known[1], type(item))
        return known[1]

    def _facts(self, facts: Facts) -> Facts:
        """Redact facts as the attributes that they were taken from: the same texts give the same tokens."""
        self._marks = []
        text = self._text
        new: dict[str, Any] = {
            "kind_source": text(facts.kind_source, "facts/kind_source", "model"),
            "dialect": text(facts.dialect, "facts/dialect", "model"),
            "name": text(facts.name, "facts/name"),
            "run_hint": text(facts.run_hint, "facts/run_hint", "run_id"),
            "call_id": text(facts.call_id, "facts/call_id", "call_id"),
            "agent_id": text(facts.agent_id, "facts/agent_id", "agent.id"),
            "model": text(facts.model, "facts/model", "model"),
            "provider": text(facts.provider, "facts/provider", "provider"),
            "content": self._content(facts.content),
            "gaps": tuple([self._gap(gap) for gap in facts.gaps]),
        }
        changed = {field: value for field, value in new.items() if value != getattr(facts, field)}
        return replace(facts, **changed) if changed else facts

    def _content(self, content: Mapping[str, Pointer]) -> Mapping[str, Pointer]:
        is_clean = self._values.is_clean_name
        if all(is_clean(field) and all(map(is_clean, pointer.keys)) for field, pointer in content.items()):
            return content
        return {
            self._name(field, "facts/content"): Pointer(
                pointer.source, tuple([self._name(key, "facts/content") for key in pointer.keys])
            )
            for field, pointer in content.items()
        }

    def _gap(self, gap: Gap) -> Gap:
        return replace(
            gap,
            field=self._text(gap.field, "facts/gaps"),
            cause=self._text(gap.cause, "facts/gaps"),
            fix=self._text(gap.fix, "facts/gaps"),
        )

    def _rejection(self, item: Rejection) -> Rejection:
        self._marks = []
        return replace(item, detail=self._text(item.detail, "rejected"))

    def _all_marks(self, sent: tuple[str, ...], made: int) -> tuple[str, ...]:
        self._name_key(made)
        new, self._marks = self._marks, []
        kept = tuple(self._text(mark, "marks") for mark in sent)
        return (*kept, *(mark for mark in dict.fromkeys(new) if mark not in kept))

    def _attributes(self, attributes: Mapping[str, Value], path: str) -> Mapping[str, Value]:
        if all(map(self._values.is_clean_name, attributes)):  # nearly always
            return {name: self._value(value, name, path, name) for name, value in attributes.items()}
        names = {name: self._name(name, path, place) for place, name in enumerate(attributes)}
        return renamed(attributes, names.__getitem__, lambda name, value: self._value(value, name, path, names[name]))

    # Whatever a detector raises, the value is withheld: nothing goes on unredacted. The exception is dropped on
    # purpose: its text and its frames may hold the value.

    def _text(self, text: str, path: str, name: str = "") -> str:
        if not text:
            return text
        try:
            return self._values.text(text, name, self._counts)
        except Exception:  # noqa: BLE001
            return self._withheld(path)

    def _name(self, name: str, path: str, place: int | None = None) -> str:
        if self._values.is_clean_name(name):
            return name
        try:
            return self._values.name(name, self._counts)
        except Exception:  # noqa: BLE001
            return self._withheld(_path(path, place))

    def _value(self, value: Value, name: str, path: str, member: str | None = None) -> Value:
        before = self._counts.get(BROKEN, 0)
        try:
            clean = self._values.value(value, name, self._counts)
        except Exception:  # noqa: BLE001
            clean = self._withheld(_path(path, member))
        if clean is not value and (self._counts.get(BROKEN, 0) > before or broken(value, clean)):
            self._marks.append(f"{BROKEN}:{_path(path, member)}:redacted")
        return clean

    def _withheld(self, path: str) -> str:
        self._counts[FAILURES] += 1
        self._marks.append(f"withheld:{path}:{REASON}")
        return WITHHELD


def _path(path: str, member: str | int | None) -> str:
    return path if member is None else f"{path}/{member}"
