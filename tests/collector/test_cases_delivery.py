"""C04, C07 and C08: a big span beside small ones, answers that are true, and what is sent twice; over gRPC and HTTP."""

import errno
import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest

import otlp_build as build
from collector_kit import CONFIG, SPOOLED, Answer, Running, ask, collector, until
from runreel.collector import forward
from runreel.errors import RetryableError
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.engine import Engine
from runreel.exporters.files import FileBlobs
from runreel.otlp import decode
from runreel.processors.redact.keys import TenantKey
from runreel.processors.redact.redactor import Redactor
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.runs.load import StoreRuns
from runreel.storage import RunQuery
from runreel.values import RawBatch, Run, SplitBatch

CAPTURES = Path(__file__).parents[1] / "data/captures/otel-genai-openai"
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LLM = "00000000000000b2"


class Chain:
    """The whole chain, redactor and all."""

    def __init__(self) -> None:
        self._redactor = Redactor(TenantKey("k1", b"0" * 32))

    def process(self, batch: RawBatch) -> SplitBatch:
        return Split().process(self._redactor.process(Schema().process(batch)))


class Runs(StoreRuns):
    """Runs that stay open when a collector ends."""

    def close(self) -> None:
        pass


@dataclass
class Stores:
    """Rows in tables and heavy parts in a directory, either of which can be away."""

    database: ClickHouse
    runs: StoreRuns
    away: set[str] = field(default_factory=set)

    def start(self) -> None:
        pass

    def check(self) -> None:
        pass

    def shutdown(self) -> None:
        pass

    def export(self, batch: SplitBatch) -> None:
        if "rows" in self.away:
            raise RetryableError("insert into spans: nothing listens there")
        self.database.export(batch)

    def run(self) -> Run:
        (summary,) = self.runs.runs(RunQuery(limit=0))
        return self.runs.run("default", summary.run_id)

    def count(self, table: str = "spans") -> int:
        ((number,),) = self.database._engine.query(f"SELECT count() FROM runreel.{table} FINAL")
        return int(number)


class Blobs(FileBlobs):
    stores: Stores

    def put(self, tenant: str, sha256: str, data: bytes, media_type: str) -> None:
        if "blobs" in self.stores.away:
            raise RetryableError("cannot write a part: it did not answer in time")
        super().put(tenant, sha256, data, media_type)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    blobs = Blobs(tmp_path / "blobs")
    database = ClickHouse(Engine.open(tmp_path / "store", tmp=tmp_path / "tmp"), blobs)
    made = blobs.stores = Stores(database, Runs(database, blobs))
    yield made
    database.shutdown()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(forward, "LONGEST_PAUSE_S", 0.1)
    monkeypatch.setattr(forward, "DRAIN_S", 0.5)


Send = Callable[[Running, bytes], str]


def by_http(running: Running, body: bytes) -> str:
    return {200: "OK", 503: "UNAVAILABLE"}.get((got := http(running, body)).status, str(got.status))


def http(running: Running, body: bytes, kind: str = "application/x-protobuf") -> Answer:
    return ask(f"{running.http}/v1/traces", body, kind)


def by_grpc(running: Running, body: bytes) -> str:
    channel = grpc.insecure_channel(running.grpc, options=[("grpc.max_send_message_length", -1)])
    try:
        channel.unary_unary(EXPORT)(body, timeout=120)
    except grpc.RpcError as error:
        return str(error.code().name)
    finally:
        channel.close()
    return "OK"


BOTH = pytest.mark.parametrize("send", [by_grpc, by_http])


# --- C04 ---


@BOTH
def test_c04_one_large_span_does_not_take_its_neighbours_down(tmp_path: Path, stores: Stores, send: Send) -> None:
    big = "A" * 5_000_000 + " end-of-payload dana.fields@example.com"
    spans = (
        build.agent(),
        build.tool("00000000000000c1", build.ROOT, "read_file", {"path": "/srv/report.txt"}, big),
        build.tool("00000000000000c2", build.ROOT, "ping", {}, "ok", id="call_2"),
    )
    body = build.req(*spans).SerializeToString()
    assert len(body) > 4 * 1024 * 1024
    with collector(tmp_path, stores, SPOOLED, chain=Chain(), runs=stores.runs) as running:  # type: ignore[arg-type]
        assert send(running, body) == "OK"
        until(lambda: stores.count() == 3)

    run = stores.run()
    results = {step.name: run.value(step.output) for step in run.steps if step.kind == "tool"}
    (blob,) = (tmp_path / "blobs").rglob("*.zst")
    ((longest,),) = stores.database._engine.query("SELECT max(length(record)) FROM runreel.spans")
    text = str(results["read_file"])
    assert (text[:5_000_000], results["ping"]) == ("A" * 5_000_000, "ok")
    assert text[5_000_000:].startswith(" end-of-payload <EMAIL_")
    assert "dana" not in text
    assert blob.stem == hashlib.sha256(text.encode()).hexdigest()
    assert longest < 10_000  # the row holds a reference


