"""The fidelity matrix for agents written with the recorder: what their code saw, it sees in a replay."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest

from kind_scenarios import KINDS
from otlp_sink import record
from redaction import KEY, redactor
from runreel.demo.model_server import serving
from runreel.replay.engine import replay
from runreel.runs.assemble import assemble

AGENT = str(Path(__file__).with_name("matrix_agent.py"))
GPT = ("llm", "gpt-4o-mini")
ANSWERED = {
    "sync": {GPT: 3, ("tool", "plain"): 3},
    "async": {GPT: 2, ("tool", "later"): 2},
    "generator": {GPT: 2, ("tool", "pieces"): 1},
    "asyncgenerator": {GPT: 2, ("tool", "pieces_later"): 1},
    "stream": {GPT: 2},
    "exceptions": {GPT: 4, ("tool", "failing"): 3},
    "bytes": {GPT: 2, ("tool", "octets"): 1},
    "images": {GPT: 2, ("tool", "picture"): 1},
    "large": {GPT: 2, ("tool", "large"): 1},
    "flaky": {GPT: 2, ("tool", "plain"): 1},
    "threads": {GPT: 8, ("tool", "plain"): 4},
    "subprocess": {GPT: 3, ("tool", "plain"): 3},
}
ADDED = {
    "contracts": {("tool", "refund"): 3, ("tool", "counted"): 4},
    "shadow": {("tool", "cancel"): 1},
    "memories": {("memory", "profile"): 5},
    "flags": {("memory", "flags"): 3},
    "prompts": {("memory", "prompts"): 2},
    "decisions": {},
    "models": {("llm", "tiny-1"): 3},
}
ALL = {**ANSWERED, **ADDED}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Record the agent with every case, then replay it in another environment; return what it printed each time."""
    file = tmp_path_factory.mktemp("matrix") / "calls"
    with pytest.MonkeyPatch.context() as patch, serving(KINDS) as model:
        patch.setenv("TOOL_CALLS", str(file))
        patch.setenv("BETA", "on")
        patch.setenv("PLAN", "v7")
        batch, printed = record(AGENT, *ALL, model_url=model.url)
        ran, asked = file.read_text(), len(model.bodies)
        clean = redactor().process(batch)
        run = assemble(clean.spans, clean.logs)
        patch.setenv("BETA", "off")
        patch.setenv("PLAN", "v8")
        with tempfile.TemporaryFile() as out:
            replayed = replay(run, AGENT, args=[*ALL], key=KEY.secret, stdout=out)
            out.seek(0)
            again = out.read().decode()
        assert (file.read_text(), len(model.bodies)) == (ran, asked)
    return by_case(printed), by_case(again), run, replayed


def by_case(printed):
    found, lines = {}, []
    for line in printed.splitlines():
        if line.startswith("CASE "):
            lines = found.setdefault(line.removeprefix("CASE "), [])
        else:
            lines.append(line)
    return found


@pytest.mark.parametrize("case", [*ALL, "drawn"])
def test_an_agent_with_the_recorder_sees_in_a_replay_what_it_saw_when_it_ran(case, both):
    before, after, _, _ = both

    assert before[case]
    assert after[case] == before[case]


def test_the_whole_replay_is_the_same_every_call_is_answered_and_no_body_ran_again(both):
    *_, replayed = both

    assert [(one.type, one.name, one.path, one.reason) for one in replayed.divergences] == []
    total = sum((Counter(answered) for answered in ALL.values()), Counter())
    assert (replayed.verdict, replayed.answered) == ("same", dict(total))


def test_the_record_holds_what_contracts_decided_flags_prompts_by_version_and_decisions(both):
    *_, run, _ = both

    contracts = [step.fields["contract"] for step in run.steps if "contract" in step.fields]
    assert [one["decision"] for one in contracts] == [
        "admit",
        "coerce",
        "coerce",
        "coerce",
        "reject",
        "reject",
        "reject",
    ]
    coerced = next(one for one in contracts if one["decision"] == "coerce")
    assert coerced["coerced_arguments"] == {"order": "A-2", "cents": 50}
    emitted = [run.value(step.input) for step in run.steps if step.name == "refund"]
    assert emitted[1] == {"order": "A-2", "cents": "50"}
    (shadowed,) = [step for step in run.steps if step.name == "cancel"]
    assert (shadowed.fields["mode"], shadowed.fields["side_effect"]) == ("shadow", True)
    assert run.flags == {"beta": "on", "limit": 7, "tiers": '["a",{"b":1.5}]'}
    assert run.prompt_versions["templates"]["planner"] == ("v7",)
    (decided,) = [step for step in run.steps if step.kind == "decision"]
    assert (decided.name, run.value(decided.output), decided.fields["type"]) == ("route", "refund", "route")
    assert (decided.fields["options"], decided.fields["reason"]) == (("refund", "ask"), "it was paid")
    assert (run.replayable, [gap for gap in run.gaps if gap.needed_for == "frozen"]) == ("full", [])


def test_two_processes_are_one_run_tree(both):
    *_, run, _ = both

    (sub,) = [step for step in run.steps if step.kind == "agent" and "process" in step.fields]
    assert run.steps[sub.parent].seq == 0
    assert len(run.trace_ids) == 1
    below = [step.name for step in run.steps if step.parent == sub.seq]
    assert below == ["gpt-4o-mini", "plain", "gpt-4o-mini", "plain", "plain", "gpt-4o-mini"]
