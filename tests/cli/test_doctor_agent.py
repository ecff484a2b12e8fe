"""`runreel doctor --agent`: what it prints, its object, its exit codes."""

import io
import json

import pytest
from rich.console import Console

from looking_kit import installed, project  # noqa: F401 - fixtures
from runreel import cli
from runreel.cli import common, doctor_agent
from runreel.cli.checks import Check

AGENT = (
    "import openai\n"
    "from openinference.instrumentation.openai import OpenAIInstrumentor\n"
    "from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter\n"
    "OpenAIInstrumentor().instrument()\n"
    "def search(q): ...\n"
    "Agent(tools=[search])\n"
)


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SDK_DISABLED"):
        monkeypatch.delenv(name, raising=False)


def test_an_agent_with_nothing_to_do_ends_with_0(project, capsys):  # noqa: F811
    project(agent=AGENT)

    code = cli.main(["doctor", "--agent", "agent.py"])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert lines[0] == "agent.py: 1 file read (agent.py), nothing run"
    assert "  ok    search           function __main__:search, answered in its place" in lines
    assert lines[-4:] == [
        "  runreel serve &",
        "  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 python agent.py",
        "  runreel runs show last",
        "  runreel replay last --agent agent.py",
    ]


def test_an_agent_with_something_to_do_ends_with_1_and_each_fix(project, capsys):  # noqa: F811
    project(agent="import openai\n")

    code = cli.main(["doctor", "--agent", "agent.py"])

    out = capsys.readouterr().out
    assert code == 1
    assert "→ pip install opentelemetry-instrumentation-genai-openai, then OpenAIInstrumentor().instrument()" in out


def test_the_object_has_every_finding_and_what_to_type(project, capsys):  # noqa: F811
    project(agent=AGENT)

    code = cli.main(["doctor", "--agent", "agent.py", "--json"])

    document = json.loads(capsys.readouterr().out)
    assert (code, list(document)) == (0, ["well", "agent", "files", "findings", "next"])
    assert (document["well"], document["agent"], document["files"]) == (True, "agent.py", ["agent.py"])
    assert {tuple(one) for one in document["findings"]} == {("part", "name", "state", "says", "fix")}
    assert {one["part"] for one in document["findings"]} == {"recorded", "tools", "models", "transports", "machine"}


@pytest.mark.parametrize("entry", ["nothing.py", "nothing:main", "agent", "agent:run", "."])
def test_an_entry_that_is_none_ends_with_64(entry, project, capsys):  # noqa: F811
    project(agent="def main(): ...")

    code = cli.main(["doctor", "--agent", entry])

    said = capsys.readouterr()
    assert (code, said.out) == (64, "")
    assert said.err.startswith("runreel: ")


def test_a_machine_without_walls_is_something_to_do(project, monkeypatch, capsys):  # noqa: F811
    project(agent=AGENT)
    monkeypatch.setattr(doctor_agent, "sandbox", lambda: Check("sandbox", "todo", "no walls", "use Linux"))

    assert cli.main(["doctor", "--agent", "agent.py"]) == 1
    assert "→ use Linux" in capsys.readouterr().out


def test_on_a_terminal_no_line_is_wider_than_it(project, monkeypatch):  # noqa: F811
    project(agent="import openai\nfrom library import thing\nAgent(tools=[thing.with_a_name_that_is_rather_long()])\n")
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr(common, "console", lambda: console)

    cli.main(["doctor", "--agent", "agent.py"])

    lines = out.getvalue().splitlines()
    assert len(lines) > 20
    assert [line for line in lines if len(line) > 80] == []


def test_the_files_of_a_large_agent_are_counted_and_the_first_ones_named(project, capsys):  # noqa: F811
    names = [f"m{number}" for number in range(9)]
    project(agent="\n".join(f"import {name}" for name in names), **dict.fromkeys(names, ""))

    cli.main(["doctor", "--agent", "agent.py"])

    assert capsys.readouterr().out.splitlines()[0].endswith(" and 4 more), nothing run")
