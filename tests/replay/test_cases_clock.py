"""Failures from the field: clock, random numbers and ids inside prompts and arguments (C34)."""

import uuid
from pathlib import Path

import pytest

from otlp_build import ROOT, T0, msg, tool
from recorded_runs import model_step, run_of
from runreel.replay.engine import replay

START_S = T0 / 1e9
# What was recorded is what another process drew, at another time of the same run.
FORMS = {
    "time.time": ("time.time()", START_S + 0.25),
    "time.time_ns": ("time.time_ns()", T0 + 250_000_000),
    "datetime.now(tz)": ("datetime.datetime.now(datetime.UTC).isoformat()", "2026-01-01T00:00:00.250000+00:00"),
    "date.today": ("datetime.date.today().isoformat()", "2026-01-01"),
    "uuid1": ("str(uuid.uuid1())", "5bd6b1de-cc7f-11f0-9d9b-0242ac120002"),
    "uuid4": ("str(uuid.uuid4())", "0f8fad5b-d9cb-469f-a165-70867728950e"),
    "random": ("random.random()", 0.8444218515250481),
    "random instance": ("random.Random().random()", 0.1234567890123),
    "random choice": ("random.choice(['alpha', 'bravo', 'charly', 'delta'])", "foxtrot"),
    "secrets": ("secrets.token_hex(8)", "9f86d081884c7d65"),
    "secrets urlsafe": ("secrets.token_urlsafe(12)", "Zm9vYmFyLWJhei1x"),
    "os.urandom": ("os.urandom(4).hex()", "deadbe1f"),
    "numpy.random": ("float(numpy.random.random())", 0.7311235),
    "in a thread": ("in_thread(lambda: str(uuid.uuid4()))", "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
    "in a task": ("asyncio.run(asyncio.to_thread(uuid.uuid4)).hex", "550e8400e29b41d4a716446655440000"),
    "in a text": ("f'Today is {datetime.date.today()}. Request {uuid.uuid4()}.'", None),
}
if hasattr(uuid, "uuid7"):
    FORMS["uuid7"] = ("str(uuid.uuid7())", "019b0f6e-1111-7abc-8def-0123456789ab")
FORMS["in a text"] = (FORMS["in a text"][0], "Today is 2026-01-01. Request 9b2d4c1e-8a7f-4e6d-b5c3-a1f2e3d4c5b6.")
VOLATILE = {
    "time.monotonic": ("time.monotonic()", 12345.678),
    "asyncio loop.time": ("loop_time()", 12346.789),
    "pid": ("os.getpid()", 4242),
}
AGENT = """
import asyncio, datetime, json, os, random, secrets, sys, threading, time, uuid
import numpy

def note(form, value):
    raise AssertionError("ran")

def in_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]

def loop_time():
    async def main():
        return asyncio.get_running_loop().time()
    return asyncio.run(main())

def put(form, value):
    print(json.dumps([form, value]))
    try:
        note(form=form, value=value)
    except Exception as error:
        print(error, file=sys.stderr)
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(forms, end=""):
        lines = "".join(f"put({form!r}, {expression})\n" for form, (expression, _) in forms.items())
        (tmp_path / "agent.py").write_text(AGENT + lines + end, encoding="utf-8")
        return str(tmp_path / "agent.py")

    return write


def recorded(forms):
    return run_of(
        *(
            tool(f"00000000000001{n:02x}", ROOT, "note", {"form": form, "value": was}, "ok", id=f"c{n}", at=n * 20)
            for n, (form, (_, was)) in enumerate(forms.items())
        )
    )


def test_c34_what_is_drawn_stands_for_what_was_recorded_and_is_the_same_in_each_replay(script, capfd):
    replayed = replay(recorded(FORMS), script(FORMS), on_divergence="continue")
    first = capfd.readouterr().out
    again = replay(recorded(FORMS), script(FORMS), on_divergence="continue")

    assert [(one.type, one.name, one.was) for one in replayed.divergences] == []
    assert (replayed.verdict, again.verdict) == ("same", "same")
    assert capfd.readouterr().out == first
    assert len(first.splitlines()) == len(FORMS)
    # Nothing is let pass in silence.
    assert any("uuid" in one for one in replayed.drawn)
    assert any("random" in one for one in replayed.drawn)
    assert "time of the clock" in replayed.drawn


def test_c34_what_cannot_come_again_is_nondeterminism_of_its_field_and_may_be_masked(script):
    run = recorded(VOLATILE)

    replayed = replay(run, script(VOLATILE), on_divergence="continue")
    masked = replay(run, script(VOLATILE), masks=["tool:note/value"])

    assert [(one.type, one.recorded, one.path) for one in replayed.divergences] == [
        ("nondeterminism", number, "/value") for number in (1, 2, 3)
    ]
    assert (masked.verdict, masked.masked) == ("same", {"tool:note/value": 3})


def test_c34_the_agent_of_the_case_replays_but_for_its_process_id(script):
    """Its first request holds a date, an id and a pick; its tool is given all forms at once."""
    source = """
import httpx
started, rid = time.time(), str(uuid.uuid4())
day, pick = datetime.date.today().isoformat(), random.choice(["alpha", "bravo"])
out = note(id=rid, at=started, tmp=f"/tmp/{os.getpid()}", nonce=os.urandom(4).hex())
messages = [
    {"role": "system", "content": f"Today is {day}. Request {rid}."},
    {"role": "user", "content": f"pick {pick}"},
    {"role": "user", "content": out},
]
body = {"model": "gpt-4o-mini", "messages": messages, "temperature": 0, "seed": 7}
httpx.post("https://gateway.example.com/v1/chat/completions", json=body).raise_for_status()
assert time.monotonic() - started < 1e12
"""
    rid = "0f8fad5b-d9cb-469f-a165-70867728950e"
    given = {"id": rid, "at": START_S + 0.01, "tmp": "/tmp/4242", "nonce": "deadbe1f"}
    asked = [msg("system", f"Today is 2026-01-01. Request {rid}."), msg("user", "pick zulu"), msg("user", "noted")]
    run = run_of(
        tool("00000000000000c1", ROOT, "note", given, "noted", id="call_1", at=10),
        model_step(1, asked, ["fine"], at=50),
    )
    agent = Path(script({}, source))
    agent.write_text(agent.read_text().replace("def note(form, value):", "def note(id, at, tmp, nonce):"))

    replayed = replay(run, str(agent), on_divergence="continue", masks=["llm:*/messages/1/parts/0/content"])

    assert [(one.type, one.name, one.path) for one in replayed.divergences] == [("nondeterminism", "note", "/tmp")]


def test_c34_a_deadline_does_not_fire_because_the_clock_moves_with_the_record(script, capfd):
    hours = run_of(
        tool("00000000000000c1", ROOT, "note", {"form": "a", "value": 1}, "ok", id="call_1", at=0),
        tool("00000000000000c2", ROOT, "note", {"form": "b", "value": 2}, "ok", id="call_2", at=3 * 3600 * 1000),
    )
    end = """
async def main():
    before = time.time()
    async with asyncio.timeout(30):
        note("a", 1)
        await asyncio.sleep(0)
        note("b", 2)
        await asyncio.sleep(3600)
    print(round((time.time() - before) / 3600))
asyncio.run(main())
"""

    replayed = replay(hours, script({}, end))

    assert (replayed.verdict, capfd.readouterr().out) == ("same", "4\n")
