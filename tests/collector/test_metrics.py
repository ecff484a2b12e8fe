import asyncio
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import otlp_build as build
from collector_kit import CONFIG, SPOOLED, Store, ask, collector, until
from runreel.collector import telemetry
from runreel.collector.metrics import Metrics
from runreel.collector.telemetry import Telemetry
from runreel.errors import RetryableError, UsageError


def scrape(counts, path="/metrics", method="GET", spool=None):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(Metrics(counts, spool)({"path": path, "method": method}, None, send))
    return sent[0]["status"], sent[1]["body"].decode()


def samples(text):
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_counter_is_there_from_the_start_where_its_labels_are_known():
    _, text = scrape(Telemetry())

    families = {family.name for family in text_string_to_metric_families(text)}
    assert families == {name if name.startswith("runreel_") else f"otelcol_{name}" for name in telemetry.NAMES}


def test_counts_have_their_labels_whatever_stands_in_them():
    counts = Telemetry()
    counts.add(telemetry.ACCEPTED_SPANS, 3)
    counts.add(telemetry.UNUSUAL, 2, service='a"b\\c\nd', what="cut")
    counts.add(telemetry.SEND_FAILED, exporter="files", kind="retryable")

    found = samples(scrape(counts)[1])

    assert found["otelcol_receiver_accepted_spans_total", ()] == 3
    assert found["runreel_unusual_items_total", (("service", 'a"b\\c\nd'), ("what", "cut"))] == 2
    failed = ("otelcol_exporter_send_failed_batches_total", (("exporter", "files"), ("kind", "retryable")))
    assert found[failed] == 1


@pytest.mark.parametrize(("path", "method", "status"), [("/", "GET", 404), ("/metrics", "POST", 405)])
def test_other_paths_and_methods_are_refused(path, method, status):
    assert scrape(Telemetry(), path, method)[0] == status


def test_head_has_no_body():
    assert scrape(Telemetry(), method="HEAD") == (200, "")


def with_metrics(text, address="127.0.0.1:0"):
    return text + f"  telemetry: {{metrics: {{address: '{address}'}}}}\n"


def metrics_of(running):
    return samples(ask(f"http://{running.service.metrics_at}/metrics").body.decode())


def test_a_running_collector_tells_what_waits_and_what_became_of_everything(tmp_path: Path):
    away = [True]

    def hook(_):
        if away[0]:
            raise RetryableError("away")

    body = build.req(build.agent()).SerializeToString()
    with collector(tmp_path, Store(hook=hook), with_metrics(SPOOLED)) as running:
        assert ask(f"{running.http}/v1/traces", body).status == 200
        before = metrics_of(running)
        away[0] = False
        until(lambda: metrics_of(running)["runreel_spool_batches", ()] == 0)
        after = metrics_of(running)

    def ledger(found):
        return [
            found["runreel_ledger_spans", (("state", state), ("tenant", "default"))]
            for state in ("spooled", "stored", "quarantined")
        ]

    assert ledger(before) == [1, 0, 0]
    assert before["runreel_spool_bytes", ()] > 0
    assert ledger(after) == [0, 1, 0]
    assert after["otelcol_receiver_accepted_spans_total", ()] == 1


def test_without_an_address_nothing_listens(tmp_path: Path):
    with collector(tmp_path, Store(), CONFIG) as running:
        assert running.service.metrics_at == ""


def test_a_taken_port_is_said_with_its_key(tmp_path: Path):
    with (
        collector(tmp_path / "one", Store(), with_metrics(CONFIG)) as running,
        pytest.raises(UsageError, match="service::telemetry::metrics::address"),
        collector(tmp_path / "two", Store(), with_metrics(CONFIG, running.service.metrics_at)),
    ):
        pass
