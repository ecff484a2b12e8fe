from dataclasses import replace
from pathlib import Path

import pytest

from otlp_build import ROOT, T0, TID, agent, llm, msg, span, tool
from runreel.errors import NotFoundError, UsageError
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.engine import Engine
from runreel.exporters.files import FileBlobs
from runreel.processors.schema import Schema
from runreel.runs import reel
from runreel.runs.load import Settings, StoreRuns
from runreel.runs.replayed import replay_id, result_event
from runreel.storage import RunQuery
from runreel.values import LogEvent, RawBatch, ReplayResult, SplitBatch
from span_kit import CAPTURES, capture, runs_of
from store_kit import HEAVY, Clock, Watched, a_run, split, stored

OTHER = "1bf7651916cd43dd8448eb211c80319d"


def ids(found) -> list[str]:
    return [summary.run_id for summary in found]


# --- captures of real clients, on chDB ---


def test_every_capture_comes_back_from_the_store_as_it_would_from_memory(chdb: ClickHouse, home: Path) -> None:
    names = sorted(str(path.relative_to(CAPTURES)) for path in CAPTURES.glob("*/*"))
    expected = {}
    for name in names:
        raw = RawBatch("default", *capture(name))
        batch = split(raw)
        spans = [
            replace(one, key=row.span.key) for one, row in zip(Schema().process(raw).spans, batch.rows, strict=True)
        ]
        logs = [replace(one, copy=kept.copy) for one, kept in zip(raw.logs, batch.logs, strict=True)]
        expected |= {run.run_id: run for run in runs_of(spans, logs)}
        chdb.export(batch)
    runs = StoreRuns(chdb, FileBlobs(home / "blobs"))

    listed = runs.runs(RunQuery(limit=0))

    assert len(expected) > 20
    assert set(ids(listed)) == set(expected)
    for run_id, run in expected.items():
        assert runs.run("default", run_id) == run
    assert [summary.started_ns for summary in listed] == sorted(
        (run.started_ns for run in expected.values()), reverse=True
    )
    assert ids(runs.runs(RunQuery(limit=3))) == ids(listed[:3])
    again = runs.runs(RunQuery(limit=0))
    assert again == listed


# --- lists ---


def test_runs_are_listed_newest_first_and_no_more_than_asked(memory: Watched, runs: StoreRuns) -> None:
    for number in range(40):
        memory.export(a_run(f"{number + 1:032x}", at=number * 1000))

    listed = runs.runs(RunQuery(limit=5))

    assert ids(listed) == [f"{number + 1:032x}" for number in range(39, 34, -1)]
    assert len(runs.runs(RunQuery(limit=0))) == 40
    assert runs.runs(RunQuery("other", limit=0)) == []


def test_a_summary_counts_what_the_run_did(memory: Watched, runs: StoreRuns) -> None:
    memory.export(a_run())

    (summary,) = runs.runs(RunQuery())

    assert (summary.run_id, summary.trace_ids) == (TID, (TID,))
    assert (summary.model_calls, summary.tool_calls, summary.retrievals) == (1, 1, 0)
    assert (summary.outcome, summary.open) == ("ok", False)


def test_lists_filter_by_start_agent_outcome_and_replay(memory: Watched, runs: StoreRuns) -> None:
    memory.export(a_run("1" * 32, at=0, **{"gen_ai.agent.name": "billing"}))
    memory.export(a_run("2" * 32, at=1000, **{"gen_ai.agent.name": "search"}))
    memory.export(a_run("3" * 32, at=2000, **{"gen_ai.agent.name": "search", "replay.run.outcome": "user_flagged"}))
    memory.export(a_run("4" * 32, at=3000, **{"gen_ai.agent.name": "search", "replay.of_run": "3" * 32}))

    def found(**query) -> list[str]:
        return [run_id[0] for run_id in ids(runs.runs(RunQuery(**query)))]

    assert found() == ["3", "2", "1"]
    assert found(replays=True) == ["4"]
    assert found(agent="search") == ["3", "2"]
    assert found(agent="billing", limit=1) == ["1"]
    assert found(outcome="user_flagged") == ["3"]
    assert found(since_ns=T0 + 1000 * 10**6) == ["3", "2"]
    assert found(agent="nobody") == []


