"""Agents behind the walls: what is answered, what is refused before the start, and how an agent may end."""

import dataclasses
import re
from pathlib import Path

import pytest

from otlp_build import call, msg
from python_snippet import run_python
from recorded_runs import ASK, TOP_LEVEL_UNIT, WEATHER, WITH_UNIT, model_step, run_of
from runreel.errors import EntryPointError, RefusedError, ReplayError, UsageError
from runreel.replay.engine import Entry, entry_of, environment_of, replay
from runreel.values import Run


def shape(replayed):
    return [(one.type, one.kind, one.recorded, one.path) for one in replayed.divergences]


TOP_LEVEL = ASK + "\ndef get_weather(city): raise AssertionError('ran')\n"


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """Write an agent and the modules beside it; return its path."""
    monkeypatch.chdir(tmp_path)

    def write(source, **modules):
        for name, text in {"agent": source, **modules}.items():
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        return str(tmp_path / "agent.py")

    return write


def test_a_tool_of_the_script_itself_is_answered(agent, capfd):
    replayed = replay(WEATHER, agent(TOP_LEVEL + "run(get_weather)\n"))

    assert (replayed.verdict, capfd.readouterr().out) == ("same", '{"temp_c": -3}\n')


def test_a_masked_field_makes_no_difference_and_the_result_counts_it_and_says_what_answered(agent):
    masks = ["tool:get_weather/unit", "tool:get_weather/absent"]
    source = TOP_LEVEL_UNIT + "run(lambda city, unit: get_weather(city, 'K'))\n"

    replayed = replay(WITH_UNIT, agent(source), masks=masks)

    assert (replayed.verdict, dict(replayed.masked)) == ("same", {masks[0]: 1, masks[1]: 0})
    assert replayed.coverage == {1: "wire openai.chat", 2: "function"}


@pytest.mark.parametrize("mask", ["tool:get_weather", "tool:get_weather/*", "agent:x/y"])
def test_a_mask_that_is_none_or_hides_everything_is_refused_before_the_start(agent, mask):
    with pytest.raises(UsageError, match="mask"):
        replay(WEATHER, agent("raise SystemExit(9)"), masks=[mask])


def test_a_tool_that_only_running_could_tell_is_refused_by_name_before_anything_of_the_agent_runs(agent, capfd):
    source = ASK + "\nprint('started')\nimport lib\nTOOLS = {'get_weather': lib.make()}\nrun(TOOLS['get_weather'])\n"

    with pytest.raises(RefusedError) as caught:
        replay(WEATHER, agent(source, lib="make = dict.get\n"))

    assert caught.value.exit_code == 125
    assert "unstubbed: get_weather" in str(caught.value)
    assert re.search(r"agent\.py:\d+ gives this name to something that only running could tell", str(caught.value))
    assert "--tool NAME=module:function" in str(caught.value)
    assert capfd.readouterr().out == ""


def test_a_closure_that_a_module_holds_is_answered_when_it_is_named(agent):
    tools = "def make(unit):\n    def inner(city): raise AssertionError(unit)\n    return inner\nweather = make('c')\n"

    replayed = replay(
        WEATHER,
        agent(ASK + "\nimport tools\nrun(tools.weather)\n", tools=tools),
        tools={"get_weather": "tools:weather"},
    )

    assert replayed.verdict == "same"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("tools:absent", "tools:absent is not there"),
        ("nowhere:f", "nowhere does not import"),
        ("agent:absent", "defines no absent of its own"),
    ],
)
def test_a_named_function_that_cannot_be_swapped_is_refused_with_the_reason(agent, target, reason):
    with pytest.raises(RefusedError, match="unstubbed: get_weather") as caught:
        replay(WEATHER, agent(TOP_LEVEL + "run(get_weather)\n", tools="x = 1\n"), tools={"get_weather": target})

    assert reason in str(caught.value)


def test_a_method_of_the_script_is_answered_when_it_is_named(agent):
    source = ASK + "\nclass Box:\n    def find(self, city): raise AssertionError\nrun(Box().find)\n"

    assert replay(WEATHER, agent(source), tools={"get_weather": "agent:Box.find"}).verdict == "same"


