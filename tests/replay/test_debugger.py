"""`--break-at`: pdb opens in the agent's code where it asks for a step, on the user's own terminal."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from otlp_build import agent as root_span
from otlp_build import call, msg, req
from pty_kit import Terminal
from python_snippet import run_python
from recorded_runs import KEY, model_step, run_of, tool_step
from runreel import otlp
from runreel.errors import UsageError
from runreel.processors.redact import Redactor
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.replay.engine import replay
from runreel.runs import reel
from runreel.runs.assemble import assemble

STEPS = (
    model_step(1, [msg("user", "q")], [call("get_weather", {"city": "Oslo"})], at=0),
    tool_step(1, "get_weather", {"city": "Oslo"}, {"temp_c": -3}, at=20, call_id="call_1"),
)
MODEL_STEP, TOOL_STEP = 1, 2
AGENT = """
import asyncio, json, sys, threading
import httpx

def get_weather(city):
    raise AssertionError("ran")

def ask(text):
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}], "temperature": 0, "seed": 7}
    answer = httpx.post("https://gateway.example.com/v1/chat/completions", json=body)
    answer.raise_for_status()
    return answer.json()["choices"][0]["message"]["tool_calls"][0]["function"]

def main(text="q"):
    arguments = json.loads(ask(text)["arguments"])
    found = get_weather(**arguments)
    print("FOUND", found)

"""
CALL_LINE, ASK_LINE = "-> found = get_weather(**arguments)", "-> answer = httpx.post("
PROMPT = r"\(Pdb\) "


@pytest.fixture(scope="module")
def recorded():
    """The recorded run as a reel."""
    decoded = otlp.decode("traces", req(root_span(), *STEPS).SerializeToString(), "protobuf", "default")
    batch = Redactor(KEY).process(Schema().process(decoded))
    return reel.write(assemble(batch.spans).run_id, Split().process(batch))


@pytest.fixture
def folder(tmp_path, recorded):
    """A folder with the run and, once written, the agent."""
    (tmp_path / "run.reel").write_bytes(recorded)
    return tmp_path


def command(folder, *words, body="main()\n"):
    (folder / "agent.py").write_text(AGENT + body, encoding="utf-8")
    return [sys.executable, "-m", "runreel", "replay", "run.reel", "--agent", "agent.py", *map(str, words)]


def environment(folder, **more):
    return {**os.environ, "RUNREEL_HOME": str(folder / "home"), **more}


@pytest.fixture
def terminal(folder):
    """Start a replay on a terminal; whatever happens, it is gone afterwards."""
    started = []

    def start(*words, body="main()\n", argv=None, **more):
        env = environment(folder, **more)
        started.append(Terminal(argv or command(folder, *words, body=body), env=env, cwd=folder))
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_a_session_sees_the_agents_frames_and_values_and_the_answer_comes_afterwards(terminal):
    session = terminal("--break-at", TOOL_STEP)

    opened = session.read(PROMPT)
    session.type("where\n")
    where = session.read(PROMPT)
    session.type("p arguments, 'found' in locals()\n")
    before = session.read(PROMPT)
    session.type("n\n")
    session.read(PROMPT)
    session.type("p found\n")
    after = session.read(PROMPT)
    session.type("c\n")
    report = session.read(r"frozen replay of [0-9a-f]+: \w+[^$]*debugger")

    assert "step 2 (tool get_weather) is asked for here" in opened
    assert CALL_LINE in opened
    assert where.count("agent.py(") == 2
    assert not any(name in where for name in ("runpy", "runreel/replay", "httpx"))
    assert "({'city': 'Oslo'}, False)" in before
    assert "{'temp_c': -3}" in after
    assert "identical" in report
    assert session.end() == 0


def test_a_model_call_opens_where_the_agent_calls_its_client(terminal):
    session = terminal("--break-at", MODEL_STEP)

    assert ASK_LINE in session.read(PROMPT)
    session.type("c\n")

    assert session.end() == 0


def test_leaving_the_debugger_makes_the_replay_not_comparable(terminal):
    body = "try:\n    main()\nexcept BaseException:\n    print('SWALLOWED')\nprint('WENT ON')\n"
    session = terminal("--break-at", TOOL_STEP, body=body)

    session.read(PROMPT)
    session.type("q\n")
    report = session.read("the debugger was left before the agent had ended")

    assert "not comparable" in report
    assert "SWALLOWED" not in report
    assert "WENT ON" not in report
    assert session.end() == 125


def test_the_end_of_input_leaves_the_debugger(terminal):
    session = terminal("--break-at", TOOL_STEP)

    session.read(PROMPT)
    session.type("\x04")

    assert session.end() == 125


def test_neither_ctrl_c_at_the_prompt_nor_a_time_limit_ends_a_session(terminal):
    # The start alone takes longer than this.
    session = terminal("--timeout", "0.001", "--break-at", TOOL_STEP)

    session.read(PROMPT)
    session.type("\x03")
    session.type("\n")  # readline may sleep through a signal that comes just before it waits
    session.read("--KeyboardInterrupt--")
    session.type("c\n")
    session.read("identical")

    assert session.end() == 0


def test_where_the_output_goes_elsewhere_the_debugger_is_on_the_terminal_all_the_same(terminal, folder):
    words = " ".join(command(folder, "--break-at", TOOL_STEP))
    session = terminal(argv=["sh", "-c", f"{words} > report.txt"])

    session.read(PROMPT)
    session.type("p arguments\n")
    assert "{'city': 'Oslo'}" in session.read(PROMPT)
    session.type("c\n")

    assert session.end() == 0
    report = (folder / "report.txt").read_text(encoding="utf-8")
    assert "identical" in report
    assert "(Pdb)" not in report


def test_a_program_of_the_agents_stops_on_the_same_terminal_and_leaving_it_ends_the_replay(terminal, folder):
    (folder / "part.py").write_text(AGENT + "main()\n", encoding="utf-8")
    body = "import subprocess\nsubprocess.run([sys.executable, 'part.py'], capture_output=True)\nprint('WENT ON')\n"
    session = terminal("--break-at", TOOL_STEP, body=body)

    session.read(PROMPT)
    session.type("where\n")
    assert "part.py(" in session.read(PROMPT)
    session.type("q\n")
    report = session.read("the debugger was left before the agent had ended")

    assert "not comparable" in report
    assert "WENT ON" not in report
    assert session.end() == 125


@pytest.mark.skipif(shutil.which("bash") is None, reason="no shell with job control here")
def test_a_session_can_be_stopped_and_taken_up_again_by_the_shell(terminal, folder):
    shell = terminal(argv=["bash", "--norc", "--noprofile", "-i"], PS1="SHELL> ", PYTHONUNBUFFERED="1")
    shell.read("SHELL> ")
    shell.type(" ".join(command(folder, "--break-at", TOOL_STEP)) + "\n")
    shell.read(PROMPT)

    shell.type("\x1a")
    shell.read(r"Stopped.*[^$]*SHELL> ")
    shell.type("echo in the $((40 + 2))\n")
    shell.read("in the 42\n")
    shell.type("fg\n")
    shell.read("python.*\n")
    shell.type("p arguments\n")
    assert "{'city': 'Oslo'}" in shell.read(PROMPT)
    shell.type("c\n")
    shell.read("identical[^$]*SHELL> ")
    shell.type("exit $?\n")

    assert shell.end() == 0


def test_a_session_of_the_agents_own_breakpoint_keeps_the_terminal_too(terminal):
    session = terminal(body="breakpoint()\nmain()\n")

    # Where it stops is the next line, since Python 3.13 the call itself.
    assert re.search(r"-> (main|breakpoint)\(\)", session.read(PROMPT))
    session.type("c\n")
    session.read("identical")

    assert session.end() == 0


# --- without a terminal: commands from a pipe -------------------------------------------------------------------------


def piped(folder, commands, *words, body="main()\n", **more):
    return subprocess.run(
        command(folder, *words, body=body),
        input=commands,
        env=environment(folder, **more),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_diverging_call_in_the_place_of_the_step_stops_too_and_no_other_debugger_is_opened(folder):
    words = ["--break-at", MODEL_STEP]

    done = piped(folder, "p text\nc\n", *words, body="main('another')\n", PYTHONBREAKPOINT="remote_thing.set_trace")

    assert "which diverges: runreel replay: input_mismatch of step 1" in done.stdout
    assert "PYTHONBREAKPOINT=remote_thing.set_trace is kept for the agent's own breakpoint()" in done.stdout
    assert "(Pdb) 'another'" in done.stdout
    assert done.returncode == 2


def test_breakpoints_hold_and_what_is_changed_there_is_part_of_the_replay(folder):
    done = piped(folder, "b 16\nc\n!arguments['city'] = 'Rome'\nc\n", "--break-at", MODEL_STEP)

    assert CALL_LINE in done.stdout
    assert "input_mismatch at step 2, tool get_weather, field /city" in done.stdout
    assert "stopped in the debugger at step 1; what was changed there is part of this" in done.stdout
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("thread = threading.Thread(target=main)\nthread.start()\nthread.join()\n", CALL_LINE),
        ("async def later():\n    main()\nasyncio.run(asyncio.wait_for(later(), 60))\n", CALL_LINE),
        (
            """