def test_a_filter_is_applied_before_the_limit(memory: Watched, runs: StoreRuns) -> None:
    memory.export(a_run("f" * 32, at=-10_000, **{"gen_ai.agent.name": "rare"}))
    for number in range(60):
        memory.export(a_run(f"{number + 1:032x}", at=number * 1000))

    assert ids(runs.runs(RunQuery(agent="rare", limit=2))) == ["f" * 32]


def test_traces_without_a_step_are_no_runs(memory: Watched, runs: StoreRuns) -> None:
    memory.export(stored(span("GET /health", "00000000000000aa")))

    assert runs.runs(RunQuery()) == []
    with pytest.raises(NotFoundError, match="nothing is recorded here yet"):
        runs.resolve("default", "last")


# --- the cache ---


def test_a_settled_run_is_listed_without_reading_its_rows_again(memory: Watched, runs: StoreRuns, clock: Clock) -> None:
    memory.export(a_run())
    clock.pass_s(31)
    first = runs.runs(RunQuery())
    read = memory.read

    assert runs.runs(RunQuery()) == first
    assert memory.read == read


def test_a_line_made_just_after_news_is_not_trusted(memory: Watched, runs: StoreRuns, clock: Clock) -> None:
    memory.export(a_run())
    runs.runs(RunQuery())
    read = memory.read
    clock.pass_s(31)

    runs.runs(RunQuery())
    assert memory.read == read + 1
    runs.runs(RunQuery())
    assert memory.read == read + 1


def test_late_spans_and_late_log_events_refresh_a_cached_run(memory: Watched, runs: StoreRuns, clock: Clock) -> None:
    memory.export(a_run())
    clock.pass_s(60)
    runs.runs(RunQuery())
    clock.pass_s(60)
    memory.export(stored(tool("00000000000000c2", ROOT, "refund", {"id": 1}, "done", at=60)))

    (summary,) = runs.runs(RunQuery())
    assert summary.tool_calls == 2

    clock.pass_s(60)
    before = runs.runs(RunQuery())[0].revision
    event = LogEvent("default", TID, "00000000000000b1", "gen_ai.choice", body={"text": "late"}, copy="c" * 32)
    memory.export(SplitBatch("default", logs=(event,)))
    assert runs.runs(RunQuery())[0].revision != before