def test_a_callable_is_given_the_recorded_input_and_another_one_on_demand(agent, capfd):
    recorded = run_of(
        model_step(1, [msg("user", "q")], ["fine"], at=0),
        res={"service.name": "case"},
    )
    agent(ASK + "\ndef main(text):\n    print(ask(text)['content'])\n")

    given = replay(recorded, "agent:main", input="q")
    other = replay(recorded, "agent:main", input="another")

    assert (given.verdict, other.verdict) == ("same", "diverged")
    assert shape(other) == [("input_mismatch", "llm", 1, "/messages/0/parts/0/content")]
    assert capfd.readouterr().out == "fine\n"


def test_an_agent_that_ends_with_an_error_after_the_last_call_is_not_the_same(agent):
    replayed = replay(WEATHER, agent(TOP_LEVEL + "run(get_weather)\nraise ValueError('new')\n"))

    assert (replayed.verdict, replayed.ended, replayed.exit_code) == ("diverged", "raised", 1)
    assert [one.type for one in replayed.divergences] == ["output_mismatch"]


def test_an_agents_own_exit_status_is_kept_and_noted(agent):
    replayed = replay(WEATHER, agent(TOP_LEVEL + "run(get_weather)\nsys.exit(3)\n"))

    assert (replayed.verdict, replayed.exit_code) == ("same", 3)
    assert "the agent ended with exit status 3" in replayed.notes


def test_an_agent_that_is_cut_off_misses_its_calls(agent):
    replayed = replay(WEATHER, agent(TOP_LEVEL + "import os\nask('q')\nos._exit(9)\n"))

    (found,) = replayed.divergences
    assert (replayed.exit_code, found.type, found.recorded, replayed.not_reached) == (9, "missing_call", 2, 0)
    assert found.reason == "not reached: the agent's process ended with exit status 9 before it"


def test_of_the_calls_behind_an_end_the_first_is_named_and_the_others_are_counted(agent):
    replayed = replay(WEATHER, agent(TOP_LEVEL + "import os\nos._exit(9)\n"))

    assert [(one.type, one.recorded) for one in replayed.divergences] == [("missing_call", 1)]
    assert "1 recorded call was not reached before the agent's process ended with exit status 9" in replayed.notes


def test_an_agent_that_does_not_end_is_killed_and_not_comparable(agent):
    source = TOP_LEVEL + "run(get_weather)\nimport threading\nthreading.Event().wait()\n"

    replayed = replay(WEATHER, agent(source), timeout_s=4)

    assert (replayed.verdict, replayed.exit_status, replayed.ended) == ("not_comparable", 125, "timeout")


def test_calls_that_an_agent_had_no_time_for_are_not_reached_rather_than_missing(agent):
    replayed = replay(
        WEATHER, agent(TOP_LEVEL + "ask('q')\nimport threading\nthreading.Event().wait()\n"), timeout_s=30
    )

    assert (replayed.verdict, replayed.divergences, replayed.not_reached) == ("not_comparable", (), 1)
    assert "1 recorded call was not reached before its time was up" in replayed.notes


@pytest.mark.parametrize("ending", ["raise ValueError('new')\n", "os.kill(os.getpid(), 9)\n"])
def test_that_somebody_flagged_a_run_hides_no_other_end(agent, ending):
    flagged = dataclasses.replace(WEATHER, outcome="user_flagged")

    replayed = replay(flagged, agent(TOP_LEVEL + f"import os\nrun(get_weather)\n{ending}"))

    assert (replayed.verdict, [one.type for one in replayed.divergences]) == ("diverged", ["output_mismatch"])


def test_a_time_that_is_up_before_the_agent_starts_is_said(agent):
    with pytest.raises(ReplayError, match=r"had not started when its time of 0\.001 s was up"):
        replay(WEATHER, agent(TOP_LEVEL), timeout_s=0.001)


def test_an_agent_that_asks_for_ever_is_ended(agent):
    source = (
        TOP_LEVEL
        + "n = 0\nwhile True:\n    try:\n        n += 1\n        ask(f'x{n}')\n    except Exception:\n        pass\n"
    )

    replayed = replay(WEATHER, agent(source))

    assert replayed.verdict == "diverged"
    assert shape(replayed)[0] == ("input_mismatch", "llm", 1, "/messages/0/parts/0/content")


