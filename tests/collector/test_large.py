"""Results of tools of tens of megabytes: whole, byte for byte, and never at the cost of what stands beside them."""

import gzip
from pathlib import Path

import grpc
import pytest

import otlp_build as build
from collector_kit import SPOOLED, ask
from runreel.runs.remote import RemoteRuns
from serve_kit import Serving, serve

MIB = 1024 * 1024
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
ROOMY = SPOOLED.replace(
    'grpc: {endpoint: "127.0.0.1:0"}', 'grpc: {endpoint: "127.0.0.1:0", max_recv_msg_size_mib: 256}'
).replace(
    'http: {endpoint: "127.0.0.1:0"}',
    f'http: {{endpoint: "127.0.0.1:0", max_request_body_size: {256 * MIB}}}\n'
    "    admission: {request_limit_mib: 1024}",
)


def text_of(size: int) -> str:
    """Prose that says nothing twice in a row, of so many bytes."""
    lines = []
    held = 0
    number = 0
    while held < size:
        number += 1
        word = "".join(chr(ord("a") + int(digit)) for digit in str(number))
        lines.append(f"the line called {word} of a long log says nothing of anybody\n")
        held += len(lines[-1])
    return "".join(lines)[:size]


def body(text: str, trace_id: str) -> bytes:
    """A big result between two small ones."""

    def tool(number: int, name: str, result: str) -> object:
        span_id, call_id = f"00000000000000c{number}", f"call_{number}"
        return build.tool(span_id, build.ROOT, name, {}, result, id=call_id, at=number, tid=trace_id)

    tools = [tool(1, "ping", "pong"), tool(2, "read_file", text), tool(3, "ping", "pong")]
    return build.req(build.agent(tid=trace_id), *tools).SerializeToString()


def by_grpc(serving: Serving, data: bytes) -> str:
    channel = grpc.insecure_channel(
        str(serving.at.otlp_grpc),
        options=[("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)],
    )
    try:
        channel.unary_unary(EXPORT)(data, timeout=300)
    except grpc.RpcError as error:
        return str(error.code().name)
    finally:
        channel.close()
    return "OK"


def read_back(serving: Serving, trace_id: str) -> list[object]:
    run = RemoteRuns(serving.at.api, serving.at.token).run("default", trace_id)
    return [run.value(step.output) for step in run.steps if step.kind == "tool"]


@pytest.mark.slow
def test_sixty_megabytes_come_back_byte_for_byte_with_the_defaults(tmp_path: Path) -> None:
    text = text_of(60 * MIB)
    with serve(tmp_path / "home", SPOOLED) as serving:
        taken = ask(
            f"{serving.at.otlp_http}/v1/traces", gzip.compress(body(text, "1" * 32), 1), content_encoding="gzip"
        )
        back = read_back(serving, "1" * 32)

    assert taken.status == 200
    assert back == ["pong", text, "pong"]


@pytest.mark.slow
def test_a_hundred_megabytes_come_back_byte_for_byte_over_grpc_and_http_with_limits_raised(
    tmp_path: Path,
) -> None:
    text = text_of(100 * MIB)
    with serve(tmp_path / "home", ROOMY) as serving:
        over_http = ask(f"{serving.at.otlp_http}/v1/traces", body(text, "1" * 32)).status
        over_grpc = by_grpc(serving, body(text, "2" * 32))
        first, second = read_back(serving, "1" * 32), read_back(serving, "2" * 32)
        parts = list((tmp_path / "home" / "blobs").rglob("*.zst"))

    assert (over_http, over_grpc) == (200, "OK")
    assert first == second == ["pong", text, "pong"]
    assert len(parts) == 1  # the same bytes are one object


def test_a_request_over_the_limit_is_refused_whole_with_both_numbers_and_stores_nothing(tmp_path: Path) -> None:
    data = body(text_of(66 * MIB), "1" * 32)
    with serve(tmp_path / "home", SPOOLED) as serving:
        over_http = ask(f"{serving.at.otlp_http}/v1/traces", data)
        over_grpc = by_grpc(serving, data)
        listed = ask(f"{serving.at.api}/api/v1/runs", authorization=f"Bearer {serving.at.token}").json()["runs"]

    assert over_http.status == 413
    assert str(64 * MIB).encode() in over_http.body
    assert over_grpc == "RESOURCE_EXHAUSTED"
    assert listed == []
