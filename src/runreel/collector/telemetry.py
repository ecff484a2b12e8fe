"""Counts what the collector takes, refuses and stores. Components never count themselves: it is done around them.

Every name is here and in docs/configuration.md. Names follow the OpenTelemetry Collector's where it has one.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping

from runreel.values import Quarantined

REQUESTS = "runreel_requests"
ACCEPTED_SPANS = "receiver_accepted_spans"
ACCEPTED_LOGS = "receiver_accepted_log_records"
REFUSED = "runreel_refused_requests"
REJECTED = "runreel_rejected_items"
QUARANTINED = "runreel_quarantined_items"
UNQUARANTINED = "runreel_quarantine_removed_items"
UNUSUAL = "runreel_unusual_items"
JOINED = "runreel_joined_requests"
METRICS_DROPPED = "runreel_metrics_requests_dropped"
COMMITS = "runreel_commits"
SENT_SPANS = "exporter_sent_spans"
SENT_LOGS = "exporter_sent_log_records"
SEND_FAILED = "exporter_send_failed_batches"
SET_ASIDE = "runreel_spool_refused_batches"
RENEWALS = "runreel_certificate_renewals"
BUGS = "runreel_unexpected_errors"

MEANINGS: Mapping[str, str] = {
    REQUESTS: "Requests by transport, signal and outcome (ok, refused, retry, failed)",
    ACCEPTED_SPANS: "Spans taken",
    ACCEPTED_LOGS: "Log records taken",
    REFUSED: "Requests not taken, by reason",
    REJECTED: "Single spans and log records not taken, by reason; the rest of their request was",
    QUARANTINED: "Spans and log records that were taken and are kept aside instead of stored, by reason",
    UNQUARANTINED: "Spans and log records taken out of the quarantine, by what became of them",
    UNUSUAL: "Spans and log records that were taken and are out of the ordinary, by service and by what",
    JOINED: "Requests answered together with an equal one that was in flight",
    METRICS_DROPPED: "Requests with metrics, which are answered and dropped",
    COMMITS: "Writes to the stores; each holds the batches of one or more requests",
    SENT_SPANS: "Spans that a store took",
    SENT_LOGS: "Log records that a store took",
    SEND_FAILED: "Batches that a store did not take, by exporter and kind (retryable, permanent, bug)",
    SET_ASIDE: "Batches that no store takes, nor the quarantine; they are kept in the spool's folder refused",
    RENEWALS: "Certificates read again after a change, by place and outcome (ok; failed: the one before stays)",
    BUGS: "Errors that must not happen, by place; their requests were answered as retryable",
}
"""What each counter counts, as docs/configuration.md and /metrics say it."""
NAMES = tuple(MEANINGS)

Labels = tuple[tuple[str, str], ...]


class Telemetry:
    """Counters by name and labels. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, Labels]] = Counter()

    def add(self, name: str, count: int = 1, **labels: str) -> None:
        """Add to a counter; zero does nothing."""
        if not count:
            return
        key = name, tuple(sorted(labels.items()))
        with self._lock:
            self._counts[key] += count

    def quarantined(self, items: Iterable[Quarantined]) -> None:
        """Count records that are kept aside."""
        for one in items:
            self.add(QUARANTINED, signal=one.kind, reason=reason(one.reason))

    def counts(self) -> Mapping[tuple[str, Labels], int]:
        """Return every counter by its name and sorted labels, sorted."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def snapshot(self) -> Mapping[str, int]:
        """Return every counter, `name{label=value}` to its count, sorted."""
        return {
            name + ("{" + ",".join(f"{label}={value}" for label, value in labels) + "}" if labels else ""): count
            for (name, labels), count in self.counts().items()
        }

    def total(self, name: str) -> int:
        """Return the sum of a counter over all labels."""
        with self._lock:
            return sum(count for (counted, _), count in self._counts.items() if counted == name)


def reason(text: str) -> str:
    """Return why a record is in quarantine, as a label: what a store said may name an object, and is left out."""
    kind, _, _ = text.partition(":")
    return kind if kind == "refused" else text