def test_a_request_to_no_model_is_a_network_attempt_and_does_not_go_out(agent):
    source = (
        TOP_LEVEL + "try:\n    httpx.get('https://api.example.com/orders/dana.fields@example.com')\n"
        "except httpx.ConnectError as error:\n    print(type(error).__name__)\nrun(get_weather)\n"
    )

    replayed = replay(WEATHER, agent(source))

    assert [(one.type, one.name) for one in replayed.divergences] == [("network_attempt", "GET api.example.com")]
    assert "dana" not in repr(replayed)


def test_a_socket_and_a_program_that_reaches_out_are_network_attempts_and_reach_nobody(agent):
    import socket

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    port = listener.getsockname()[1]
    source = TOP_LEVEL + (
        "import socket, subprocess\n"
        f"try:\n    socket.create_connection(('127.0.0.1', {port}), 2)\nexcept OSError as error:\n    pass\n"
        f"code = 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'\n"
        "subprocess.run([sys.executable, '-S', '-c', code], stderr=subprocess.DEVNULL)\nrun(get_weather)\n"
    )

    replayed = replay(WEATHER, agent(source))

    with listener, pytest.raises(BlockingIOError):
        listener.accept()
    assert replayed.verdict == "diverged"
    assert {one.type for one in replayed.divergences} == {"network_attempt"}
    assert any(f"127.0.0.1:{port}" in one.reason for one in replayed.divergences)
    assert len({attempt["pid"] for attempt in replayed.network}) == 2


def test_a_forked_process_is_answered_over_a_conversation_of_its_own(agent, capfd):
    source = TOP_LEVEL + (
        "import os, sys\nif not os.fork():\n    run(get_weather)\n    sys.stdout.flush()\n    os._exit(0)\nos.wait()\n"
    )

    replayed = replay(WEATHER, agent(source))

    assert (replayed.verdict, [one.type for one in replayed.divergences]) == ("same", [])
    assert capfd.readouterr().out == '{"temp_c": -3}\n'
    assert "a process that the agent forked was answered too" in replayed.notes


def test_a_library_that_cannot_be_answered_for_is_refused(agent):
    source = "from runreel.errors import RefusedError\nraise RefusedError('httpx 99.0 is not tested')\n"

    with pytest.raises(RefusedError, match=r"httpx 99\.0 is not tested"):
        replay(WEATHER, agent("def get_weather(city): ...\n" + source))


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("absent.py", "there is no script absent.py"),
        ("nowhere:main", "there is no module nowhere"),
        ("agent:absent", "agent has no absent to call"),
        ("broken:main", "broken does not import: ModuleNotFoundError"),
        ("syntax.py", "syntax.py, line 2 is no Python: invalid syntax"),
        ("syntax:main", "syntax.py, line 2 is no Python: invalid syntax"),
        ("nul.py", "nul.py is no Python: source code string cannot contain null bytes"),
        ("nul:main", "nul.py is no Python: source code string cannot contain null bytes"),
        ("latin.py", "latin.py, line 1 is no Python: .*'utf-8' codec"),
        ("latin:main", "latin.py, line 1 is no Python: .*'utf-8' codec"),
        ("codec.py", "codec.py is no Python: unknown encoding: nonsense"),
        ("folder", "folder is a folder: name the script in it, or give module:callable"),
        ("folder/in.py", "folder/in.py is a folder: name the script in it"),
        ("locked.py", "locked.py cannot be read: permission denied"),
        ("locked:main", "locked.py cannot be read: permission denied"),
        ("closed/agent.py", "closed/agent.py cannot be read: permission denied"),
    ],
)
def test_an_entry_that_cannot_be_run_is_named(agent, tmp_path, entry, problem):
    agent(
        "def get_weather(city): ...\n",
        broken="import not_there_at_all\ndef get_weather(city): ...\n",
        syntax="x = 1\ndef main(:\n",
        nul="x = 1\n\0\n",
        codec="# coding: nonsense\n",
        locked="x = 1\n",
    )
    (tmp_path / "latin.py").write_bytes(b"name = 'Andr\xe9'\n")
    (tmp_path / "folder" / "in.py").mkdir(parents=True)
    (tmp_path / "closed").mkdir(mode=0o000)
    (tmp_path / "locked.py").chmod(0o000)

    with pytest.raises(EntryPointError, match=problem) as caught:
        replay(WEATHER, entry)

    assert caught.value.exit_code == 64


