"""Puts content that the sender stored elsewhere beside the reference to it, as far as whoever fetches it finds it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from runreel.values import LogEvent, RawBatch, Span, Value

KEYS: Final = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
)
"""Content that OpenTelemetry's upload hook stores; a reference to it is under the same key with `_ref` at its end."""
REQUEST_BYTES: Final = 64 * 1024 * 1024
"""How much may be put into one request: whoever sends a reference has not sent the bytes."""

Item = TypeVar("Item", Span, LogEvent)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a reference led to: its text, or why there is none, in one word."""

    text: str | None
    reason: str = ""


Fetch = Callable[[str, int], Fetched]
"""Returns what a reference leads to, of at most so many bytes. Never raises."""


def fill_in(batch: RawBatch, fetch: Fetch) -> RawBatch:
    """Return the batch with the content of its references beside them.

    The reference stays: what was sent is kept, and a span that comes again once its object is there contains the one
    before. What is not had is marked `external:<key>:<reason>`.
    """
    filler = _Filler(fetch)
    return replace(
        batch,
        spans=tuple(filler.span(span) for span in batch.spans),
        logs=tuple(filler.log(log) for log in batch.logs),
    )


class _Filler:
    """One batch: each object is fetched once, and all of them together stay within the bound."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._known: dict[str, Fetched] = {}
        self._left = REQUEST_BYTES
        self._marks: list[str] = []

    def span(self, span: Span) -> Span:
        """Fill in a span and its events."""
        if not (_has_reference(span.attributes) or any(_has_reference(event.attributes) for event in span.events)):
            return span
        self._marks = []
        events = tuple(replace(event, attributes=self._attributes(event.attributes)) for event in span.events)
        return self._marked(replace(span, attributes=self._attributes(span.attributes), events=events))

    def log(self, log: LogEvent) -> LogEvent:
        """Fill in a log event."""
        if not _has_reference(log.attributes):
            return log
        self._marks = []
        return self._marked(replace(log, attributes=self._attributes(log.attributes)))

    def _marked(self, item: Item) -> Item:
        before: tuple[str, ...] = item.marks
        marks = tuple(dict.fromkeys((*before, *self._marks)))
        return item if marks == before else replace(item, marks=marks)

    def _attributes(self, attributes: Mapping[str, Value]) -> Mapping[str, Value]:
        out = dict(attributes)
        for key in KEYS:
            reference = attributes.get(f"{key}_ref")
            if isinstance(reference, str) and reference and attributes.get(key) is None:
                found = self._get(reference)
                if found.text is None:
                    self._marks.append(f"external:{key}:{found.reason}")
                else:
                    out[key] = found.text
        return out

    def _get(self, reference: str) -> Fetched:
        found = self._known.get(reference)
        if found is None:
            found = self._known[reference] = self._fetch(reference, self._left)
        # Each use counts, not each object: all of it is looked through for what must not be stored.
        size = len(found.text.encode("utf-8", "surrogatepass")) if found.text is not None else 0
        if size > self._left:
            return Fetched(None, "too_large")
        self._left -= size
        return found


def _has_reference(attributes: Mapping[str, Value]) -> bool:
    return any(f"{key}_ref" in attributes for key in KEYS)
