"""A dry look says what a replay would answer, runs nothing of the agent, and names what to type next."""

import sys

import pytest

from looking_kit import installed, project  # noqa: F401 - fixtures
from runreel.errors import EntryPointError, UsageError
from runreel.replay.looking import look


def of(looked, part):
    return {one.name: one for one in looked.findings if one.part == part}


@pytest.mark.parametrize("entry", ["agent.py", "agent:main"])
def test_nothing_of_the_agent_runs_and_nothing_is_imported(entry, project):  # noqa: F811
    project(agent="import kit\nraise SystemExit('it ran')\ndef main(): ...", kit="open('ran', 'w')")
    before, path, argv = set(sys.modules), list(sys.path), list(sys.argv)

    looked = look(entry)

    assert looked.files == ("agent.py", "kit.py")
    assert not {"agent", "kit"} & (set(sys.modules) - before)
    assert (sys.path, sys.argv) == (path, argv)


@pytest.mark.parametrize(
    ("entry", "error", "says"),
    [
        ("nothing.py", EntryPointError, "there is no script nothing.py"),
        ("nothing:main", EntryPointError, "there is no module nothing"),
        ("agent:run", EntryPointError, "agent has no run to call"),
        ("agent", UsageError, "'agent' is no entry"),
        (".", EntryPointError, "is a folder"),
        ("broken.py", EntryPointError, "is no Python"),
    ],
)
def test_an_entry_that_is_none_is_refused_with_the_reason(entry, error, says, project):  # noqa: F811
    project(agent="def main(): ...", broken="def (")

    with pytest.raises(error, match=says):
        look(entry)


@pytest.mark.parametrize("source", ["from kit import *\n", "def __getattr__(name): ...\n", "main = make()\n"])
def test_a_callable_that_only_running_could_show_passes(source, project):  # noqa: F811
    project(agent=source, kit="")

    assert look("agent:main").agent == "agent:main"


def test_each_tool_has_what_would_answer_it(project):  # noqa: F811
    project(
        agent="import runreel.record as rr\nfrom kit import search\n@rr.tool\ndef pay(x): ...\n"
        "Agent(tools=[search, pay, Tool(name='mail', func=library.make())])\n",
        kit="def search(q): ...\n",
    )

    found = of(look("agent.py"), "tools")

    assert {name: one.state for name, one in found.items()} == {"mail": "todo", "pay": "ok", "search": "ok"}
    assert found["pay"].says == "a boundary of runreel.record"
    assert found["search"].says == "function kit:search, answered in its place"
    assert found["mail"].fix.startswith("replay with --tool mail=MODULE:FUNCTION")


def test_several_functions_of_one_name_are_told_with_the_way_out(project):  # noqa: F811
    project(agent="import kit\ndef search(q): ...\nAgent(tools=[search])", kit="def search(q): ...\n")

    found = of(look("agent.py"), "tools")["search"]

    assert (found.state, found.says.startswith("the name of 2 functions")) == ("note", True)
    assert "--tool search=" in found.says


def test_a_registered_tool_is_answered_where_it_is_registered(project):  # noqa: F811
    project(agent="Agent(tools=[Tool(name='search', func=lambda q: q)])")

    assert "registered at agent.py:1" in of(look("agent.py"), "tools")["search"].says


@pytest.mark.parametrize(("version", "state"), [("1.8.3", "ok"), ("0.1.0", "todo")])
def test_what_only_a_framework_knows_is_answered_in_tested_versions(version, state, project, installed):  # noqa: F811
    installed("langchain-core", version)
    project(agent="from langchain_core import Agent\nfrom web import Search\nAgent(tools=[Search()])")

    found = of(look("agent.py"), "tools")

    assert (found["Search(...)"].state, found["LangChain"].state) == (state, state)


def test_an_untested_framework_is_no_fault_where_all_tools_are_functions(project, installed):  # noqa: F811
    installed("langchain-core", "0.1.0")
    project(agent="from langchain_core import Agent\ndef search(q): ...\nAgent(tools=[search])")

    assert of(look("agent.py"), "tools")["LangChain"].state == "note"


def test_no_tools_are_a_note(project):  # noqa: F811
    project(agent="import json")

    assert of(look("agent.py"), "tools")["tools"].state == "note"


def test_a_module_that_cannot_be_read_is_a_thing_to_do(project):  # noqa: F811
    project(agent="import broken", broken="def (")

    assert "broken.py is no Python" in of(look("agent.py"), "tools")["source"].says


@pytest.mark.parametrize(
    ("package", "version", "module", "state"),
    [
        ("openai", "3.57.0", "openai", "ok"),
        ("anthropic", "2.14.0", "anthropic", "ok"),
        ("boto3", "1.40.0", "boto3", "todo"),
    ],
)
def test_each_model_client_is_answered_or_a_thing_to_do(package, version, module, state, project, installed):  # noqa: F811
    installed(package, version)
    project(agent=f"import {module}")

    (found,) = of(look("agent.py"), "models").values()

    assert (found.state, found.says.startswith(f"{package} {version}: ")) == (state, True)


def test_a_client_that_is_not_installed_here_is_looked_at_in_the_wrong_place(project):  # noqa: F811
    project(agent="import cohere")

    (found,) = of(look("agent.py"), "models").values()

    assert (found.state, found.fix.startswith("run this in the agent's own environment")) == ("todo", True)


def test_an_http_library_outside_the_tested_range_is_a_thing_to_do(project, installed):  # noqa: F811
    installed("httpx", "0.1.0")
    project(agent="import json")

    found = of(look("agent.py"), "transports")["httpx"]

    assert (found.state, found.fix) == ("todo", "pip install 'httpx>=0.24,<1'")


def test_what_to_type_next_has_the_settings_that_are_missing(project):  # noqa: F811
    module = "opentelemetry.instrumentation.genai.openai"
    project(agent=f"import openai\nfrom {module} import OpenAIInstrumentor\nOpenAIInstrumentor().instrument()\n")

    assert look("agent.py", env={}).next == (
        "runreel serve &",
        (
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 "
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY python agent.py"
        ),
        "runreel runs show last",
        "runreel replay last --agent agent.py",
    )


def test_a_callable_is_started_by_the_program_that_has_it(project):  # noqa: F811
    project(agent="def main(): ...")

    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4317"}

    assert look("agent:main", env=env).next[1] == "your program that calls agent:main"
