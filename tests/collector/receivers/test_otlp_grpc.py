import gzip
import socket
import threading

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

import otlp_build as build
from collector_kit import CONFIG, Store, collector, until
from runreel.collector import telemetry
from runreel.errors import PermanentError, RetryableError, UsageError

PLANTED = "dana.fields@example.com"
BYTES = build.req(build.agent(), build.tool("00000000000000c1", build.ROOT, "ping", {}, PLANTED)).SerializeToString()
SERVICE = "/opentelemetry.proto.collector"
TRACES, LOGS, METRICS = (f"{SERVICE}.{name}/Export" for name in
                         ("trace.v1.TraceService", "logs.v1.LogsService", "metrics.v1.MetricsService"))  # fmt: skip
SMALL = CONFIG.replace('grpc: {endpoint: "127.0.0.1:0"}', 'grpc: {endpoint: "127.0.0.1:0", max_recv_msg_size_mib: 1}')


@pytest.fixture(scope="module")
def channel(shared):
    with grpc.insecure_channel(shared[0].grpc, options=[("grpc.max_send_message_length", -1)]) as opened:
        yield opened


def refused(call, *args, **kwargs):
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, **kwargs)
    return caught.value


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_request_is_stored_and_answered(store, channel, compression):
    answer = channel.unary_unary(TRACES)(BYTES, compression=compression)

    assert answer == b""
    assert [span.name for span in store.spans] == ["invoke_agent demo", "execute_tool ping"]


def test_log_records_are_stored(store, channel):
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.add().body.string_value = "hello"

    assert channel.unary_unary(LOGS)(request.SerializeToString()) == b""

    assert [log.body for log in store.logs] == ["hello"]


@pytest.mark.parametrize("method", [TRACES, LOGS, METRICS])
def test_an_empty_request_is_a_success(store, channel, method):
    assert channel.unary_unary(method)(b"") == b""
    assert store.batches == []


def test_metrics_are_answered_and_dropped(running, channel):
    before = running.service.counts.total(telemetry.METRICS_DROPPED)

    assert channel.unary_unary(METRICS)(b"\x0a\x00") == b""

    assert running.service.counts.total(telemetry.METRICS_DROPPED) == before + 1


def test_one_bad_span_is_rejected_alone(store, channel):
    answer = channel.unary_unary(TRACES)(build.req(build.agent(), build.agent(sid="0" * 16)).SerializeToString())

    partial = ExportTraceServiceResponse.FromString(answer).partial_success
    assert partial.rejected_spans == 1
    assert "invalid_id" in partial.error_message
    assert len(store.spans) == 1


@pytest.mark.parametrize("body", [BYTES[:-20], b"\x0a\xff", PLANTED.encode(), b"\x1f\x8bno gzip"])
def test_what_cannot_be_decoded_is_refused_for_good_without_an_echo(store, channel, body):
    error = refused(channel.unary_unary(TRACES), body)

    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert 0 < len(error.details()) <= 300
    assert PLANTED not in error.details()
    assert error.trailing_metadata() == ()
    assert store.batches == []


@pytest.mark.parametrize(
    ("method", "body", "what"),
    [
        (TRACES, build.logs_req(build.log("gen_ai.choice", body="x")).SerializeToString(), "logs"),
        (LOGS, BYTES, "spans"),
        (METRICS, BYTES, "spans"),
        (METRICS, build.logs_req(build.log("gen_ai.choice", body="x")).SerializeToString(), "logs"),
    ],
)
def test_what_came_to_another_signals_service_is_taken_as_what_it_is_and_marked(store, channel, method, body, what):
    assert channel.unary_unary(method)(body) == b""

    items = getattr(store, what)
    assert items
    assert all("wrong_path" in one.marks for one in items)


def test_a_bad_span_among_metrics_is_said_in_the_answer_of_metrics(store, channel):
    body = build.req(build.agent(), build.agent(sid="0" * 16)).SerializeToString()

    answer = ExportMetricsServiceResponse.FromString(channel.unary_unary(METRICS)(body))

    assert "invalid_id" in answer.partial_success.error_message
    assert len(store.spans) == 1


def test_a_body_of_70_mb_is_refused_with_limit_and_size(running, store, channel):
    body = build.req(build.tool("00000000000000c1", "", "read", {}, "A" * 70_000_000)).SerializeToString()

    error = refused(channel.unary_unary(TRACES), body)

    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert error.details() == f"the request has {len(body)} bytes, the limit is {64 * 2**20}"
    assert error.trailing_metadata() == ()  # no RetryInfo: never again
    assert store.batches == []
    assert running.counts["runreel_refused_requests{reason=too_large,transport=grpc}"] == 1


