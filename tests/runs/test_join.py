import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from otlp_build import ROOT, TID, agent, llm, msg, span
from runreel.canonical import dumps, exact_ref
from runreel.errors import CorruptError, NotFoundError
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.files import FileBlobs
from runreel.exporters.memory import Memory
from runreel.runs.load import StoreRuns
from runreel.storage import RunQuery
from runreel.values import LogEvent, Part, RawBatch, SplitBatch
from store_kit import HEAVY, LONG, Clock, Watched, a_run, split, stored


def part_of_search(batch: SplitBatch) -> Part:
    return max(batch.parts, key=lambda part: len(part.data))


def damage_in_memory(memory: Memory, part: Part) -> None:
    memory._parts[part.tenant, part.sha256] = replace(part, data=part.data[:-1] + b"?")


def test_a_damaged_part_is_named_with_the_step_that_needs_it(memory: Watched, runs: StoreRuns) -> None:
    batch = a_run()
    memory.export(batch)
    damage_in_memory(memory, part_of_search(batch))

    for call in (runs.run, runs.reel):
        with pytest.raises(CorruptError) as caught:
            call("default", TID)
        assert part_of_search(batch).sha256 in str(caught.value)
        assert "step 2 (tool search)" in str(caught.value)
        assert "heavy document" not in str(caught.value)


def test_a_damaged_run_is_listed_as_one_that_cannot_be_replayed_and_others_are_not_touched(
    memory: Watched, runs: StoreRuns, clock: Clock
) -> None:
    batch = a_run("1" * 32)
    memory.export(batch)
    memory.export(stored(agent(tid="2" * 32, at=1000)))
    whole = part_of_search(batch)
    damage_in_memory(memory, whole)
    clock.pass_s(60)

    fine, damaged = runs.runs(RunQuery())

    assert (fine.run_id[0], damaged.run_id[0]) == ("2", "1")
    assert (damaged.replayable, damaged.tool_calls, damaged.model_calls) == ("none", 1, 1)
    # What is known of it then is not kept: once the part is back, so is the run.
    memory._parts["default", whole.sha256] = whole
    assert runs.runs(RunQuery())[1].replayable != "none"


def test_a_part_that_is_gone_is_corruption_not_a_missing_run(memory: Watched, runs: StoreRuns) -> None:
    batch = a_run()
    memory.export(replace(batch, parts=()))

    with pytest.raises(CorruptError, match=r"part sha256:[0-9a-f]{64} is not in the store"):
        runs.run("default", TID)


def test_a_payload_that_is_gone_is_corruption(memory: Watched, runs: StoreRuns) -> None:
    memory.export(replace(a_run(), payloads=()))

    with pytest.raises(CorruptError, match=r"payload sha256:[0-9a-f]{64} is not in the store"):
        runs.run("default", TID)


def test_a_payload_that_gives_another_value_is_never_handed_out(memory: Watched, runs: StoreRuns) -> None:
    batch = a_run()
    swapped = batch.payloads[0]
    memory.export(replace(batch, payloads=(replace(swapped, skeleton='"other"', parts=()), *batch.payloads[1:])))

    with pytest.raises(CorruptError, match=swapped.ref.sha256):
        runs.run("default", TID)


def test_a_damaged_log_event_is_named_with_its_step(memory: Watched, runs: StoreRuns) -> None:
    event = LogEvent("default", TID, "00000000000000b1", "gen_ai.choice", body={"text": LONG})
    batch = split(RawBatch("default", logs=(event,)))
    memory.export(a_run())
    memory.export(replace(batch, payloads=()))

    with pytest.raises(CorruptError, match=r"step 1 \(llm .*\), log event: payload sha256:"):
        runs.run("default", TID)


def test_damage_outside_every_step_is_named_by_its_span(memory: Watched, runs: StoreRuns) -> None:
    structural = span("GET /x", "00000000000000aa", ROOT, attrs={"http.body": LONG})
    memory.export(stored(agent(), structural))
    memory.export(stored(agent(tid="2" * 32, **{"replay.run.id": "named"}), structural_in("2" * 32)))
    memory._payloads.clear()

    with pytest.raises(CorruptError, match=f"^run {TID}, span 00000000000000aa of trace {TID}: payload"):
        runs.run("default", TID)
    with pytest.raises(CorruptError, match=f"^span 00000000000000aa of trace {'2' * 32}: payload"):
        runs.run("default", "2" * 32)


