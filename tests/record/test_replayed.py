"""What a replay says of an agent with the recorder whose code has changed; and a run that goes on in a server."""

import tempfile
from pathlib import Path

import pytest

from otlp_sink import record
from redaction import KEY, redactor
from runreel.errors import RefusedError
from runreel.replay.engine import replay
from runreel.runs.assemble import assemble

AGENT = str(Path(__file__).with_name("changing_agent.py"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    file = tmp_path_factory.mktemp("changing") / "calls"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOOL_CALLS", str(file))
        batch, printed = record(AGENT, model_url="http://127.0.0.1:9")
        clean = redactor().process(batch)
        yield assemble(clean.spans, clean.logs), printed, file


def again(run, new=""):
    with tempfile.TemporaryFile() as out, pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEW", new)
        replayed = replay(run, AGENT, key=KEY.secret, stdout=out)
        out.seek(0)
        return replayed, out.read().decode()


def test_a_run_that_goes_on_in_a_server_is_one_tree_and_is_replayed_whole(recorded):
    run, printed, file = recorded
    ran = file.read_text()

    replayed, shown = again(run)

    assert [(step.kind, step.name, step.parent) for step in run.steps if step.kind != "memory"] == [
        ("agent", "changing", None),
        ("tool", "refund", 0),
        ("agent", "weather-server", 0),
        ("tool", "weather", 5),
        ("agent", "weather-server", 0),
        ("tool", "weather", 7),
        ("decision", "route", 0),
    ]
    assert (replayed.verdict, replayed.divergences, shown) == ("same", (), printed)
    assert replayed.answered[("tool", "weather")] == 2
    assert file.read_text() == ran == "refund\nrecall\nweather\nweather\n"


def test_a_contract_that_judges_otherwise_is_a_finding(recorded):
    replayed, shown = again(recorded[0], "contract")

    (first, *_) = replayed.divergences
    assert (first.type, first.name, first.path) == ("decision_mismatch", "refund", "/contract/decision")
    assert (first.was, first.now, replayed.verdict) == ("coerce", "reject", "diverged")
    assert "refund: /cents: minimum" in shown


def test_a_memory_that_lost_its_boundary_is_a_finding(recorded):
    run, _, file = recorded
    ran = file.read_text()

    replayed, _ = again(run, "memory")

    assert [(one.type, one.kind, one.name) for one in replayed.divergences] == [("missing_call", "memory", "profile")]
    assert file.read_text() == ran + "recall\n"


def test_a_memory_that_nothing_here_stands_for_is_refused_by_its_name(recorded, tmp_path):
    script = tmp_path / "without.py"
    script.write_text("import runreel.record\n")

    with pytest.raises(RefusedError, match=r"unstubbed: .*profile"):
        replay(recorded[0], str(script))


def test_a_prompt_is_the_recorded_one_and_a_flag_too_whatever_the_code_says_now(recorded):
    run, printed, _ = recorded

    replayed, shown = again(run, "everything")

    assert (replayed.verdict, shown) == ("same", printed)
    (note,) = [one for one in replayed.notes if "planner" in one]
    assert note.startswith(
        "prompt planner: its text in the code is another one than in the record; the agent was given"
    )


def test_a_prompt_of_another_version_is_the_recorded_one_and_noted(recorded):
    run, printed, _ = recorded

    replayed, shown = again(run, "version")

    assert (replayed.verdict, shown.splitlines()[-2]) == ("same", printed.splitlines()[-2])
    assert [one for one in replayed.notes if "critic" in one] == [
        (
            "prompt critic: its version in the code is another one than in the record; the agent was given the "
            "recorded one, version v1"
        )
    ]


def test_a_prompt_that_the_code_has_as_it_was_is_not_noted(recorded):
    replayed, _ = again(recorded[0])

    assert [one for one in replayed.notes if one.startswith("prompt ")] == []


def test_a_flag_that_was_not_read_is_a_finding(recorded):
    replayed, _ = again(recorded[0], "flag")

    assert (replayed.divergences[0].type, replayed.divergences[0].name) == ("unrecorded_call", "flags")


def test_a_decision_that_goes_another_way_is_a_finding(recorded):
    replayed, _ = again(recorded[0], "decision")

    (found,) = replayed.divergences
    assert (found.type, found.name, found.was, found.now) == ("decision_mismatch", "route", "refund", "ask")
