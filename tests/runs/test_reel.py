"""A run in one file."""

import contextlib
import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel import otlp
from runreel.errors import CorruptError, NotFoundError, StoreError
from runreel.processors.schema import Schema
from runreel.processors.split import Split, join_row
from runreel.runs import reel
from runreel.values import CleanBatch, LogEvent, SplitBatch

CAPTURES = Path(__file__).resolve().parents[1] / "data" / "captures"


def clean(signal: otlp.Signal, path: str) -> CleanBatch:
    raw = Schema().process(otlp.decode(signal, (CAPTURES / path).read_bytes(), "protobuf", "default"))
    return CleanBatch("default", raw.spans, raw.logs, raw.facts)


@pytest.fixture(scope="module")
def whole() -> CleanBatch:
    traces = clean("traces", "otel-genai-openai/content-both/001-traces.bin")
    logs = clean("logs", "otel-genai-openai/content-both/002-logs.bin")
    return CleanBatch("default", traces.spans, logs.logs, traces.facts)


@pytest.fixture(scope="module")
def batch(whole: CleanBatch) -> SplitBatch:
    return Split().process(whole)


def repacked(data: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def changed_manifest(members: dict[str, bytes], **changes: object) -> None:
    members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | changes).encode()


def test_what_is_written_is_read_back(batch: SplitBatch) -> None:
    run_id, read = reel.read(reel.write("run-1", batch), "a reel")

    assert run_id == "run-1"
    assert {row.span.key: row for row in read.rows} == {row.span.key: row for row in batch.rows}
    assert sorted(read.logs, key=lambda log: log.copy) == sorted(batch.logs, key=lambda log: log.copy)
    assert {payload.ref: payload for payload in read.payloads} == {payload.ref: payload for payload in batch.payloads}
    assert {part.sha256: part for part in read.parts} == {part.sha256: part for part in batch.parts}


def test_the_same_run_gives_the_same_bytes_in_whatever_order_its_rows_came(batch: SplitBatch) -> None:
    turned = SplitBatch(batch.tenant, batch.rows[::-1], batch.logs[::-1], batch.payloads[::-1], batch.parts[::-1])

    assert reel.write("run-1", turned) == reel.write("run-1", batch)


def test_spans_and_log_events_come_out_whole(batch: SplitBatch, whole: CleanBatch) -> None:
    spans, logs = reel.whole(reel.write("run-1", batch), "a reel")

    def content(log: LogEvent) -> tuple[str, int, object]:
        return log.span_id, log.observed_ns, log.attributes

    assert {span.key.span_id: span.attributes for span in spans} == {
        span.key.span_id: span.attributes for span in whole.spans
    }
    assert sorted(map(content, logs), key=str) == sorted(map(content, whole.logs), key=str)


def test_another_tenant_reads_it_as_its_own(batch: SplitBatch) -> None:
    _, read = reel.read(reel.write("run-1", batch), "a reel", "acme")

    owners = {row.span.key.tenant for row in read.rows} | {log.tenant for log in read.logs}
    assert owners | {part.tenant for part in read.parts} | {payload.tenant for payload in read.payloads} == {"acme"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda members: members.update({"spans.jsonl": members["spans.jsonl"] + b" "}), "spans.jsonl: stored under"),
        (lambda members: members.pop("logs.jsonl"), "damaged"),
        (lambda members: changed_manifest(members, format="cassette"), "no reel"),
        (lambda members: members.update({"manifest.json": b"{"}), "manifest.json is not what a reel has"),
        (lambda members: members.update({"manifest.json": b"[]"}), "manifest.json is not what a reel has"),
        (lambda members: members.pop("manifest.json"), "damaged"),
        (lambda members: changed_manifest(members, files=None), "manifest.json is not what a reel has"),
        (lambda members: changed_manifest(members, files=["spans.jsonl"]), "manifest.json is not what a reel has"),
        (lambda members: changed_manifest(members, media_types=None), "manifest.json is not what a reel has"),
    ],
)
def test_a_damaged_reel_is_refused_by_name(
    batch: SplitBatch, change: Callable[[dict[str, bytes]], None], says: str
) -> None:
    with pytest.raises(CorruptError, match=says) as refused:
        reel.read(repacked(reel.write("run-1", batch), change), "bad.reel")

    assert str(refused.value).startswith("bad.reel")


def test_a_part_must_have_the_hash_of_its_name(batch: SplitBatch) -> None:
    def swap(members: dict[str, bytes]) -> None:
        name = next(name for name in members if name.startswith("parts/"))
        members[name] = b"something else"
        files = json.loads(members["manifest.json"])["files"]
        changed_manifest(members, files=files | {name: hashlib.sha256(b"something else").hexdigest()})

    with pytest.raises(CorruptError, match="parts/"):
        reel.read(repacked(reel.write("run-1", batch), swap), "bad.reel")


