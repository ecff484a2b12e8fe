"""The fidelity matrix: agents that know nothing of RunReel see in a replay what they saw when they really ran."""

import os
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from kind_scenarios import KINDS
from otlp_sink import record
from recorded_runs import KEY
from runreel.demo.model_server import Turn, serving
from runreel.replay.engine import replay
from runreel.runs.assemble import assemble

AGENT = str(Path(__file__).with_name("kinds_agent.py"))
AGENTS = str(Path(__file__).parents[2] / "agents")
SCENARIOS = {
    **KINDS,
    "sub": (Turn(calls=(("inner_weather", '{"city": "Oslo"}'),)), Turn("Oslo is -3 C.")),
    "plain": (Turn("Understood."),),
}
ANSWERED = {
    "sync": {("llm", "gpt-4o-mini"): 3, ("tool", "plain"): 3},
    "async": {("llm", "gpt-4o-mini"): 2, ("tool", "later"): 2},
    "generator": {("llm", "gpt-4o-mini"): 2, ("tool", "pieces"): 1},
    "asyncgenerator": {("llm", "gpt-4o-mini"): 2, ("tool", "pieces_later"): 1},
    "stream": {("llm", "gpt-4o-mini"): 2},
    "exceptions": {("llm", "gpt-4o-mini"): 4, ("tool", "failing"): 3},
    "bytes": {("llm", "gpt-4o-mini"): 2, ("tool", "octets"): 1},
    "images": {("llm", "gpt-4o-mini"): 2, ("tool", "picture"): 1},
    "large": {("llm", "gpt-4o-mini"): 2, ("tool", "large"): 1},
    "flaky": {("llm", "gpt-4o-mini"): 2, ("tool", "plain"): 1},
    "threads": {("llm", "gpt-4o-mini"): 8, ("tool", "plain"): 4},
    "subprocess": {("llm", "gpt-4o-mini"): 3, ("tool", "inner_weather"): 1},
}


@pytest.fixture(scope="module")
def both(redactor, tmp_path_factory):
    """Record the agent with every case, then replay it; return what it printed for each case, before and after."""
    file = tmp_path_factory.mktemp("matrix") / "calls"
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", AGENTS, prepend=os.pathsep)
    patch.setenv("TOOL_CALLS", str(file))
    with patch.context(), serving(SCENARIOS) as model:
        batch, printed = record(AGENT, *ANSWERED, model_url=model.url)
        ran, asked = file.read_text(), len(model.bodies)
        clean = redactor.process(batch)
        run = assemble(clean.spans, clean.logs)
        with tempfile.TemporaryFile() as out:
            replayed = replay(run, AGENT, args=[*ANSWERED], key=KEY.secret, stdout=out)
            out.seek(0)
            again = out.read().decode()
        assert (file.read_text(), len(model.bodies)) == (ran, asked)
    patch.undo()
    return by_case(printed), by_case(again), replayed


def by_case(printed):
    found, lines = {}, []
    for line in printed.splitlines():
        if line.startswith("CASE "):
            lines = found.setdefault(line.removeprefix("CASE "), [])
        else:
            lines.append(line)
    return found


@pytest.mark.parametrize("case", ANSWERED)
def test_an_unmodified_agent_sees_in_a_replay_what_it_saw_when_it_ran(case, both):
    before, after, _ = both

    assert before[case]
    assert after[case] == before[case]


def test_the_whole_replay_is_the_same_every_call_is_answered_and_no_tool_ran_again(both):
    _, _, replayed = both

    assert [(one.type, one.name, one.path, one.reason) for one in replayed.divergences] == []
    total = sum((Counter(answered) for answered in ANSWERED.values()), Counter())
    assert (replayed.verdict, replayed.answered) == ("same", dict(total))


def test_the_report_says_that_a_program_was_answered(both):
    _, _, replayed = both

    assert "sub_agent.py, a program that the agent started, was answered too" in replayed.notes
    (said,) = [note for note in replayed.notes if "another process (sub-agent)" in note]
    assert said.endswith("answered from the record")
