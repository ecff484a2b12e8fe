"""The OTLP/HTTP application without a server: what a network would make hard to time."""

import asyncio

from collector_kit import Plain, Store
from runreel.collector.admission import Admission
from runreel.collector.pipeline import Pipeline, Route
from runreel.collector.receivers.intake import Intake
from runreel.collector.receivers.otlp_http import OtlpHttp
from runreel.collector.telemetry import Telemetry

PROTOBUF = "application/x-protobuf"


def application(capacity_bytes=1000, limit_bytes=4096):
    counts, admission = Telemetry(), Admission(capacity_bytes)
    pipeline = Pipeline({"traces": Route(Plain(), {"store": Store()})}, counts)
    return OtlpHttp(Intake(pipeline, admission, counts, frozenset({"traces"})), limit_bytes), admission


def call(app, messages, headers=()):
    sent, left = [], list(messages)

    async def receive():
        return left.pop(0)

    async def send(message):
        sent.append(message)

    scope = {"path": "/v1/traces", "method": "POST", "headers": [(b"content-type", PROTOBUF.encode()), *headers]}
    asyncio.run(app(scope, receive, send))
    return sent, left


def test_a_client_that_hangs_up_in_its_body_leaves_nothing_behind():
    app, admission = application()

    sent, _ = call(app, [{"type": "http.request", "body": b"x" * 500, "more_body": True}, {"type": "http.disconnect"}])

    assert sent == []
    assert admission.used_bytes == 0


def test_more_than_the_collector_can_hold_is_told_to_come_back_once_it_was_read():
    app, admission = application()
    other = admission.lease()
    other.grow(900)

    sent, left = call(app, [{"type": "http.request", "body": b"x" * 60, "more_body": n < 3} for n in range(4)])

    assert sent[0]["status"] == 503
    assert dict(sent[0]["headers"])[b"retry-after"] == b"1"
    assert left == []
    assert admission.used_bytes == 900


def test_a_signal_without_a_pipeline_has_no_path():
    app, _ = application()

    async def ask_logs():
        sent = []

        async def receive():
            return {"type": "http.request", "body": b""}

        async def send(message):
            sent.append(message)

        await app({"path": "/v1/logs", "method": "POST", "headers": []}, receive, send)
        return sent

    assert asyncio.run(ask_logs())[0]["status"] == 404
