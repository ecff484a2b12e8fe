"""`/metrics` for Prometheus: what the collector counted, what waits in the spool, and the ledger of each tenant.

Names are the OpenTelemetry Collector's where it has one (`otelcol_receiver_accepted_spans_total`), else `runreel_*`.
No label holds text of a span.
"""

from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from runreel.collector import telemetry
from runreel.collector.http import answer
from runreel.collector.quarantine import Keeper
from runreel.collector.telemetry import Telemetry
from runreel.spool import Spool
from runreel.spool.ledger import STATES

PATH = "/metrics"


class Metrics(Collector):
    """An ASGI application over the counters. Any address may read it: it holds counts and names of services only."""

    def __init__(self, counts: Telemetry, spool: Spool | None = None, keeper: Keeper | None = None) -> None:
        self._counts = counts
        self._keeper = keeper
        self._spool = spool
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Yield every metric as it is now."""
        found: dict[str, list[tuple[telemetry.Labels, int]]] = {}
        for (name, labels), count in self._counts.counts().items():
            found.setdefault(name, []).append((labels, count))
        for name in telemetry.NAMES:
            told = name if name.startswith("runreel_") else f"otelcol_{name}"
            names = sorted({label for labels, _ in found.get(name, ()) for label, _ in labels})
            family = CounterMetricFamily(told, telemetry.MEANINGS[name], labels=names)
            for labels, count in found.get(name, [] if names else [((), 0)]):
                given = dict(labels)
                family.add_metric([given.get(label, "") for label in names], count)
            yield family
        if self._spool is not None:
            yield from _of_spool(self._spool)
        if self._keeper is not None:
            yield from _of_quarantine(self._keeper)

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        _: Any,
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        """Answer GET and HEAD on /metrics."""
        status, kind, body = 200, CONTENT_TYPE_LATEST, b""
        if scope["path"] != PATH:
            status, kind, body = 404, "text/plain", b"no such path: metrics are at /metrics\n"
        elif scope["method"] not in {"GET", "HEAD"}:
            status, kind, body = 405, "text/plain", b"only GET\n"
        else:
            body = generate_latest(self._registry)
        await answer(scope, send, status, kind, body)


def _of_quarantine(keeper: Keeper) -> Iterator[Metric]:
    kept: dict[tuple[str, str], list[int]] = {}
    for (tenant, reason), one in keeper.kept.items():
        sums = kept.setdefault((tenant, telemetry.reason(reason)), [0, 0])
        sums[0] += one.items
        sums[1] += one.bytes
    meanings = ("Spans and log records in quarantine", "Bytes of the records in quarantine")
    for place, (name, meaning) in enumerate(zip(("records", "bytes"), meanings, strict=True)):
        family = GaugeMetricFamily(f"runreel_quarantine_{name}", meaning, labels=["tenant", "reason"])
        for labels, sums in kept.items():
            family.add_metric(labels, sums[place])
        yield family


def _of_spool(spool: Spool) -> Iterator[Metric]:
    batches, size = spool.waiting()
    yield GaugeMetricFamily("runreel_spool_batches", "Acknowledged batches that wait to be stored", value=batches)
    yield GaugeMetricFamily("runreel_spool_bytes", "Bytes of acknowledged batches that wait to be stored", value=size)
    ledger = spool.counted()
    damaged = ledger.get("", {}).get("damaged_records", 0)
    yield GaugeMetricFamily("runreel_spool_damaged_records", "Records set aside since they are damaged", value=damaged)
    for kind in ("spans", "logs"):
        family = GaugeMetricFamily(
            f"runreel_ledger_{kind}",
            f"What became of acknowledged {kind}, since the data folder was made",
            labels=["tenant", "state"],
        )
        for tenant, counts in ledger.items():
            for state in STATES if tenant else ():
                family.add_metric([tenant, state], counts.get(f"{state}_{kind}", 0))
        yield family
