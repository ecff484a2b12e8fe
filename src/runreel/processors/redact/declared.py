"""Applies declared classes to a batch before anything else is looked for in it."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from threading import Lock

from runreel.processors.redact.classes import Class, Pointer, Rule, contract
from runreel.processors.redact.declaring import Means, Work
from runreel.processors.redact.kept import Kept
from runreel.semconv import keys
from runreel.values import CleanBatch, Facts, RawBatch, Span

_MOST_IDS = 20_000
_MOST_TOOLS = 2_000


class Declared:
    """Knows the rules, and learns the contracts that tools declare in `replay.sensitive`. Thread-safe.

    What is learned from a tool's own span holds for the messages that quote its calls, too, from then on.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._tools: dict[str, list[tuple[Class, Pointer]]] = {}
        for rule in rules:
            if rule.tool:
                self._tools.setdefault(rule.tool, []).append((rule.kind, rule.pointer))
        self._attributes = [rule for rule in rules if rule.attribute]
        self._sources = [rule for rule in rules if rule.source]
        self._learned: OrderedDict[str, tuple[tuple[Class, Pointer], ...]] = OrderedDict()
        self._ids: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def applied(self, batch: RawBatch, means: Callable[[str], Means]) -> "Applied":
        """Return the batch with declared values replaced. `means` says what serves a trace id. Never raises for what a
        batch holds."""
        self._learn(batch.spans, batch.facts)
        with self._lock:
            tools = {name: [*found] for name, found in self._tools.items()}
            for name, entries in self._learned.items():
                tools.setdefault(name, []).extend(entries)
            known = dict(self._ids)
        out = Applied(batch)
        if not (tools or self._attributes or self._sources):
            return out
        work = Work(tools, self._attributes, self._sources, known, out.kept, out.counts)
        facts = batch.facts or (Facts(),) * len(batch.spans)
        spans = tuple(
            work.span(span, fact, means(span.key.trace_id)) for span, fact in zip(batch.spans, facts, strict=True)
        )
        logs = tuple(work.log(log, means(log.trace_id)) for log in batch.logs)
        out.batch = replace(batch, spans=spans, logs=logs)
        with self._lock:
            self._ids.update(known)
            while len(self._ids) > _MOST_IDS:
                self._ids.popitem(last=False)
        return out

    def _learn(self, spans: Sequence[Span], facts: Sequence[Facts]) -> None:
        for place, span in enumerate(spans):
            for name, entries in _contracts(span, facts[place] if facts else Facts()):
                with self._lock:
                    self._learned[name] = tuple(dict.fromkeys((*self._learned.pop(name, ()), *entries)))
                    while len(self._learned) > _MOST_TOOLS:
                        self._learned.popitem(last=False)


def _contracts(span: Span, facts: Facts) -> Iterable[tuple[str, tuple[tuple[Class, Pointer], ...]]]:
    """Yield the contracts that a span declares: its own tool's, and those that the recorder puts on every span."""
    own = span.attributes.get(keys.SENSITIVE)
    if isinstance(own, tuple) and facts.kind in ("tool", "retrieval"):
        yield facts.name, contract(own)
    told = span.attributes.get(keys.SENSITIVE_TOOLS)
    for line in told if isinstance(told, tuple) else ():
        if isinstance(line, str):
            name, _, entry = line.partition(" ")
            yield name, contract((entry,))


class Applied:
    """A batch with classes applied, and what is put back into it at the end: the values of class `keep`."""

    def __init__(self, batch: RawBatch) -> None:
        self.batch = batch
        self.kept = Kept()
        self.counts: Counter[str] = Counter()

    def restored(self, clean: CleanBatch) -> CleanBatch:
        """Return the redacted batch with kept values in their places again."""
        if not self.kept.values:
            return clean
        put = self.kept.put_back
        spans = tuple(
            replace(
                span,
                attributes=put(span.attributes),
                events=tuple(replace(event, attributes=put(event.attributes)) for event in span.events),
                resource=replace(span.resource, attributes=put(span.resource.attributes)),
            )
            for span in clean.spans
        )
        logs = tuple(
            replace(
                log,
                body=put(log.body),
                attributes=put(log.attributes),
                resource=replace(log.resource, attributes=put(log.resource.attributes)),
            )
            for log in clean.logs
        )
        return replace(clean, spans=spans, logs=logs)
