"""Nothing of a replay goes live, and no way of ending makes another run the same: servers and tools that count."""

import json
import os
import shutil
import socket
import tempfile
from pathlib import Path

import pytest

from recorded_runs import WEATHER
from runreel.replay.engine import replay
from sandbox_listeners import Listeners

AGENT = """
import asyncio, atexit, json, os, signal, socket, subprocess, sys, threading, urllib.request
import httpx

ADDRESSES = json.loads(os.environ["LISTENERS"])
HOST, PORT = ADDRESSES["tcp4"]

def ask(text="q", url="https://gateway.example.com"):
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}], "temperature": 0, "seed": 7}
    answer = httpx.post(url + "/v1/chat/completions", json=body)
    answer.raise_for_status()
    return json.loads(answer.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])

def get_weather(city):
    with open(os.environ["SIDE_EFFECTS"], "a") as file:
        file.write("ran\\n")
    return {"temp_c": 0}

def everything():
    return get_weather(**ask())

def reach():
    try:
        socket.create_connection((HOST, PORT), 5).sendall(b"leak")
    except OSError:
        pass

REACH = f"import socket; socket.create_connection(({HOST!r}, {PORT}), 5).sendall(b'leak')"
"""
SAME = {
    "as recorded": "print(everything())",
    "a program without a word to say": "everything()\nsubprocess.run([sys.executable, '-S', '-c', '1'])",
    "a forked process that ends by itself": """
        pid = os.fork()
        if pid == 0:
            sys.exit(0)
        os.waitpid(pid, 0)
        everything()
    """,
    "a forked process that fails on its own": """
        pid = os.fork()
        if pid == 0:
            raise ValueError
        os.waitpid(pid, 0)
        everything()
    """,
}
DIVERGED = {
    "swallows everything, another argument": """
        ask()
        try:
            get_weather("Rome")
        except BaseException:
            pass
    """,
    "swallows everything, another prompt": """
        try:
            ask("another")
        except BaseException:
            pass
        get_weather("Oslo")
    """,
    "falls back to a live model": """
        try:
            ask("another")
        except BaseException:
            try:
                ask("another", f"http://{HOST}:{PORT}")
            except BaseException:
                try:
                    urllib.request.urlopen(f"http://{HOST}:{PORT}/", timeout=5)
                except BaseException:
                    pass
    """,
    "swallows a refused connection": "everything()\nreach()",
    "sends statistics by UDP": """
        everything()
        try:
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"leak", tuple(ADDRESSES["udp4"]))
        except BaseException:
            pass
    """,
    "asks a daemon": """
        everything()
        try:
            socket.socket(socket.AF_UNIX).connect(ADDRESSES["unix"])
        except BaseException:
            pass
    """,
    "reaches out from another thread": """
        thread = threading.Thread(target=reach)
        thread.start()
        everything()
        thread.join()
    """,
    "reaches out when it has ended": "everything()\natexit.register(reach)",
    "exits early": "ask()\nos._exit(0)",
    "exits after reaching out": "everything()\nreach()\nos._exit(0)",
    "is killed at the end": "everything()\nos.kill(os.getpid(), signal.SIGKILL)",
    "crashes at the end": "everything()\nos.abort()",
    "forks, and the other process reaches out": """
        pid = os.fork()
        if pid == 0:
            reach()
            os._exit(0)
        os.waitpid(pid, 0)
        everything()
    """,
    "fails, after a forked process has ended well": """
        everything()
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
            raise ValueError
    """,
    "becomes another program at once": "os.execv(sys.executable, [sys.executable, '-S', '-c', '1'])",
    "becomes another program that reaches out": "everything()\nos.execv(sys.executable, [sys.executable, '-c', REACH])",
    "closes all descriptors at once": """
        os.closerange(3, 4096)
        file = open(os.environ["OWN_FILE"], "w+")
        try:
            everything()
        except BaseException:
            pass
    """,
    "closes all descriptors, then reaches out": "everything()\nos.closerange(3, 4096)\nreach()",
    "loses its own eyes, then reaches out": """
        from runreel.replay import protocol
        from runreel.replay.sandbox import audit
        everything()
        audit._Watcher.__call__ = lambda self, event, arguments: None
        protocol.Link.tell = lambda self, frame: None
        reach()
    """,
    "starts a program that reaches out": """
        everything()
        subprocess.run([sys.executable, "-c", REACH], stderr=subprocess.DEVNULL)
    """,
    "starts a process of its own that outlives it": """
        everything()
        pid = os.fork()
        if pid == 0:
            os.setsid()
            if os.fork() == 0:
                reach()
                os._exit(0)
            os.wait()
            os._exit(0)
        os.waitpid(pid, 0)
    """,
}
if shutil.which("curl"):
    DIVERGED["starts curl"] = """
        everything()
        subprocess.run(["curl", "-s", "-m", "5", "--noproxy", "*", f"http://{HOST}:{PORT}/"])
    """


