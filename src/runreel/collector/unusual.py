"""Finds what is out of the ordinary in a batch that was taken, by the service that sent it, so that it can be counted.

Most of it are marks, which the codec and the processors put on spans and log records; nothing here looks at content.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from runreel.canonical import payload_ref
from runreel.semconv.conventions import known_scope
from runreel.semconv.dialects import STANDARD
from runreel.text import one_line
from runreel.values import LogEvent, Resource, Span, SpanKey, SplitBatch

NO_SERVICE = "unknown"
OTHER_SERVICES = "other"
_MOST_SERVICES = 100  # whoever sends says what a service is called: names without end must not fill the memory
_NAME_CHARS = 64
ID_CLASH = "id_clash"
"""Two spans of one request have one id, and are not the same span seen twice."""

_KEY = "key"  # the mark says which key made the tokens: nothing unusual
WRONG_PATH = "wrong_path"
"""It came where another signal goes, and was taken all the same."""
UNKNOWN_SCOPE = "unknown_scope"
"""A step that only the conventions' own keys tell, written by an instrumentation that is not known here."""


class Services:
    """Knows the services that were named so far; those beyond the first hundred are one. Not thread-safe."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def name(self, resource: Resource) -> str:
        """Return a service's name as a label: one short line, without what separates labels."""
        value = resource.attributes.get("service.name")
        if not isinstance(value, str) or not value or payload_ref(value) is not None:
            return NO_SERVICE
        name = "".join("_" if char in "{}=," else char for char in one_line(value, _NAME_CHARS))
        if name in self._known:
            return name
        if len(self._known) >= _MOST_SERVICES:
            return OTHER_SERVICES
        self._known.add(name)
        return name


def unusual(batch: SplitBatch, services: Services) -> Mapping[tuple[str, str], int]:
    """Return how many items have what mark: (service, what) to a count."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in batch.rows:
        # Not a mark: who writes the conventions' keys by hand does nothing wrong, and nothing is lost.
        if row.facts.dialect == STANDARD.name and row.facts.kind != "other" and not known_scope(row.span.scope.name):
            counts[services.name(row.span.resource), UNKNOWN_SCOPE] += 1
    items: list[Span | LogEvent] = [*(row.span for row in batch.rows), *batch.logs]
    for item in items:
        whats = set(_whats(item))
        if whats:
            service = services.name(item.resource)
            counts.update((service, what) for what in whats)
    for span in _clashes(batch):
        counts[services.name(span.resource), ID_CLASH] += 1
    return counts


def _whats(item: Span | LogEvent) -> Iterator[str]:
    for mark in item.marks:
        kind, _, rest = mark.partition(":")
        if kind == _KEY:
            continue
        # `withheld:<path>:<reason>` and its like name a place, of which there is no end.
        yield kind if rest.count(":") else mark
    if isinstance(item, LogEvent) and item.dropped:
        yield "dropped_attributes"


def _clashes(batch: SplitBatch) -> Iterator[Span]:
    """Yield spans whose id another one had before them in this request, and that differ in more than how far they got:
    a span exported at its start and again at its end keeps name and start."""
    first: dict[SpanKey, Span] = {}
    for row in batch.rows:
        span = row.span
        before = first.setdefault(SpanKey(span.key.tenant, span.key.trace_id, span.key.span_id), span)
        if (before.name, before.start_ns) != (span.name, span.start_ns):
            yield span
