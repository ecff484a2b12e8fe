import concurrent.futures
import gzip
import http.client
import json
import socket
import threading

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

import otlp_build as build
from collector_kit import CONFIG, Plain, Store, ask, collector, until
from runreel.collector import telemetry
from runreel.errors import PermanentError, RetryableError

PROTOBUF, JSON = "application/x-protobuf", "application/json"
PLANTED = "dana.fields@example.com"
REQUEST = build.req(build.agent(), build.tool("00000000000000c1", build.ROOT, "ping", {}, PLANTED))
BYTES = REQUEST.SerializeToString()
TEXT = json.dumps(build.otlp_json(REQUEST)).encode()
SMALL = CONFIG.replace(
    'http: {endpoint: "127.0.0.1:0"}', 'http: {endpoint: "127.0.0.1:0", max_request_body_size: 4096}'
)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A collector that takes 4 KiB a request."""
    store = Store()
    with collector(tmp_path_factory.mktemp("small"), store, SMALL) as running:
        yield running, store


def status_of(answer):
    """The google.rpc.Status in an error answer, as (code, message)."""
    if answer.content_type == JSON:
        document = json.loads(answer.body)
        return document["code"], document["message"]
    status = Status.FromString(answer.body)
    return status.code, status.message


@pytest.mark.parametrize(
    ("body", "content_type", "headers"),
    [
        (BYTES, PROTOBUF, {}),
        (gzip.compress(BYTES), PROTOBUF, {"Content_Encoding": "gzip"}),
        (TEXT, JSON, {}),
        (TEXT, "Application/JSON; charset=utf-8", {"Content_Encoding": "identity"}),
        (gzip.compress(TEXT), JSON, {"Content_Encoding": "GZIP"}),
    ],
)
def test_a_request_is_stored_and_answered_in_its_own_encoding(running, store, body, content_type, headers):
    answer = ask(f"{running.http}/v1/traces", body, content_type, **headers)

    assert answer.status == 200
    assert (answer.content_type, answer.body) == ((JSON, b"{}") if "json" in content_type.lower() else (PROTOBUF, b""))
    assert [span.name for span in store.spans] == ["invoke_agent demo", "execute_tool ping"]
    assert {span.key.trace_id for span in store.spans} == {build.TID}


def test_json_and_protobuf_give_equal_records(running, store):
    document = build.otlp_json(REQUEST)
    for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        span["traceId"] = span["traceId"].upper()
        span["futureField"] = {"x": 1}

    assert ask(f"{running.http}/v1/traces", BYTES).status == 200
    assert ask(f"{running.http}/v1/traces", json.dumps(document).encode(), JSON).status == 200

    assert store.batches[0].rows == store.batches[1].rows


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
def test_log_records_are_stored(running, store, content_type):
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.event_name, record.body.string_value = "gen_ai.choice", "hello"
    body = request.SerializeToString() if content_type == PROTOBUF else json.dumps(build.otlp_json(request)).encode()

    answer = ask(f"{running.http}/v1/logs", body, content_type)

    assert answer.status == 200
    assert [log.body for log in store.logs] == ["hello"]


@pytest.mark.parametrize(("content_type", "body"), [(PROTOBUF, b""), (JSON, b"{}")])
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs", "/v1/metrics"])
def test_an_empty_request_is_a_success(running, store, path, content_type, body):
    answer = ask(running.http + path, body, content_type)

    assert (answer.status, answer.content_type, answer.body) == (200, content_type, body)
    assert store.batches == []


def test_metrics_are_answered_and_dropped(running):
    answer = ask(f"{running.http}/v1/metrics", b"\x0a\x00")

    assert (answer.status, answer.content_type, answer.body) == (200, PROTOBUF, b"")
    assert running.service.counts.total(telemetry.METRICS_DROPPED) > 0


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
def test_one_bad_span_is_rejected_alone(running, store, content_type):
    request = build.req(build.agent(), build.agent(sid="0" * 16))
    body = request.SerializeToString() if content_type == PROTOBUF else json.dumps(build.otlp_json(request)).encode()

    answer = ask(f"{running.http}/v1/traces", body, content_type)

    assert answer.status == 200
    if content_type == JSON:
        said = json.loads(answer.body)["partialSuccess"]
        rejected, message = said["rejectedSpans"], said["errorMessage"]
    else:
        partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
        rejected, message = str(partial.rejected_spans), partial.error_message
    assert rejected == "1"
    assert "invalid_id" in message
    assert len(store.spans) == 1


def test_a_rejected_log_record_is_said_too(running, store):
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.add().trace_id = b"\1" * 3

    answer = ask(f"{running.http}/v1/logs", request.SerializeToString())

    assert answer.status == 200
    assert ExportLogsServiceResponse.FromString(answer.body).partial_success.rejected_log_records == 1
    assert store.batches == []


@pytest.mark.parametrize(
    ("body", "content_type", "headers"),
    [
        (BYTES[:-20], PROTOBUF, {}),
        (b"\x0a\xff", PROTOBUF, {}),
        (TEXT[:-20], JSON, {}),
        (b"{" + PLANTED.encode(), JSON, {}),
        (b"[]", JSON, {}),
        (b"\xff\xfe", JSON, {}),
        (BYTES, PROTOBUF, {"Content_Encoding": "gzip"}),
        (gzip.compress(BYTES)[:-9], PROTOBUF, {"Content_Encoding": "gzip"}),
    ],
)
def test_what_cannot_be_decoded_is_refused_for_good_without_an_echo(running, store, body, content_type, headers):
    answer = ask(f"{running.http}/v1/traces", body, content_type, **headers)

    assert answer.status == 400
    assert answer.content_type == content_type
    code, message = status_of(answer)
    assert code == 3
    assert 0 < len(message) <= 300
    assert PLANTED not in message
    assert "retry-after" not in answer.headers
    assert store.batches == []


def test_spans_whose_content_quotes_a_logs_request_are_spans(running, store):
    quoting = build.req(build.tool("00000000000000c1", build.ROOT, "read", {}, '{"resourceLogs": []}'))

    assert ask(f"{running.http}/v1/traces", json.dumps(build.otlp_json(quoting)).encode(), JSON).status == 200
    assert len(store.spans) == 1


@pytest.mark.parametrize(
    ("body", "content_type", "headers", "said"),
    [
        (BYTES, "text/plain", {}, "application/x-protobuf, application/json"),
        (BYTES, "application/x-protobuffer", {}, "content type"),
        (BYTES, "", {}, "content type"),
        (BYTES, PROTOBUF, {"Content_Encoding": "br"}, "content encoding"),
        (BYTES, PROTOBUF, {"Content_Encoding": "gzip, gzip"}, "content encoding"),
    ],
)
def test_an_unknown_type_or_compression_is_refused(running, body, content_type, headers, said):
    connection = http.client.HTTPConnection(running.http.removeprefix("http://"))
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST", "/v1/traces", body, given | ({"Content-Type": content_type} if content_type else {}))
    answer = connection.getresponse()

    assert answer.status == 415
    assert said in answer.read().decode()
    connection.close()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [("/", None, 404), ("/v1/profiles", b"", 404), ("/v1/traces/", b"", 404), ("/v1/traces", None, 405)],
)
def test_other_paths_and_methods_are_said(running, path, body, status):
    answer = ask(running.http + path, body)

    assert answer.status == status
    assert (answer.headers.get("allow") == "POST") == (status == 405)
    assert json.loads(answer.body)["message"]


def test_a_body_of_70_mb_is_refused_with_limit_and_size(running, store):
    body = build.req(build.tool("00000000000000c1", "", "read", {}, "A" * 70_000_000)).SerializeToString()

    answer = ask(f"{running.http}/v1/traces", body)

    assert answer.status == 413
    assert status_of(answer) == (8, f"the request has {len(body)} bytes, the limit is {64 * 2**20}")
    assert "retry-after" not in answer.headers
    assert store.batches == []


def test_a_body_below_the_limit_is_kept_whole(running, store):
    value = "A" * 5_000_000 + " end-of-payload"

    answer = ask(
        f"{running.http}/v1/traces", build.req(build.tool("c" * 16, "", "read", {}, value)).SerializeToString()
    )

    assert answer.status == 200
    assert store.spans[0].attributes["gen_ai.tool.call.result"] == value


def test_a_body_without_a_length_is_measured_while_it_comes(small):
    running, store = small

    answer = ask(f"{running.http}/v1/traces", iter([b"\x0a" * 1024] * 5), PROTOBUF, Transfer_Encoding="chunked")

    assert answer.status == 413
    assert "the limit of 4096" in status_of(answer)[1]
    assert store.batches == []


def test_the_limit_holds_after_decompression(small):
    running, store = small
    bomb = gzip.compress(b"\0" * 50_000_000)[:3000]

    for body in (gzip.compress(b"\0" * 1_000_000), bomb, gzip.compress(b"\0" * 3000) * 2):
        answer = ask(f"{running.http}/v1/traces", body, PROTOBUF, Content_Encoding="gzip")
        assert (answer.status, status_of(answer)[0]) == (413, 8)
        assert "4096" in status_of(answer)[1]

    assert store.batches == []


def test_who_asks_before_sending_gets_the_answer_first(small):
    host, port = small[0].http.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        raw.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n")
        raw.sendall(b"Content-Length: 99999\r\nExpect: 100-continue\r\n\r\n")

        assert raw.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
def test_a_store_that_is_down_makes_the_client_come_back(running, store, content_type):
    def down(_):
        raise RetryableError("the disk is full", 2.5)

    body = BYTES if content_type == PROTOBUF else TEXT
    store.hook = down
    refused = ask(f"{running.http}/v1/traces", body, content_type)
    store.hook = lambda _: None
    taken = ask(f"{running.http}/v1/traces", body, content_type)

    assert (refused.status, refused.headers["retry-after"], refused.content_type) == (503, "3", content_type)
    assert status_of(refused) == (14, "the disk is full")
    assert taken.status == 200
    assert len(store.batches) == 1


def test_what_a_store_refuses_for_good_is_not_sent_again(running, store):
    def never(_):
        raise PermanentError("insert into spans: engine error 53")

    store.hook = never

    answer = ask(f"{running.http}/v1/traces", BYTES)

    assert (answer.status, status_of(answer)) == (500, (13, "insert into spans: engine error 53"))
    assert "retry-after" not in answer.headers


def test_a_bug_keeps_the_data_at_the_client_and_its_text_out_of_answer_and_log(tmp_path, caplog):
    class Broken:
        def process(self, batch):
            raise ValueError(f"cannot handle {PLANTED}")

    with collector(tmp_path, Store(), chain=Broken()) as running:
        answer = ask(f"{running.http}/v1/traces", BYTES)

    assert answer.status == 503
    assert PLANTED not in status_of(answer)[1]
    assert "a batch could not be processed" in caplog.text
    assert PLANTED not in caplog.text
    assert running.counts["runreel_unexpected_errors{where=processing}"] == 1


def test_others_are_answered_while_a_batch_is_worked_on(tmp_path):
    entered, go_on = threading.Event(), threading.Event()

    class Slow(Plain):
        def process(self, batch):
            entered.set()
            assert go_on.wait(30)
            return super().process(batch)

    with collector(tmp_path, Store(), chain=Slow()) as running, concurrent.futures.ThreadPoolExecutor() as pool:
        slow = pool.submit(ask, f"{running.http}/v1/traces", BYTES)
        assert entered.wait(30)

        assert ask(f"{running.http}/v1/metrics", b"").status == 200

        go_on.set()
        assert slow.result(30).status == 200


def test_a_request_equal_to_one_in_flight_shares_its_answer(running, store):
    entered, go_on = threading.Event(), threading.Event()

    def hold(_):
        entered.set()
        assert go_on.wait(30)

    store.hook = hold
    before = running.service.counts.total(telemetry.JOINED)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(ask, f"{running.http}/v1/traces", BYTES)
        assert entered.wait(30)
        second = pool.submit(ask, f"{running.http}/v1/traces", BYTES)
        until(lambda: running.service.counts.total(telemetry.JOINED) > before)
        go_on.set()

        assert first.result(30).status == second.result(30).status == 200
    assert len(store.batches) == 1


def test_what_a_client_sent_before_it_hung_up_is_stored_once(running, store):
    entered, go_on = threading.Event(), threading.Event()

    def hold(_):
        entered.set()
        assert go_on.wait(30)

    store.hook = hold
    host, port = running.http.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        head = (
            f"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: {PROTOBUF}\r\nContent-Length: {len(BYTES)}\r\n\r\n"
        )
        raw.sendall(head.encode() + BYTES)
        assert entered.wait(30)
    go_on.set()

    until(lambda: store.spans)
    assert len(store.batches) == 1