def test_c04_as_a_real_exporter_sent_it(tmp_path: Path, stores: Stores) -> None:
    bodies = [gzip.decompress(file.read_bytes()) for file in sorted((CAPTURES / "big-5mb").glob("*.bin.gz"))]
    with collector(tmp_path, stores, SPOOLED, chain=Chain(), runs=stores.runs) as running:  # type: ignore[arg-type]
        assert [http(running, body).status for body in bodies] == [200] * len(bodies)
        until(lambda: running.service.spool is not None and running.service.spool.waiting() == (0, 0))

    sizes = [blob.stat().st_size for blob in (tmp_path / "blobs").rglob("*.zst")]
    run = stores.run()
    assert sizes
    assert max(ref.size for step in run.steps for ref in (step.input, step.output)) > 5_000_000


# --- C07 ---


def no_kind() -> dict[str, Any]:
    body = build.otlp_json(build.req(build.agent(), build.tool("00000000000000c1", build.ROOT, "ping", {}, "ok")))
    for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        span.pop("kind", None)
        span.pop("status", None)
        span.pop("flags", None)
    return body


def test_c07_spans_without_a_kind_are_stored(tmp_path: Path, stores: Stores) -> None:
    with collector(tmp_path, stores, SPOOLED, chain=Chain(), runs=stores.runs) as running:  # type: ignore[arg-type]
        answer = http(running, json.dumps(no_kind()).encode(), "application/json")
        until(lambda: stores.count() == 2)

    assert (answer.status, answer.json()) == (200, {})


