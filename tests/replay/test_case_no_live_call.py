"""C35: whatever an agent tries, a miss reaches nobody, is told with target and stack, and cannot be swallowed."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from recorded_runs import WEATHER
from runreel.replay.engine import replay

AGENT = """
import json
import httpx

def ask(text):
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}], "temperature": 0, "seed": 7}
    answer = httpx.post("https://gateway.example.com/v1/chat/completions", json=body)
    answer.raise_for_status()
    return json.loads(answer.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])

def get_weather(city):
    open("ran", "w").close()
    raise AssertionError("ran")

"""
LEAKS = """
import socket, subprocess, urllib.request, http.client, asyncio, os
def leak_urllib():   urllib.request.urlopen("http://203.0.113.10/x", timeout=2)
def leak_socket():   socket.create_connection(("203.0.113.10", 443), 2)
def leak_udp():      socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("203.0.113.10", 53))
def leak_dns():      socket.getaddrinfo("telemetry.example.com", 443)
def leak_child():    subprocess.run(["python3", "-c", CHILD], check=True, stderr=subprocess.DEVNULL)
def leak_async():    asyncio.run(asyncio.wait_for(asyncio.open_connection("203.0.113.10", 80), 2))
def leak_unix():     socket.socket(socket.AF_UNIX).connect("/var/run/docker.sock")
def leak_v6():       socket.create_connection(("2001:db8::10", 443), 2)
def leak_named():    asyncio.run(asyncio.open_connection("named.example.com", 80))
def leak_thread():
    import threading
    thread = threading.Thread(target=leak_socket)
    thread.start()
    thread.join()
CHILD = "import urllib.request as u; u.urlopen('http://203.0.113.10', timeout=2)"
"""
HTTP = ("GET 203.0.113.10",)
TARGETS = {
    "leak_urllib": HTTP,
    "leak_socket": ("203.0.113.10:443",),
    "leak_udp": ("203.0.113.10:53",),
    "leak_dns": ("telemetry.example.com:443",),
    "leak_child": (*HTTP, "203.0.113.10:80"),
    "leak_async": ("203.0.113.10:80",),
    "leak_unix": ("/var/run/docker.sock",),
    "leak_v6": ("[2001:db8::10]:443",),
    "leak_named": ("named.example.com:80",),
    "leak_thread": ("203.0.113.10:443",),
}


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """Write an agent that runs these lines; return its path. `python3` is the one of this environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def write(lines):
        (tmp_path / "agent.py").write_text(AGENT + LEAKS + lines, encoding="utf-8")
        return str(tmp_path / "agent.py")

    return write


def shape(replayed):
    return [(one.type, one.kind, one.recorded) for one in replayed.divergences]


@pytest.mark.parametrize("leak", TARGETS)
def test_a_leak_fails_at_once_and_is_told_with_its_target_and_stack(agent, tmp_path, leak):
    line = next(n for n, text in enumerate((AGENT + LEAKS).split("\n"), 1) if text.startswith(f"def {leak}("))

    replayed = replay(WEATHER, agent(f"{leak}()\nget_weather(**ask('q'))\n"), timeout_s=60)

    first = replayed.divergences[0]
    assert (replayed.verdict, replayed.exit_status, first.type, first.fails) == ("diverged", 2, "network_attempt", True)
    assert first.name in TARGETS[leak]
    assert all(one["target"] in TARGETS[leak] for one in replayed.network)
    assert replayed.live_calls == 0
    assert replayed.duration_s < 60
    if leak == "leak_child":
        # A Python program that the agent starts says it itself; of any other the kernel says which it was.
        assert "at <string>:1 in <module>" in first.reason or "python3 -c 'import urllib" in first.reason
    else:
        function = "leak_socket" if leak == "leak_thread" else leak
        at = line - 6 if leak == "leak_thread" else line
        assert re.search(rf"{re.escape(str(tmp_path))}/agent\.py:\d+ in {function}\b", first.reason), first.reason
        assert leak == "leak_thread" or f"agent.py:{at} in {leak}" in first.reason


