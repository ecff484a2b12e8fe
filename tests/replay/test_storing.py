"""Where a replay is stored, and what is said where it cannot be."""

from dataclasses import replace
from pathlib import Path

import pytest

from collector_kit import CONFIG, Plain, Store, collector
from otlp_build import ROOT, req, tool
from recorded_runs import run_of
from runreel.components import open_runs
from runreel.exporters.memory import Memory
from runreel.replay.recording import recording
from runreel.replay.storing import Stored, store
from runreel.replay.values import Divergence, Replayed
from runreel.runs.assemble import assemble
from runreel.runs.load import StoreRuns
from runreel.runs.places import Named, Place
from runreel.storage import RunQuery
from runreel.values import RawBatch, SplitBatch
from store_kit import split

RECORDED = run_of(tool("00000000000000c1", ROOT, "search", {"q": "tea"}, "x"))


def replayed(query: str = "dana.fields@example.com", divergences: tuple[Divergence, ...] = ()) -> Replayed:
    request = req(tool("00000000000000c1", "", "search", {"q": query}, "x"))
    own = recording([("traces", "protobuf", request.SerializeToString())], RECORDED, "r.replay-1")
    found = Replayed(RECORDED.run_id, "frozen", "same", divergences, run=assemble(*own.main, run_id="r.replay-1"))
    return replace(found, record=own.batch(found))


class Whole(Plain):
    """A chain that shows what passes to a store that runs are read from."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def process(self, batch: RawBatch) -> SplitBatch:
        self._memory.export(split(batch))
        return super().process(batch)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path


def test_it_is_stored_where_there_is_a_store_and_redacted_there(home: Path) -> None:
    # A live key may be in the path of a divergence, too.
    diverged = (Divergence("input_mismatch", path="/somebody.new@example.com", has_now=True),)
    assert store(replayed(divergences=diverged), Place(home)) == Stored("r.replay-1")

    runs = open_runs(home)
    try:
        (listed,) = runs.runs(RunQuery(replays=True))
        whole = runs.run("default", "r.replay-1")
    finally:
        runs.close()
    assert (listed.run_id, listed.replay_of) == ("r.replay-1", RECORDED.run_id)
    assert listed.replay_result is not None
    assert str(listed.replay_result.first["path"]).startswith("/<EMAIL_")
    assert "<EMAIL_" in str(whole.payloads)
    assert "dana.fields" not in str(whole.payloads)


def test_a_collector_that_is_named_gets_it_whatever_the_data_folder_is(tmp_path: Path) -> None:
    memory = Memory()
    kept = Store()
    with collector(tmp_path / "home", kept, chain=Whole(memory), runs=StoreRuns(memory, memory)) as up:
        named = Named(up.at.api, up.at.token, "--collector", "RUNREEL_TOKEN")

        assert store(replayed(), Place(tmp_path / "none", collector=named)) == Stored("r.replay-1")

    assert [span.attributes["replay.of_run"] for span in kept.spans] == [RECORDED.run_id]
    assert [log.event_name for log in kept.logs] == ["replay.run.replayed"]
    assert not (tmp_path / "none").exists()


def test_an_agent_that_exported_nothing_leaves_nothing_to_store(home: Path) -> None:
    assert store(Replayed("r", "frozen", "same"), Place(home)).why == "the agent exported no spans of its own"


def test_where_nothing_was_ever_recorded_nothing_is_made(tmp_path: Path) -> None:
    assert store(replayed(), Place(tmp_path / "none")).why == f"there is no store in {tmp_path / 'none'} yet"
    assert not (tmp_path / "none").exists()


def test_a_collector_that_does_not_answer_is_said_and_the_replay_stands(tmp_path: Path) -> None:
    gone = Named("http://127.0.0.1:1", "t", "--collector", "RUNREEL_TOKEN")

    assert (
        "no collector answers at http://127.0.0.1:1 (--collector)"
        in store(replayed(), Place(tmp_path, collector=gone)).why
    )


def test_a_store_that_another_has_open_is_said(home: Path) -> None:
    runs = open_runs(home)
    try:
        assert "is open in this process already" in store(replayed(), Place(home)).why
    finally:
        runs.close()


def test_a_record_that_a_collector_does_not_take_is_said(tmp_path: Path) -> None:
    endpoint = 'http: {endpoint: "127.0.0.1:0"'
    config = CONFIG.replace(endpoint, f"{endpoint}, max_request_body_size: 2048")
    with collector(tmp_path / "home", Store(), config) as up:
        named = Named(up.at.api, up.at.token, "--collector", "RUNREEL_TOKEN")

        stored = store(replayed("x" * 5000), Place(tmp_path, collector=named))

    assert "more than the collector takes" in stored.why