async def get_it(city):
    return get_weather(city)
async def later():
    ask('q')
    print('FOUND', await get_it('Oslo'))
asyncio.run(later())
""",
            "-> return get_weather(city)",
        ),
    ],
    ids=["thread", "task", "coroutine"],
)
def test_threads_and_tasks_stop_in_their_own_frames(folder, body, line):
    done = piped(folder, "where\nc\n", "--break-at", TOOL_STEP, body=body)

    assert line in done.stdout
    assert "FOUND {'temp_c': -3}" in done.stdout
    assert done.returncode == 0, done.stdout + done.stderr


def test_stepping_never_shows_the_replays_own_code(folder):
    done = piped(folder, "s\n" * 400 + "c\n", "--break-at", TOOL_STEP)

    assert "agent.py(17)main()" in done.stdout
    assert "runreel/replay" not in done.stdout
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_step_that_is_never_asked_for_is_said(folder):
    done = piped(folder, "", "--break-at", TOOL_STEP, body="ask('q')\n")

    assert "step 2 was never asked for: the debugger did not open" in done.stdout
    assert done.returncode == 2


def test_a_step_that_asks_for_nothing_is_refused_with_those_that_do():
    with pytest.raises(UsageError, match="nothing is asked for at step 0 of the record: stop at one of these: 1, 2"):
        replay(run_of(*STEPS), "agent.py", break_at=0)


def test_deadlines_do_not_run_while_somebody_looks_around():
    out = run_python(
        """
        import time
        from runreel.replay import debugger
        before = time.monotonic(), time.monotonic_ns()
        debugger._hold(1000)
        debugger._hold(500)
        print(time.monotonic() - before[0] < -1400, time.monotonic_ns() - before[1] < -1400e9)
        """
    )

    assert out == "True True\n"
