"""A follow-up turn replays from where its thread stood before the run, and nothing is written to where it is kept."""

import asyncio
import hashlib
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from otlp_sink import record
from recorded_runs import KEY
from runreel.replay.adapters import Answers, langgraph
from runreel.replay.engine import replay
from runreel.runs.assemble import assemble

AGENT = str(Path(__file__).with_name("thread_agent.py"))
THREAD = {"configurable": {"thread_id": "t-1", "checkpoint_ns": ""}}
TOLD: list[str] = []
langgraph.install(Answers({}, None, {}, TOLD.append))


@pytest.fixture(autouse=True)
def told():
    TOLD.clear()
    return TOLD


def turns(redactor, *switches):
    """Hold a conversation of three turns; return the run of the second, and what was printed in it."""
    for said in ("Write to dana.fields@example.com, I am Dana", "Who am I?", "And now?"):
        batch, printed = record(AGENT, said, *switches, model_url="", cwd=Path.cwd())
        if said == "Who am I?":
            clean = redactor.process(batch)
            found = assemble(clean.spans, clean.logs), printed
    return found


def digest():
    return hashlib.sha256(Path("thread.sqlite").read_bytes()).digest()


@pytest.mark.parametrize("switches", [(), ("--recorder",)], ids=["plain", "recorder"])
def test_a_follow_up_turn_replays_though_the_thread_went_on(switches, redactor, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    run, printed = turns(redactor, *switches)
    before, asked = digest(), Path("model-calls").read_text()

    for _ in range(2):
        replayed = replay(run, AGENT, args=("Who am I?", *switches), key=KEY.secret)
        assert (replayed.verdict, [one.type for one in replayed.divergences]) == ("same", [])
        assert any("SqliteSaver" in note for note in replayed.notes) is not bool(switches)

    assert (digest(), Path("model-calls").read_text()) == (before, asked)
    assert len(capfd.readouterr().out.splitlines()[0].split(" | ")) == len(printed.split(" | ")) == 4


def test_with_the_recorder_the_file_is_not_wanted_any_more(redactor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run, _ = turns(redactor, "--recorder")
    Path("thread.sqlite").unlink()

    replayed = replay(run, AGENT, args=("Who am I?", "--recorder"), key=KEY.secret)

    assert (replayed.verdict, replayed.answered["memory", "checkpoints"]) == ("same", 1)


def id_of(when):
    """Return an id that grows with the time, as the library's do, and comes before all that are made from now on."""
    return str(uuid.UUID(int=int(when.timestamp() * 1e6)))


def put(saver, when):
    """Write a state of a time by the library's own means, past what guards it."""
    made = {**empty_checkpoint(), "id": id_of(when), "ts": when.isoformat(), "channel_values": {"n": str(when)}}
    made["channel_versions"] = {"n": when.isoformat()}
    type(saver).put.__wrapped__(saver, THREAD, made, {}, made["channel_versions"])
    return made["id"]


@pytest.fixture
def now():
    return datetime.now(UTC)


@pytest.fixture
def saver():
    with SqliteSaver.from_conn_string(":memory:") as made:
        yield made


def test_a_thread_begins_with_the_newest_state_from_before_and_the_report_says_so(saver, now, told):
    ids = [put(saver, now + timedelta(days=days)) for days in (-2, -1, 1)]
    newest = saver.get_tuple({**THREAD, "configurable": {**THREAD["configurable"], "checkpoint_id": ids[1]}})
    told.clear()

    with SqliteSaver.from_conn_string(":memory:") as other:
        other.conn = saver.conn
        found = other.get_tuple(THREAD)

    assert found.checkpoint["ts"] == newest.checkpoint["ts"] == (now - timedelta(days=1)).isoformat()
    assert len(told) == 1
    assert "SqliteSaver" in told[0]
    assert "runreel.record.checkpointer" in told[0]


def test_a_thread_that_began_later_has_no_state_yet(saver, now, told):
    put(saver, now + timedelta(days=1))

    assert (saver.get_tuple(THREAD), told) == (None, [])


def test_what_is_written_is_found_again_and_is_not_in_the_store(saver, now):
    first = saver.get_tuple(THREAD)
    made = {**empty_checkpoint(), "channel_values": {"n": 1}, "channel_versions": {"n": 1}}
    config = saver.put(THREAD, made, {}, {"n": 1})
    saver.put_writes(config, [("n", 2)], "task-1")
    kept = saver.get_tuple(THREAD)
    stored = saver.conn.execute("select count(*) from sqlite_master where name = 'checkpoints'").fetchone()
    rows = saver.conn.execute("select count(*) from checkpoints").fetchone() if stored[0] else (0,)
    saver.delete_thread("t-1")

    assert (first, kept.checkpoint["channel_values"], kept.pending_writes) == (None, {"n": 1}, [("task-1", "n", 2)])
    assert (rows, saver.get_tuple(THREAD)) == ((0,), None)


def test_an_async_saver_is_guarded_as_well(tmp_path, now, told):
    async def talk():
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "thread.sqlite")) as saver:
            for days in (-1, 1):
                when = now + timedelta(days=days)
                made = {**empty_checkpoint(), "id": id_of(when), "channel_values": {"n": days}}
                made |= {"ts": when.isoformat(), "channel_versions": {"n": str(days)}}
                await type(saver).aput.__wrapped__(saver, THREAD, made, {}, made["channel_versions"])
            found = await saver.aget_tuple(THREAD)
            await saver.aput(found.config, {**empty_checkpoint(), "channel_versions": {"n": 9}}, {}, {"n": 9})
            later = await saver.aget_tuple(THREAD)
            return found, later, [one async for one in saver.alist(THREAD)]

    found, later, stored = asyncio.run(talk())

    assert found.checkpoint["ts"] == (now - timedelta(days=1)).isoformat()
    assert later.checkpoint["channel_versions"] == {"n": 9}
    assert (len(stored), len(told)) == (2, 1)
