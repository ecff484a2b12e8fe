"""One capture's bytes give equal records whichever way they come: gRPC, HTTP with protobuf, HTTP with JSON."""

from pathlib import Path

import grpc
import pytest

from collector_kit import Store, ask, collector
from runreel import otlp
from runreel.processors.chain import Chain, default_chain
from runreel.values import SplitBatch

CAPTURES = Path(__file__).parents[2] / "data" / "captures"
NAMES = sorted(
    path.relative_to(CAPTURES).with_suffix("").as_posix()
    for path in [*CAPTURES.rglob("*.bin"), *CAPTURES.rglob("*.body")]
    if path.with_suffix(".json").exists()
)
METHOD = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}


@pytest.fixture(scope="module")
def chain(tmp_path_factory) -> Chain:
    return default_chain(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def running(tmp_path_factory, chain):
    store = Store()
    with (
        collector(tmp_path_factory.mktemp("home"), store, chain=chain) as found,
        grpc.insecure_channel(found.grpc) as channel,
    ):
        yield found, channel, store


def records(batch: SplitBatch):
    """What is stored of a request, in no order."""
    return (
        {row.span.key: row for row in batch.rows},
        {log.copy: log for log in batch.logs},
        {payload.ref.sha256: payload for payload in batch.payloads},
        {part.sha256: part for part in batch.parts},
        batch.rejected,
    )


def test_there_are_captures_of_both_signals():
    assert sum("traces" in name for name in NAMES) > 20
    assert sum("logs" in name for name in NAMES) > 2


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_gives_equal_records_over_every_transport(running, name):
    found, channel, store = running
    (raw,) = (path for path in (CAPTURES / f"{name}.bin", CAPTURES / f"{name}.body") if path.exists())
    signal = "logs" if name.endswith("logs") else "traces"
    text = (CAPTURES / f"{name}.json").read_bytes()
    body = raw.read_bytes()
    if otlp.sniff(body) != (signal, "protobuf"):  # the client spoke JSON: make the protobuf of it
        decoded = otlp.decode(signal, body, "json", "default")
        body = otlp.encode(signal, decoded.logs or decoded.spans, "protobuf")
    store.batches.clear()

    assert channel.unary_unary(METHOD[signal])(body) == b""
    for content, content_type in ((body, "application/x-protobuf"), (text, "application/json")):
        assert ask(f"{found.http}/v1/{signal}", content, content_type).status == 200

    first, *others = (records(batch) for batch in store.batches)
    assert first[0] or first[1]
    assert others == [first, first]
