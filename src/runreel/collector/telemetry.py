"""Counts what the collector takes, refuses and stores. Components never count themselves: it is done around them.

Every name is here and in docs/configuration.md. Names follow the OpenTelemetry Collector's where it has one.
"""

import threading
from collections import Counter
from collections.abc import Mapping

REQUESTS = "runreel_requests"
"""Requests by transport, signal and outcome (`ok`, `refused`, `retry`, `failed`)."""
ACCEPTED_SPANS = "receiver_accepted_spans"
ACCEPTED_LOGS = "receiver_accepted_log_records"
REFUSED = "runreel_refused_requests"
"""Requests not taken, by reason (`malformed`, `too_large`, `unsupported_media_type`, `unsupported_encoding`,
`wrong_path`)."""
REJECTED = "runreel_rejected_items"
"""Single spans and log records not taken, by reason; the rest of their request was."""
UNUSUAL = "runreel_unusual_items"
"""Spans and log records that were taken and are out of the ordinary, by service and by what (collector/unusual.py)."""
JOINED = "runreel_joined_requests"
"""Requests answered together with an equal one that was in flight."""
METRICS_DROPPED = "runreel_metrics_requests_dropped"
COMMITS = "runreel_commits"
"""Writes to the stores; each holds the batches of one or more requests."""
SENT_SPANS = "exporter_sent_spans"
SENT_LOGS = "exporter_sent_log_records"
SEND_FAILED = "exporter_send_failed_batches"
"""Batches that a store did not take, by exporter and class (`retryable`, `permanent`, `bug`)."""
BUGS = "runreel_unexpected_errors"
"""Errors that must not happen, by place. Their requests were answered as retryable."""

NAMES = (
    REQUESTS,
    ACCEPTED_SPANS,
    ACCEPTED_LOGS,
    REFUSED,
    REJECTED,
    UNUSUAL,
    JOINED,
    METRICS_DROPPED,
    COMMITS,
    SENT_SPANS,
    SENT_LOGS,
    SEND_FAILED,
    BUGS,
)


class Telemetry:
    """Counters by name and labels. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, name: str, count: int = 1, **labels: str) -> None:
        """Add to a counter; zero does nothing."""
        if not count:
            return
        key = name
        if labels:
            key += "{" + ",".join(f"{label}={value}" for label, value in sorted(labels.items())) + "}"
        with self._lock:
            self._counts[key] += count

    def snapshot(self) -> Mapping[str, int]:
        """Return every counter, `name{label=value}` to its count, sorted."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def total(self, name: str) -> int:
        """Return the sum of a counter over all labels."""
        with self._lock:
            return sum(count for key, count in self._counts.items() if key.partition("{")[0] == name)