def test_a_python_without_runreel_does_not_run_and_is_told(agent, tmp_path):
    bare = str(Path(sys._base_executable).resolve())
    if subprocess.run([bare, "-c", "import runreel"], capture_output=True).returncode == 0:
        pytest.skip("the interpreter behind this environment has runreel")
    proof = tmp_path / "ran"
    code = f"open({str(proof)!r}, 'w')"
    lines = f"subprocess.run([{bare!r}, '-c', {code!r}])\nget_weather(**ask('q'))\n"

    replayed = replay(WEATHER, agent(lines), timeout_s=60)

    first = replayed.divergences[0]
    assert (replayed.verdict, first.type) == ("diverged", "unstubbed_tool")
    assert first.name.startswith("python -c open(")
    assert not proof.exists()


def test_leaks_that_are_all_swallowed_are_all_told_and_the_replay_still_ends_diverged(agent, capfd):
    lines = "".join(f"try:\n    {leak}()\nexcept BaseException:\n    pass\n" for leak in TARGETS)

    replayed = replay(WEATHER, agent(f"{lines}print(get_weather(**ask('q')))\n"))

    assert (replayed.verdict, replayed.ended, replayed.exit_code) == ("diverged", "returned", 0)
    assert capfd.readouterr().out == "{'temp_c': -3}\n"
    names = {one.name for one in replayed.divergences}
    assert all(not names.isdisjoint(targets) for targets in TARGETS.values())
    assert names <= {target for targets in TARGETS.values() for target in targets}
    assert {one.type for one in replayed.divergences} == {"network_attempt"}


@pytest.mark.parametrize("error", ["Exception", "BaseException"])
def test_a_tool_call_that_is_missed_and_swallowed_stays_diverged(agent, tmp_path, error):
    swallow = f"try:\n    result = get_weather('Rome')\nexcept {error}:\n    result = None\n"

    replayed = replay(WEATHER, agent(f"ask('q')\n{swallow}print(result)\n"))

    assert (replayed.verdict, replayed.ended) == ("diverged", "returned")
    assert shape(replayed) == [("input_mismatch", "tool", 2)]
    assert not (tmp_path / "ran").exists()


def test_a_model_call_that_is_missed_and_swallowed_reaches_no_model(agent, monkeypatch):
    swallow = "try:\n    ask('something else')\nexcept Exception:\n    pass\n"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.getsockname()[1]}/v1")
        source = swallow.replace("ask(", "openai_ask(") + "print('went on')\n"
        client = (
            "def openai_ask(text):\n    import openai\n"
            "    return openai.OpenAI().chat.completions.create(\n"
            "        model='gpt-4o-mini', messages=[{'role': 'user', 'content': text}], temperature=0, seed=7)\n"
        )

        replayed = replay(WEATHER, agent(client + source))

        with pytest.raises(BlockingIOError):
            server.accept()
    assert replayed.verdict == "diverged"
    assert shape(replayed)[0] == ("input_mismatch", "llm", 1)


def test_a_miss_raises_the_typed_error_that_names_the_tool_and_the_nearest_recorded_call(agent, capfd):
    lines = (
        "from runreel.errors import DivergedError\n"
        "for city in ('Oslo', 'Rome'):\n"
        "    try:\n        get_weather(city)\n    except DivergedError as error:\n        print(error)\n"
    )

    replayed = replay(WEATHER, agent(f"ask('q')\n{lines}"))

    said = capfd.readouterr().out
    assert said == (
        "runreel replay: unrecorded_call (tool get_weather): recorded once, asked for again; "
        "nearest recorded: step 2, 0% alike, differs at /city, already answered\n"
    )
    assert [(near.seq, near.name) for near in replayed.divergences[0].nearest] == [(2, "get_weather")]
    assert "Rome" not in said