def lines(source):
    """Take the indentation of this file away."""
    rows = source.strip("\n").split("\n")
    indent = min(len(row) - len(row.lstrip()) for row in rows if row.strip())
    return "\n".join(row[indent:] for row in rows) + "\n"


@pytest.fixture(scope="module")
def listeners():
    with tempfile.TemporaryDirectory(prefix="rr-") as folder:  # not tmp_path: too long for a Unix socket
        yield Listeners(Path(folder))


@pytest.fixture
def run(listeners, tmp_path, monkeypatch):
    """Replay an agent that runs these lines; nobody may have been reached, and no tool's body have run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LISTENERS", json.dumps(listeners.addresses))
    monkeypatch.setenv("SIDE_EFFECTS", str(tmp_path / "side_effects"))
    monkeypatch.setenv("OWN_FILE", str(tmp_path / "own_file"))

    def replayed(source):
        (tmp_path / "agent.py").write_text(AGENT + lines(source), encoding="utf-8")
        found = replay(WEATHER, "agent.py", timeout_s=60, stdout=os.open(os.devnull, os.O_WRONLY))
        assert listeners.counts() == {}
        assert not (tmp_path / "side_effects").exists()
        assert found.live_calls == 0
        return found

    return replayed


@pytest.mark.parametrize("what", SAME)
def test_an_agent_that_does_what_was_recorded_is_the_same_and_reaches_nobody(run, what):
    replayed = run(SAME[what])

    assert (replayed.verdict, replayed.divergences, replayed.exit_code) == ("same", (), 0)


@pytest.mark.parametrize("what", DIVERGED)
def test_an_agent_that_does_anything_else_reaches_nobody_and_diverges_however_it_ends(run, what):
    replayed = run(DIVERGED[what])

    assert (replayed.verdict, replayed.exit_status) == ("diverged", 2)
    assert all(one.fails for one in replayed.divergences)


def test_a_descriptor_that_is_the_agents_own_file_by_now_gets_nothing_of_ours(run, tmp_path):
    run(DIVERGED["closes all descriptors at once"])

    assert (tmp_path / "own_file").read_bytes() == b""


def test_nothing_is_open_in_the_agent_but_the_standard_streams_and_the_recorders_pair(run, tmp_path):
    held = [socket.create_server(("127.0.0.1", 0)), *socket.socketpair(), (tmp_path / "open").open("w")]
    for one in held:
        os.set_inheritable(one.fileno(), True)
    source = """
        everything()
        found = {}
        for number in os.listdir("/proc/self/fd"):
            if os.path.exists(f"/proc/self/fd/{number}"):
                found[number] = os.readlink(f"/proc/self/fd/{number}")
        with open(os.environ["OWN_FILE"], "w") as file:
            json.dump(found, file)
    """

    replayed = run(source)

    found = json.loads((tmp_path / "own_file").read_text())
    beside = {number: what for number, what in found.items() if number not in ("0", "1", "2")}
    assert replayed.verdict == "same"
    assert len(beside) == 1
    assert next(iter(beside.values())).startswith("socket:")
    for one in held:
        one.close()


def test_outside_of_a_replay_the_same_lines_reach_the_servers_and_run_the_tool(listeners, tmp_path, monkeypatch):
    monkeypatch.setenv("LISTENERS", json.dumps(listeners.addresses))
    monkeypatch.setenv("SIDE_EFFECTS", str(tmp_path / "side_effects"))
    exec(compile(AGENT + "get_weather('Oslo')\nreach()\n", "agent.py", "exec"), {"__name__": "agent"})

    assert listeners.counts() == {"tcp4": 1}
    assert (tmp_path / "side_effects").read_text() == "ran\n"
