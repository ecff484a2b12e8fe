"""What the receivers of one configuration entry share: where requests go, how many bytes they may hold, who counts."""

from dataclasses import dataclass
from typing import Literal

from runreel import otlp
from runreel.collector import telemetry
from runreel.collector.admission import Admission
from runreel.collector.pipeline import Pipeline
from runreel.collector.receivers.refusal import Refusal
from runreel.collector.telemetry import Telemetry

Transport = Literal["grpc", "http"]


@dataclass(frozen=True, slots=True)
class Intake:
    """One receiver's way in. `signals` are those that a pipeline takes from it."""

    pipeline: Pipeline
    admission: Admission
    counts: Telemetry
    signals: frozenset[otlp.Signal]

    def took(self, transport: Transport, signal: str) -> None:
        """Count a request that was answered with success."""
        self.counts.add(telemetry.REQUESTS, transport=transport, signal=signal, outcome="ok")

    def refused(self, transport: Transport, signal: str, refusal: Refusal) -> None:
        """Count a request that was not taken."""
        self.counts.add(telemetry.REQUESTS, transport=transport, signal=signal, outcome=refusal.outcome)
        if refusal.reason:
            self.counts.add(telemetry.REFUSED, transport=transport, reason=refusal.reason)

    def dropped_metrics(self, transport: Transport) -> None:
        """Count a metrics request: answered, not kept."""
        self.counts.add(telemetry.METRICS_DROPPED, transport=transport)