def test_a_row_of_another_kind_is_refused(batch: SplitBatch) -> None:
    def swap(members: dict[str, bytes]) -> None:
        members["spans.jsonl"] = b'{"key": {"no": 1}, "scope": {}, "resource": {}}\n'
        files = json.loads(members["manifest.json"])["files"]
        changed_manifest(members, files=files | {"spans.jsonl": hashlib.sha256(members["spans.jsonl"]).hexdigest()})

    with pytest.raises(CorruptError, match="a row is not what this version writes"):
        reel.read(repacked(reel.write("run-1", batch), swap), "bad.reel")


def with_row(data: bytes, **changes: object) -> bytes:
    """The reel with fields of its first span replaced, and a manifest that agrees."""

    def swap(members: dict[str, bytes]) -> None:
        first, *others = members["spans.jsonl"].decode().splitlines()
        members["spans.jsonl"] = "\n".join([json.dumps(json.loads(first) | changes), *others]).encode()
        files = json.loads(members["manifest.json"])["files"]
        changed_manifest(members, files=files | {"spans.jsonl": hashlib.sha256(members["spans.jsonl"]).hexdigest()})

    return repacked(data, swap)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": 5},
        {"start_ns": "soon"},
        {"end_ns": -1},
        {"end_ns": True},
        {"parent_id": "the one above"},
        {"attributes": []},
        {"attributes": None},
        {"events": [{"name": 3}]},
        {"links": [{"trace_id": "xyz", "span_id": ""}]},
        {"dropped": {"attributes": "many"}},
        {"marks": [1]},
        {"scope": {"name": 4}},
        {"resource": {"attributes": 4}},
        {"key": {"trace_id": "../..", "span_id": "b", "copy": ""}},
    ],
    ids=str,
)
def test_a_span_with_fields_that_no_span_has_is_refused(batch: SplitBatch, changes: dict[str, object]) -> None:
    with pytest.raises(CorruptError, match="a row is not what this version writes"):
        reel.read(with_row(reel.write("run-1", batch), **changes), "bad.reel")


@pytest.mark.parametrize("nested", [b"[" * 100_000, b'{"a":' * 100_000], ids=["lists", "maps"])
def test_rows_nested_beyond_all_measure_are_refused(batch: SplitBatch, nested: bytes) -> None:
    def swap(members: dict[str, bytes]) -> None:
        members["logs.jsonl"] = nested
        files = json.loads(members["manifest.json"])["files"]
        changed_manifest(members, files=files | {"logs.jsonl": hashlib.sha256(nested).hexdigest()})

    with pytest.raises(CorruptError, match="a row is not"):
        reel.read(repacked(reel.write("run-1", batch), swap), "bad.reel")


@given(data=st.data())
def test_whatever_happens_to_its_bytes_a_reel_is_read_or_refused(batch: SplitBatch, data: st.DataObject) -> None:
    damaged = bytearray(reel.write("run-1", batch))
    start = data.draw(st.integers(0, len(damaged) - 1))
    damaged[start : start + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=8))

    with contextlib.suppress(CorruptError, StoreError):
        reel.read(bytes(damaged), "bad.reel")


def test_a_reel_that_claims_to_unpack_to_more_than_any_run_has_is_refused(
    batch: SplitBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reel, "LIMIT_BYTES", 1000)

    with pytest.raises(StoreError, match="the limit is 1000"):
        reel.read(reel.write("run-1", batch), "big.reel")


def test_a_newer_reel_asks_for_an_update(batch: SplitBatch) -> None:
    newer = repacked(reel.write("run-1", batch), lambda members: changed_manifest(members, format_version=2))

    with pytest.raises(StoreError, match="format 2; this version reads up to 1: update runreel"):
        reel.read(newer, "new.reel")


def test_what_is_no_zip_is_no_reel() -> None:
    with pytest.raises(CorruptError, match="no reel"):
        reel.read(b"PK\x03\x04 and nothing", "x.reel")


def test_a_part_that_is_missing_is_named(batch: SplitBatch) -> None:
    _, part = reel.part_of(SplitBatch(batch.tenant))
    payload, _ = reel.part_of(batch)
    heavy = next(row for row in batch.rows if row.facts.kind == "llm")

    with pytest.raises(NotFoundError, match="no part sha256:"):
        join_row(heavy, payload, part)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no reel .*gone\.reel"):
        reel.open_path(tmp_path / "gone.reel")


def test_a_folder_is_no_reel(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="Is a directory"):
        reel.open_path(tmp_path)
