"""How a run ended is compared as its own root says it: an answer that is missing, an error, an exit status."""

import pytest

from golden_kit import edit, project, receipt_reel
from golden_kit import packed as packed_reel
from otlp_sink import record
from run_kit import called, run, said, step
from runreel.demo import model_server
from runreel.goldens import folder as goldens
from runreel.replay.ending import difference
from runreel.replay.engine import replay

ERROR = ("ValueError", "it broke", "")
EXIT_3, EXIT_4 = ("SystemExit", "3", ""), ("SystemExit", "4", "")


def made(root_error=None, answer="42", model="fine", final=None, **root):
    """A run of an agent with one model call."""
    steps = [
        step("agent", "desk", "q", answer, error=root_error, **root),
        step("llm", "m", [said("user", "q")], model and [said("assistant", model)], parent=0),
    ]
    found = run(*steps)
    return run(*steps, final_output=found.steps[0].output if final is None else final)


@pytest.mark.parametrize(
    ("was", "now", "reason"),
    [
        (made(), made(), None),
        (made(), made(ERROR), "ended with an error; the recorded run ended well"),
        (made(ERROR), made(), "ended well; the recorded run ended with an error"),
        (made(ERROR), made(("KeyError", "other", "")), None),
        (made(), made(EXIT_3), "ended with exit status 3; the recorded run ended well"),
        (made(EXIT_3), made(EXIT_4), "ended with exit status 4; the recorded run ended with exit status 3"),
        (made(), made(answer=None), "gives no answer any more"),
        (made(answer=None), made(), None),
    ],
)
def test_what_the_root_says_of_the_end_is_compared(was, now, reason):
    found = difference(was, now)

    assert (found is None) == (reason is None)
    assert reason is None or reason in found.reason


@pytest.mark.parametrize(
    "now",
    [
        made(answer=None, model=None),  # the replay records no content: that there is none says nothing
        run(step("llm", "m", [said("user", "q")], [said("assistant", "fine")]), final_output=made().final_output),
        run(step("agent", "a", None, "1", error=ERROR), step("agent", "b"), final_output=made().final_output),
    ],
)
def test_where_nothing_is_known_nothing_is_said(now):
    assert difference(made(), now) is None


def test_an_answer_that_only_the_run_gave_is_missed_where_the_last_turn_asks_for_a_tool():
    now = run(step("llm", "m", [said("user", "q")], [called(("1", "refund", {}))]))

    assert "gives no answer any more" in difference(made(), now).reason


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    batch = goldens.batch_of(receipt_reel(), "receipt")
    return goldens.run_of(batch[1], batch[0])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("        run.answer(text)\n", "", "gives no answer any more"),
        ("run.answer(text)\n", "run.answer(text)\n        raise SystemExit(3)\n", "ended with exit status 3"),
        ("run.answer(text)\n", "run.answer(text)\n        raise SystemExit(0)\n", ""),
        ("        run.answer(text)\n    print(text)\n", "        run.answer(text)\n", ""),
    ],
)
def test_an_agent_that_ends_otherwise_has_diverged(recorded, tmp_path, monkeypatch, old, new, reason):
    edit(project(tmp_path), (old, new))
    monkeypatch.chdir(tmp_path)

    replayed = replay(recorded, "agent.py")

    assert replayed.verdict == ("diverged" if reason else "same")
    assert [reason in one.reason for one in replayed.divergences] == [True] * bool(reason)


def test_an_exit_status_that_was_recorded_comes_again(tmp_path, monkeypatch):
    edit(project(tmp_path), ("run.answer(text)\n", "run.answer(text)\n        raise SystemExit(3)\n"))
    monkeypatch.chdir(tmp_path)
    with model_server.serving(model_server.DEMO) as model:
        batch, _ = record("agent.py", cwd=tmp_path, model_url=model.url, status=3)
    run_id, rows = goldens.batch_of(packed_reel(batch), "exit")
    exited = goldens.run_of(rows, run_id)

    same = replay(exited, "agent.py")
    edit(tmp_path, ("SystemExit(3)", "SystemExit(0)"))
    other = replay(exited, "agent.py")

    assert (exited.outcome, same.verdict, other.verdict) == ("error", "same", "diverged")
    assert "ended well; the recorded run ended with exit status 3" in other.divergences[0].reason