def structural_in(trace_id: str):
    return span("GET /x", "00000000000000aa", ROOT, tid=trace_id, attrs={"http.body": LONG})


def heavy_file(home: Path, sha256: str) -> Path:
    return home / "blobs" / "default" / "sha256" / sha256[:2] / sha256[2:4] / f"{sha256}.zst"


def test_a_damaged_or_missing_blob_is_named_with_hash_step_and_file(chdb: ClickHouse, home: Path) -> None:
    batch = a_run()
    chdb.export(batch)
    heavy = part_of_search(batch)
    file = heavy_file(home, heavy.sha256)
    runs = StoreRuns(chdb, FileBlobs(home / "blobs"))

    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(CorruptError, match=rf"step 2 \(tool search\): part sha256:{heavy.sha256} is damaged: {file}"):
        runs.run("default", TID)

    file.unlink()
    with pytest.raises(CorruptError, match=rf"step 2 \(tool search\): no part sha256:{heavy.sha256}"):
        runs.run("default", TID)


def test_a_damaged_row_of_a_part_is_found_by_its_hash(chdb: ClickHouse, home: Path) -> None:
    batch = stored(agent(), llm("00000000000000b1", ROOT, [msg("user", "hi")], [msg("assistant", LONG)]))
    chdb.export(batch)
    runs = StoreRuns(chdb, FileBlobs(home / "blobs"))
    chdb._engine.command("ALTER TABLE runreel.parts UPDATE data = 'broken' WHERE 1 SETTINGS mutations_sync = 2")

    with pytest.raises(CorruptError, match=r"step 1 \(llm .*\): part sha256:[0-9a-f]{64} is damaged"):
        runs.run("default", TID)
    assert [summary.replayable for summary in runs.runs(RunQuery())] == ["none"]


def test_a_row_that_cannot_be_read_does_not_hide_the_other_runs(chdb: ClickHouse, home: Path) -> None:
    chdb.export(a_run("1" * 32))
    chdb.export(a_run("2" * 32, at=1000))
    update = f"UPDATE record = '[]' WHERE trace_id = '{'1' * 32}' SETTINGS mutations_sync = 2"
    chdb._engine.command(f"ALTER TABLE runreel.spans {update}")
    runs = StoreRuns(chdb, FileBlobs(home / "blobs"))

    fine, damaged = runs.runs(RunQuery())

    assert (fine.run_id[0], fine.model_calls) == ("2", 1)
    assert (damaged.run_id[0], damaged.replayable, damaged.trace_ids) == ("1", "none", ("1" * 32,))
    with pytest.raises(CorruptError, match=f"of trace {'1' * 32}"):
        runs.run("default", "1" * 32)


# --- parts ---


def test_parts_and_payloads_are_had_by_hash(chdb: ClickHouse, home: Path) -> None:
    batch = a_run()
    chdb.export(batch)
    runs = StoreRuns(chdb, FileBlobs(home / "blobs"))

    for part in batch.parts:
        assert runs.part("default", part.sha256) == part.data
    for payload in batch.payloads:
        assert hashlib.sha256(runs.part("default", payload.ref.sha256)).hexdigest() == payload.ref.sha256
    assert exact_ref(HEAVY).sha256 in {payload.ref.sha256 for payload in batch.payloads}
    assert runs.part("default", exact_ref(HEAVY).sha256) == dumps(HEAVY).encode()


@pytest.mark.parametrize("sha256", ["0" * 64, "", "nonsense", "é", "0" * 65])
def test_a_hash_that_is_not_there_is_not_found(chdb: ClickHouse, home: Path, sha256: str) -> None:
    runs = StoreRuns(chdb, FileBlobs(home / "blobs"))

    with pytest.raises(NotFoundError, match="no part or payload"):
        runs.part("default", sha256)


def test_a_tenant_does_not_get_anothers_part(memory: Watched, runs: StoreRuns) -> None:
    batch = a_run()
    memory.export(batch)

    with pytest.raises(NotFoundError):
        runs.part("other", batch.parts[0].sha256)


def test_a_damaged_part_is_not_handed_out(memory: Watched, runs: StoreRuns) -> None:
    batch = a_run()
    memory.export(batch)
    damage_in_memory(memory, batch.parts[0])

    with pytest.raises(CorruptError, match=batch.parts[0].sha256):
        runs.part("default", batch.parts[0].sha256)