def test_a_body_far_over_the_limit_is_refused_before_it_is_held(tmp_path):
    with (
        collector(tmp_path, Store(), SMALL) as running,
        grpc.insecure_channel(running.grpc, options=[("grpc.max_send_message_length", -1)]) as channel,
    ):
        error = refused(channel.unary_unary(TRACES), b"\0" * (20 * 2**20))

        # We never see it: that a call came without its message is all there is to count.
        until(lambda: running.counts.get("runreel_refused_requests{reason=too_large,transport=grpc}") == 1)

    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert str(20 * 2**20) in error.details()
    assert error.trailing_metadata() == ()


def test_a_body_above_the_usual_limit_of_grpc_is_kept_whole(store, channel):
    value = "A" * 5_000_000 + " end-of-payload"

    channel.unary_unary(TRACES)(build.req(build.tool("c" * 16, "", "read", {}, value)).SerializeToString())

    assert store.spans[0].attributes["gen_ai.tool.call.result"] == value


def test_the_limit_holds_after_decompression(tmp_path):
    store = Store()
    with collector(tmp_path, store, SMALL) as running, grpc.insecure_channel(running.grpc) as channel:
        error = refused(channel.unary_unary(TRACES), b"\0" * 200_000_000, compression=grpc.Compression.Gzip)
        # Not marked as compressed: gzip data is no OTLP request, so that it is understood all the same.
        also = refused(channel.unary_unary(TRACES), gzip.compress(b"\0" * 2_000_000))

    assert error.code() == also.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert str(2**20) in error.details()
    assert store.batches == []


def test_a_store_that_is_down_makes_the_client_come_back(store, channel):
    def down(_):
        raise RetryableError("the disk is full", 2.5)

    store.hook = down
    error = refused(channel.unary_unary(TRACES), BYTES)
    store.hook = lambda _: None
    channel.unary_unary(TRACES)(BYTES)

    assert (error.code(), error.details()) == (grpc.StatusCode.UNAVAILABLE, "the disk is full")
    trailers = dict(error.trailing_metadata())
    status = Status.FromString(trailers["grpc-status-details-bin"])
    info = RetryInfo()
    assert (status.code, status.message) == (14, "the disk is full")
    assert status.details[0].Unpack(info)
    assert info == RetryInfo.FromString(trailers["google.rpc.retryinfo-bin"])
    assert info.retry_delay.ToMilliseconds() == 2500
    assert len(store.batches) == 1


def test_what_a_store_refuses_for_good_is_not_sent_again(store, channel):
    def never(_):
        raise PermanentError("insert into spans: engine error 53")

    store.hook = never

    error = refused(channel.unary_unary(TRACES), BYTES)

    assert (error.code(), error.details()) == (grpc.StatusCode.INTERNAL, "insert into spans: engine error 53")
    assert error.trailing_metadata() == ()


def test_unknown_methods_and_compressions_are_unimplemented(channel):
    profiles = refused(channel.unary_unary(f"{SERVICE}.profiles.v1development.ProfilesService/Export"), b"")
    deflate = refused(channel.unary_unary(TRACES), BYTES * 10, compression=grpc.Compression.Deflate)

    assert profiles.code() == deflate.code() == grpc.StatusCode.UNIMPLEMENTED


def test_a_client_that_gave_up_and_asks_again_is_stored_once(running, store, channel):
    entered, go_on = threading.Event(), threading.Event()

    def hold(_):
        entered.set()
        assert go_on.wait(30)

    store.hook = hold
    before = running.service.counts.total(telemetry.JOINED)
    gave_up = channel.unary_unary(TRACES).future(BYTES)
    assert entered.wait(30)
    gave_up.cancel()
    again = channel.unary_unary(TRACES).future(BYTES)
    until(lambda: running.service.counts.total(telemetry.JOINED) > before)
    go_on.set()

    assert again.result(30) == b""
    assert len(store.batches) == 1


def test_a_taken_port_is_said_in_our_words(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        endpoint = f"127.0.0.1:{taken.getsockname()[1]}"
        text = CONFIG.replace('grpc: {endpoint: "127.0.0.1:0"}', f"grpc: {{endpoint: '{endpoint}'}}")

        with (
            pytest.raises(UsageError, match=rf"receivers::otlp::protocols::grpc::endpoint: {endpoint} is in use by"),
            collector(tmp_path, Store(), text),
        ):
            pass