def test_c07_one_bad_span_is_said_and_nothing_passes_for_kept_that_is_not(tmp_path: Path, stores: Stores) -> None:
    body = no_kind()
    body["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["startTimeUnixNano"] = "yesterday"
    with collector(tmp_path, stores, SPOOLED, chain=Chain(), runs=stores.runs) as running:  # type: ignore[arg-type]
        answer = http(running, json.dumps(body).encode(), "application/json")
        until(lambda: running.service.spool is not None and running.service.spool.waiting() == (0, 0))

    if answer.status == 200:
        assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
        assert answer.json()["partialSuccess"]["errorMessage"]
        assert stores.count() == 1
    else:
        assert (answer.status, stores.count()) == (400, 0)


HEAVY = build.req(
    build.agent(), build.tool("00000000000000c1", build.ROOT, "ping", {}, "pong " * 20_000)
).SerializeToString()


@BOTH
@pytest.mark.parametrize("away", ["rows", "blobs"])
def test_c07_a_store_that_is_away_is_no_ok_without_a_spool_and_the_batch_sent_again_is_there_once(
    tmp_path: Path, stores: Stores, send: Send, away: str
) -> None:
    stores.away.add(away)
    with collector(tmp_path, stores, CONFIG, chain=Chain(), runs=stores.runs) as running:  # type: ignore[arg-type]
        first = send(running, HEAVY)
        retry = http(running, HEAVY).headers.get("retry-after", "")
        stores.away.clear()
        assert send(running, HEAVY) == "OK"

    run = stores.run()
    assert first == "UNAVAILABLE"
    assert int(retry) >= 1
    assert (stores.count(), [run.value(step.output) for step in run.steps if step.kind == "tool"]) == (
        2,
        ["pong " * 20_000],
    )


@BOTH
@pytest.mark.parametrize("away", ["rows", "blobs"])
def test_c07_with_a_spool_ok_means_durable_and_what_is_sent_again_is_there_once(
    tmp_path: Path, stores: Stores, send: Send, away: str
) -> None:
    stores.away.add(away)
    with collector(tmp_path, stores, SPOOLED, chain=Chain(), runs=stores.runs) as running:  # type: ignore[arg-type]
        assert [send(running, HEAVY), send(running, HEAVY)] == ["OK", "OK"]
    assert stores.count() == 0  # the collector has ended, and it is in the spool

    stores.away.clear()
    with collector(tmp_path, stores, SPOOLED, chain=Chain(), runs=stores.runs):  # type: ignore[arg-type]
        until(lambda: stores.count() == 2)

    assert [step.kind for step in stores.run().steps] == ["agent", "tool"]


@BOTH
def test_c07_a_full_disk_or_queue_is_no_ok(
    tmp_path: Path, stores: Stores, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    body = build.req(build.agent()).SerializeToString()
    with collector(tmp_path, stores, SPOOLED, chain=Chain(), runs=stores.runs) as running:  # type: ignore[arg-type]
        with monkeypatch.context() as patched:
            patched.setattr(os, "fdatasync", full)
            refused = send(running, body)
        assert send(running, body) == "OK"
        until(lambda: stores.count() == 1)

    assert refused == "UNAVAILABLE"


# --- C08 ---


def bodies_of(*requests: Any) -> list[bytes]:
    return [request.SerializeToString() for request in requests]


def chat(question: str, answer: str, at: int = 0) -> Any:
    asked, said = [build.msg("user", question)], [build.msg("assistant", answer)]
    return build.req(build.llm(LLM, build.ROOT, asked, said, at=at))


@BOTH
def test_c08_the_same_batch_twice_is_one_at_once_in_every_way_to_read_it(
    tmp_path: Path, stores: Stores, send: Send
) -> None:
    long = "hello " * 20_000
    asked, said = [build.msg("user", "hi")], [build.msg("assistant", long)]
    body = build.req(build.agent(), build.llm(LLM, build.ROOT, asked, said)).SerializeToString()
    stores.database._engine.command("SYSTEM STOP MERGES")
    with collector(tmp_path, stores, CONFIG, chain=Chain(), runs=stores.runs) as running:  # type: ignore[arg-type]
        assert [send(running, body), send(running, body)] == ["OK", "OK"]
        (summary,) = stores.runs.runs(RunQuery())
        run = stores.run()

    view = stores.database._engine.query("SELECT count() FROM runreel.otel_traces")
    assert (stores.count(), [*view[0]]) == (2, [2])
    assert (summary.model_calls, len(run.steps)) == (1, 2)
    assert [usage.calls for usage in summary.usage] == [1]
    assert len(list((tmp_path / "blobs").rglob("*.zst"))) == 1


def test_c08_as_a_real_exporter_sent_it_again(tmp_path: Path, stores: Stores) -> None:
    bodies = [file.read_bytes() for file in sorted((CAPTURES / "retry-duplicate").glob("*.bin"))]
    with collector(tmp_path, stores, CONFIG, chain=Chain(), runs=stores.runs) as running:  # type: ignore[arg-type]
        assert {http(running, body).status for body in bodies} == {200}
        (summary,) = stores.runs.runs(RunQuery())

    once = decode("traces", bodies[0], "protobuf", "default").spans
    calls = [span for span in once if span.attributes.get("gen_ai.operation.name") == "chat"]
    tokens = [span.attributes["gen_ai.usage.input_tokens"] for span in calls]
    assert bodies == bodies[:1] * 2
    assert (stores.count(), summary.model_calls) == (len(once), len(calls))
    assert sum(usage.input_tokens for usage in summary.usage) == sum(tokens)  # type: ignore[arg-type]


@pytest.mark.parametrize("turned", [False, True], ids=["first then later", "later then first"])
def test_c08_a_span_sent_at_its_start_and_again_at_its_end_is_the_complete_one(
    tmp_path: Path, stores: Stores, turned: bool
) -> None:
    first = build.req(build.span("chat", LLM, build.ROOT, ms=0, attrs={"gen_ai.operation.name": "chat"}))
    sent = bodies_of(first, chat("q", "a"))
    with collector(tmp_path, stores, CONFIG, chain=Chain(), runs=stores.runs) as running:  # type: ignore[arg-type]
        assert [by_http(running, body) for body in (reversed(sent) if turned else sent)] == ["OK", "OK"]

    (step,) = stores.run().steps
    assert "a" in str(stores.run().value(step.output))


def test_c08_two_calls_under_one_id_are_both_kept_and_counted_and_the_first_is_read(
    tmp_path: Path, stores: Stores
) -> None:
    sent = bodies_of(chat("q", "a"), chat("other", "other", at=500))
    with collector(tmp_path, stores, CONFIG, chain=Chain(), runs=stores.runs) as running:  # type: ignore[arg-type]
        assert [by_http(running, body) for body in sent] == ["OK", "OK"]

    run = stores.run()
    rows, _ = stores.database.rows("default", [build.TID])
    assert len(rows) == 2
    assert len(run.steps) == 1
    assert "'a'" in str(run.value(run.steps[0].output))
    assert any("clash" in note for note in run.notes)