def test_a_line_of_another_derivation_is_made_again(
    memory: Watched, runs: StoreRuns, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.export(a_run())
    clock.pass_s(60)
    runs.runs(RunQuery())
    read = memory.read

    monkeypatch.setattr("runreel.runs.load._DERIVATION", "newer")
    runs.runs(RunQuery())

    assert memory.read == read + 1


def test_a_run_whose_root_never_comes_is_open_until_it_has_been_idle(memory: Watched, clock: Clock) -> None:
    runs = StoreRuns(memory, memory, Settings(quiet_s=30, idle_s=600), clock)
    clock.now = T0 + 10**9
    memory.export(stored(llm("00000000000000b1", "00000000000000ee", [msg("user", "hi")], [msg("assistant", "yes")])))

    (now,) = runs.runs(RunQuery())
    clock.pass_s(300)
    (later,) = runs.runs(RunQuery())
    clock.pass_s(400)
    (idle,) = runs.runs(RunQuery())

    assert (now.open, later.open, idle.open) == (True, True, False)
    assert idle.outcome == "aborted"
    assert runs.run("default", TID).open is False


def test_old_runs_that_are_imported_now_are_over(memory: Watched, runs: StoreRuns) -> None:
    memory.export(stored(llm("00000000000000b1", "00000000000000ee", [msg("user", "hi")], [msg("assistant", "yes")])))

    (summary,) = runs.runs(RunQuery())

    assert not summary.open


# --- which spans a run has ---


def test_a_run_that_names_itself_is_put_together_from_its_traces(memory: Watched, runs: StoreRuns) -> None:
    named = {"replay.run.id": "run-7"}
    memory.export(stored(agent(**named), tool("00000000000000c1", ROOT, "a", {}, "1", **named)))
    memory.export(stored(tool("00000000000000c2", ROOT, "b", {}, "2", tid=OTHER, at=100, **named)))

    (summary,) = runs.runs(RunQuery())

    assert (summary.run_id, set(summary.trace_ids), summary.tool_calls) == ("run-7", {TID, OTHER}, 2)
    for text in ("run-7", "run", TID, OTHER, OTHER[:7]):
        assert runs.resolve("default", text) == "run-7"
    assert {step.name for step in runs.run("default", "run-7").steps if step.kind == "tool"} == {"a", "b"}


def two_runs_in_one_trace() -> SplitBatch:
    outer, inner = {"replay.run.id": "outer"}, {"replay.run.id": "inner", "replay.run.parent_id": "outer"}
    return stored(
        agent(**outer),
        tool("00000000000000c1", ROOT, "a", {}, "1", **outer),
        span("invoke_agent sub", "00000000000000d1", ROOT, attrs={"gen_ai.operation.name": "invoke_agent", **inner}),
        tool("00000000000000d2", "00000000000000d1", "b", {}, HEAVY, at=5, **inner),
    )


def test_a_trace_id_leads_to_the_run_above_the_others(memory: Watched, runs: StoreRuns) -> None:
    memory.export(two_runs_in_one_trace())

    assert sorted(ids(runs.runs(RunQuery()))) == ["inner", "outer"]
    assert runs.resolve("default", TID) == "outer"
    assert runs.resolve("default", "inn") == "inner"
    with pytest.raises(NotFoundError, match=f"no run '{TID}'"):
        runs.run("default", TID)


def test_a_reel_holds_the_rows_of_its_run_only(memory: Watched, runs: StoreRuns) -> None:
    memory.export(two_runs_in_one_trace())

    data = runs.reel("default", "outer")

    _, batch = reel.read(data, "outer.reel")
    assert {row.span.attributes["replay.run.id"] for row in batch.rows} == {"outer"}
    assert batch.parts == ()
    assert reel.open_reel(data, "outer.reel").run("default", "outer") == runs.run("default", "outer")


def test_a_reel_of_a_run_with_heavy_parts_is_whole(chdb: ClickHouse, home: Path) -> None:
    chdb.export(a_run())
    runs = StoreRuns(chdb, FileBlobs(home / "blobs"))

    data = runs.reel("default", TID)

    assert reel.open_reel(data, "x").run("default", TID) == runs.run("default", TID)


def test_log_events_go_with_their_run(memory: Watched, runs: StoreRuns) -> None:
    memory.export(a_run())
    event = LogEvent("default", TID, "00000000000000b1", "note", body="hello", copy="c" * 32)
    memory.export(SplitBatch("default", logs=(event, replace(event, trace_id=OTHER, copy="d" * 32))))

    _, batch = reel.read(runs.reel("default", TID), "x")

    assert batch.logs == (event,)


# --- replays ---


def a_replay(unique: str, of: str, at: int) -> SplitBatch:
    return a_run(f"{unique}{'0' * 31}", at=at, **{"replay.run.id": replay_id(of, unique), "replay.of_run": of})


def test_the_replays_of_a_run_are_found_by_it_and_by_nothing_else(memory: Watched, runs: StoreRuns) -> None:
    memory.export(a_run("1" * 32, at=0))
    memory.export(a_run("2" * 32, at=10))
    memory.export(a_replay("a", "1" * 32, 1000))
    memory.export(a_replay("b", "1" * 32, 2000))
    memory.export(a_replay("c", "2" * 32, 3000))

    found = runs.runs(RunQuery(replay_of="1" * 32))

    assert ids(found) == [replay_id("1" * 32, "b"), replay_id("1" * 32, "a")]
    assert [one.replay_of for one in found] == ["1" * 32] * 2
    assert ids(runs.runs(RunQuery(replay_of="1" * 32, limit=1))) == [replay_id("1" * 32, "b")]
    assert runs.runs(RunQuery(replay_of="3" * 32)) == []
    assert len(runs.runs(RunQuery(replay_of="1" * 32, text="long answer"))) == 2
    assert runs.runs(RunQuery(replay_of="1" * 32, text="nowhere to be found")) == []


def test_the_beginning_of_a_run_that_was_replayed_is_still_the_run(memory: Watched, runs: StoreRuns) -> None:
    memory.export(a_run("1" * 32, at=0))
    memory.export(a_replay("a", "1" * 32, 1000))

    assert runs.resolve("default", "111") == "1" * 32
    assert runs.resolve("default", replay_id("1" * 32, "")) == replay_id("1" * 32, "a")


def test_what_a_replay_came_to_is_in_its_line_from_the_cache_too(memory: Watched, runs: StoreRuns) -> None:
    result = ReplayResult("frozen", "diverged", 2, {"type": "input_mismatch", "step": 4, "path": "/q"})
    name = replay_id("1" * 32, "a")
    memory.export(a_replay("a", "1" * 32, 1000))
    event = result_event("default", "a" + "0" * 31, name, "1" * 32, result, T0)
    memory.export(split(RawBatch("default", logs=(event,))))

    (made,) = runs.runs(RunQuery(replays=True))
    (cached,) = runs.runs(RunQuery(replays=True))

    assert made.replay_result == cached.replay_result == result


# --- names ---


def test_last_is_the_newest_that_is_no_replay(memory: Watched, runs: StoreRuns) -> None:
    memory.export(a_run("1" * 32, at=0))
    memory.export(a_run("2" * 32, at=1000))
    memory.export(a_run("3" * 32, at=2000, **{"replay.of_run": "2" * 32}))

    assert runs.resolve("default", "last") == "2" * 32


def test_a_prefix_must_be_of_one_run(memory: Watched, runs: StoreRuns) -> None:
    for number in range(8):
        memory.export(a_run(f"ab{number:030x}", at=number))

    assert runs.resolve("default", f"ab{3:030x}") == f"ab{3:030x}"
    with pytest.raises(UsageError, match=r"'ab' stands for 8 runs: ab0+, .*\.\.\.\. Write more of it"):
        runs.resolve("default", "ab")


@pytest.mark.parametrize("text", ["zz", "", " ", "\x1b[31m", "\ud800", "a" * 5000, "%", "_", "' OR 1=1 --"])
def test_what_is_no_run_is_said_with_what_there_is(memory: Watched, runs: StoreRuns, text: str) -> None:
    memory.export(a_run())

    with pytest.raises(NotFoundError, match="`runreel runs ls` lists"):
        runs.resolve("default", text)


def test_odd_names_are_no_harm_to_the_engine_either(chdb: ClickHouse, home: Path) -> None:
    chdb.export(a_run())
    runs = StoreRuns(chdb, FileBlobs(home / "blobs"))

    for text in ("zz", "%", "_", "\\", "' OR 1=1 --", "\ud800", "é"):
        with pytest.raises(NotFoundError):
            runs.resolve("default", text)
    assert runs.resolve("default", TID[:9]) == TID


def test_a_run_that_is_not_there_is_not_found(memory: Watched, runs: StoreRuns) -> None:
    memory.export(a_run())

    for call in (runs.run, runs.reel):
        with pytest.raises(NotFoundError, match="no run 'nobody'"):
            call("default", "nobody")
        with pytest.raises(NotFoundError):
            call("other", TID)


def test_close_closes_both_stores(home: Path) -> None:
    database = ClickHouse(Engine.open(home / "store", tmp=home / "tmp"), FileBlobs(home / "blobs"))

    StoreRuns(database, FileBlobs(home / "blobs")).close()

    Engine.open(home / "store", tmp=home / "tmp").close()
