"""Takes the facts out of each span, and refuses spans that no store could find again."""

import re
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from runreel.processors.external import Fetch, fill_in
from runreel.processors.required import QUARANTINE, Policies, missing, policy_of
from runreel.semconv.recognise import recognise
from runreel.semconv.unusual import Read, log_marks, marks
from runreel.values import Facts, LogEvent, RawBatch, Rejection, Span

_TRACE_ID: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID: Final = re.compile(r"(?!0{16})[0-9a-f]{16}")
_FAR_NS: Final = 2**63 - 1
"""Stores count nanoseconds in 63 bits; later times are clamped there, and said here."""


class Schema:
    """The first processor. Pure: no I/O, no task, no clock; the same batch twice gives the same result.

    What the sender stored elsewhere is had from `fetch`, where one is given: that is as pure as it is. `required` says
    which identity fields a tenant's spans must have.
    """

    def __init__(self, fetch: Fetch | None = None, required: Policies = MappingProxyType({})) -> None:
        self._fetch = fetch
        self._required = required

    def process(self, batch: RawBatch) -> RawBatch:
        """Return the batch with one Facts a span. Spans with an invalid id, or without a field that they must have,
        become rejections; what is unusual about the others is marked, and which are to be kept aside."""
        if self._fetch is not None:
            batch = fill_in(batch, self._fetch)
        policy = policy_of(self._required, batch.tenant)
        spans: list[Span] = []
        facts: list[Facts] = []
        read: Read = {}  # of this batch alone: nothing of it is redacted yet
        rejected = list(batch.rejected)
        for span in batch.spans:
            if not (_TRACE_ID.fullmatch(span.key.trace_id) and _SPAN_ID.fullmatch(span.key.span_id)):
                rejected.append(Rejection("span", "invalid_id"))
                continue
            known = recognise(span)
            lacking = dict(missing(policy, span, known)) if policy else {}
            refused = next((field for field, action in lacking.items() if action == "reject"), None)
            if refused is not None:
                rejected.append(Rejection("span", f"missing_field:{refused}", "required by the collector's settings"))
                continue
            apart = next((field for field, action in lacking.items() if action == "quarantine"), None)
            more = [f"missing_field:{field}" for field in lacking if field != apart]
            # The one that it is kept aside for says so: after redaction it leaves the batch (spool/quarantine.py).
            more += [] if apart is None else [f"{QUARANTINE}missing_field:{apart}"]
            spans.append(_marked(span, known, more, read))
            facts.append(known)
        logs = tuple(map(_marked_log, batch.logs))
        return replace(batch, spans=tuple(spans), logs=logs, facts=tuple(facts), rejected=tuple(rejected))


def _marked(span: Span, facts: Facts, more: Sequence[str], read: Read) -> Span:
    """Mark what is out of the ordinary, so that it is counted and can be looked for."""
    new = [mark for mark in (*_odd_time(span), *marks(span, facts, read), *more) if mark not in span.marks]
    return replace(span, marks=(*span.marks, *new)) if new else span


def _marked_log(log: LogEvent) -> LogEvent:
    new = [mark for mark in log_marks(log) if mark not in log.marks]
    return replace(log, marks=(*log.marks, *new)) if new else log


def _odd_time(span: Span) -> tuple[str, ...]:
    """Name a time that gives no duration, so that no sum ever takes it for one."""
    if span.end_ns == 0:
        return ("time:no_end",)
    if span.end_ns < span.start_ns:
        return ("time:end_before_start",)
    return ("time:out_of_range",) if max(span.start_ns, span.end_ns) > _FAR_NS else ()