def test_a_process_that_dies_before_the_agent_starts_is_an_error(agent, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(agent("", zipfile="import os\nos._exit(3)\n")).parent))
    agent("", time_machine="import os\nos._exit(3)\n")

    with pytest.raises(ReplayError, match="before the agent started"):
        replay(WEATHER, "agent.py")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"agent": None}, "does not say what to run"),
        ({"agent": "agent"}, "is no entry"),
        ({"agent": "a/b:c"}, "is no entry"),
        (
            {"agent": "a.py", "tools": {"absent": "m:f"}},
            "records no tool or retrieval named 'absent'; it records: get_weather",
        ),
        ({"agent": "a.py", "tools": {"get_weather": "f"}}, "NAME=module:function"),
        ({"agent": "a.py", "mode": "live"}, "mode 'live' is not known"),
        ({"agent": "a.py", "timeout_s": 0}, "a number of seconds above 0, not 0"),
        ({"agent": "a.py", "timeout_s": -1.5}, "a number of seconds above 0, not -1.5"),
        ({"agent": "a.py", "timeout_s": float("nan")}, "a number of seconds above 0, not nan"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_before_anything_starts(arguments, problem):
    with pytest.raises(UsageError, match=problem):
        replay(WEATHER, **arguments)


def recorded(**service):
    return Run("default", "r", "", (), "a", service=service)


def test_the_recorded_entry_is_the_default_with_its_arguments():
    by_recorder = recorded(**{"replay.agent.entry": "agent:main"})
    by_process = recorded(**{"process.command_args": ("/usr/bin/python3", "-u", "agent.py", "--city", "Oslo")})

    assert entry_of(by_recorder, None) == (Entry(module="agent", callable="main"), ())
    assert entry_of(by_process, None) == (Entry(script="agent.py"), ("--city", "Oslo"))
    assert entry_of(by_process, None, ["--city", "Rome"]) == (Entry(script="agent.py"), ("--city", "Rome"))
    assert entry_of(by_process, "other.py") == (Entry(script="other.py"), ())


def test_the_package_offers_replay_and_does_not_import_it_for_the_child():
    import runreel.replay

    assert runreel.replay.replay is replay
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        _ = runreel.replay.absent
    run_python("import sys, runreel.replay.child; assert 'runreel.replay.engine' not in sys.modules")


def test_the_agents_environment_has_no_credentials_and_what_a_replay_needs():
    given = {
        "OPENAI_API_KEY": "sk-real",
        "OTEL_SDK_DISABLED": "true",
        "MODEL_NAME": "gpt-4o-mini",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "EVENT_ONLY",
    }

    env = environment_of(given)

    assert "sk-real" not in env.values()
    assert (env["MODEL_NAME"], env["PYTHONHASHSEED"]) == ("gpt-4o-mini", "0")
    assert env["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] == "EVENT_ONLY"
    assert "OTEL_SDK_DISABLED" not in env
    assert environment_of({})["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] == "SPAN_ONLY"


def test_a_tool_that_a_model_asked_for_and_that_was_not_recorded_does_not_run_either(agent, capfd):
    asked_only = run_of(model_step(1, [msg("user", "q")], [call("get_weather", {"city": "Oslo"})], at=0))

    replayed = replay(asked_only, agent(TOP_LEVEL + "run(get_weather)\n"))

    assert shape(replayed) == [("unrecorded_call", "tool", None, "")]
    assert "AssertionError" not in capfd.readouterr().err
    assert any("nothing says what came of that" in note for note in replayed.notes)


def test_a_tool_that_was_asked_for_and_not_recorded_need_not_be_found(agent):
    asked_only = run_of(model_step(1, [msg("user", "q")], [call("get_weather", {"city": "Oslo"})], at=0))

    assert replay(asked_only, agent(ASK + "\nask('q')\n")).verdict == "same"
