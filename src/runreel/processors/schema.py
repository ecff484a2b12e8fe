"""Takes the facts out of each span, and refuses spans that no store could find again."""

import re
from dataclasses import replace
from typing import Final

from runreel.semconv.recognise import recognise
from runreel.values import Facts, RawBatch, Rejection, Span

_TRACE_ID: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID: Final = re.compile(r"(?!0{16})[0-9a-f]{16}")
_FAR_NS: Final = 2**63 - 1
"""Stores count nanoseconds in 63 bits; later times are clamped there, and said here."""


class Schema:
    """The first processor. Pure: no I/O, no task, no clock; the same batch twice gives the same result."""

    def process(self, batch: RawBatch) -> RawBatch:
        """Return the batch with one Facts a span; spans with an invalid id become rejections, odd times are marked."""
        spans: list[Span] = []
        facts: list[Facts] = []
        rejected = list(batch.rejected)
        for span in batch.spans:
            if not (_TRACE_ID.fullmatch(span.key.trace_id) and _SPAN_ID.fullmatch(span.key.span_id)):
                rejected.append(Rejection("span", "invalid_id"))
                continue
            marked = _marked(span)
            spans.append(marked)
            facts.append(recognise(marked))
        return replace(batch, spans=tuple(spans), facts=tuple(facts), rejected=tuple(rejected))


def _marked(span: Span) -> Span:
    """Mark times that give no duration, so that no sum ever takes them for one."""
    odd = ""
    if span.end_ns == 0:
        odd = "time:no_end"
    elif span.end_ns < span.start_ns:
        odd = "time:end_before_start"
    elif max(span.start_ns, span.end_ns) > _FAR_NS:
        odd = "time:out_of_range"
    return replace(span, marks=(*span.marks, odd)) if odd and odd not in span.marks else span
