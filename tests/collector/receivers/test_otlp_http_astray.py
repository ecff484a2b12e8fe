"""Requests on another signal's path, and bodies that hold both signals."""

import gzip
import json
import re

import pytest
from google.rpc.status_pb2 import Status

import otlp_build as build
from collector_kit import CONFIG, Store, ask, collector

PROTOBUF, JSON = "application/x-protobuf", "application/json"
PLANTED = "dana.fields@example.com"
REQUEST = build.req(build.agent(), build.tool("00000000000000c1", build.ROOT, "ping", {}, PLANTED))
BYTES = REQUEST.SerializeToString()
TEXT = json.dumps(build.otlp_json(REQUEST)).encode()

LOGS = build.logs_req(build.log("gen_ai.choice", sid=build.ROOT, body=PLANTED))
ASTRAY = {
    "/v1/traces": (LOGS.SerializeToString(), json.dumps(build.otlp_json(LOGS)).encode(), "logs"),
    "/v1/logs": (BYTES, TEXT, "traces"),
    "/v1/metrics": (BYTES, TEXT, "traces"),
}


def strayed(running):
    return sum(count for name, count in running.counts.items() if "unusual_items" in name and "wrong_path" in name)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
@pytest.mark.parametrize("path", ASTRAY)
def test_what_came_on_another_signals_path_is_taken_as_what_it_is_and_said(running, store, path, content_type, zipped):
    protobuf, text, signal = ASTRAY[path]
    body = protobuf if content_type == PROTOBUF else text
    before = strayed(running)

    headers = {"Content_Encoding": "gzip"} if zipped else {}
    answer = ask(running.http + path, gzip.compress(body) if zipped else body, content_type, **headers)

    assert (answer.status, answer.body) == (200, b"" if content_type == PROTOBUF else b"{}")
    items = store.spans if signal == "traces" else store.logs
    assert items
    assert all("wrong_path" in one.marks for one in items)
    assert strayed(running) == before + len(items)


def test_a_body_of_spans_and_log_records_is_taken_whole(running, store):
    both = {**json.loads(TEXT), **build.otlp_json(LOGS)}
    before = strayed(running)

    for path in ("/v1/traces", "/v1/logs", "/v1/metrics"):
        for keys in (sorted(both), sorted(both, reverse=True)):
            body = json.dumps({key: both[key] for key in keys}).encode()
            assert ask(running.http + path, body, JSON).status == 200

    spans, logs = len(store.spans) // 6, len(store.logs) // 6
    assert (len(store.spans), len(store.logs)) == (6 * spans, 6 * logs)
    assert strayed(running) == before + 2 * logs + 2 * spans + 2 * (spans + logs)


def test_what_no_pipeline_takes_is_refused_and_beside_what_one_takes_it_is_rejected(tmp_path):
    only = re.sub(r"    logs: .*\n", "", CONFIG)
    both = json.dumps({**json.loads(TEXT), **build.otlp_json(LOGS)}).encode()
    store = Store()

    with collector(tmp_path, store, only) as running:
        alone = ask(f"{running.http}/v1/traces", LOGS.SerializeToString(), PROTOBUF)
        beside = ask(f"{running.http}/v1/traces", both, JSON)
        counts = running.counts

    assert alone.status == 400
    assert "/v1/logs" in Status.FromString(alone.body).message
    assert counts["runreel_refused_requests{reason=wrong_path,transport=http}"] == 1
    partial = json.loads(beside.body)["partialSuccess"]
    assert partial["rejectedSpans"] == "0"
    assert partial["errorMessage"].startswith("1 log record not taken: wrong_path")
    assert counts["runreel_rejected_items{reason=wrong_path,signal=log}"] == 1
    assert len(store.spans) == 2
