import pytest

from otlp_build import ROOT, T0, TID, agent, llm, msg
from runreel.runs.document import result_document, result_from_document
from runreel.runs.replayed import replay_id, replays_of, result_event
from runreel.semconv import keys
from runreel.values import ReplayResult
from span_kit import make_log, runs_of, spans_of

DIVERGED = ReplayResult(
    "frozen", "diverged", 3, {"type": "input_mismatch", "step": 4, "kind": "tool", "name": "search", "path": "/q"}
)
SAME = ReplayResult("frozen", "same")


def run_with(*logs):
    spans = spans_of(agent(), llm("00000000000000b1", ROOT, [msg("user", "q")], [msg("assistant", "a")]))
    (run,) = runs_of(spans, logs)
    return run


@pytest.mark.parametrize("result", [DIVERGED, SAME])
def test_a_result_comes_back_from_its_event_and_from_its_document(result: ReplayResult) -> None:
    run = run_with(result_event("default", TID, TID, "run-1", result, T0))

    assert run.replay_result == result
    assert run.replay_of == "run-1"
    assert result_from_document(result_document(result)) == result


def test_a_run_without_such_an_event_has_no_result() -> None:
    assert run_with().replay_result is None
    assert result_document(None) is None
    assert result_from_document(None) is None


def test_the_latest_event_counts_whichever_came_first() -> None:
    late, early = (result_event("default", TID, TID, "run-1", one, T0 + at) for one, at in ((SAME, 9), (DIVERGED, 1)))

    assert run_with(late, early).replay_result == run_with(early, late).replay_result == SAME


def test_an_event_of_somebody_elses_may_say_anything() -> None:
    odd = make_log({keys.REPLAY_DIVERGENCES: "many", keys.FIRST_STEP: b"x"}, "", event_name=keys.RESULT_EVENT)

    assert run_with(odd).replay_result == ReplayResult("", "", 0, {})


def test_an_outcome_that_the_spans_cannot_tell_may_stand_in_the_event() -> None:
    event = result_event("default", TID, TID, "run-1", DIVERGED, T0, outcome="aborted")

    assert run_with(event).outcome == "aborted"


def test_the_id_of_a_replay_begins_with_what_all_replays_of_its_run_begin_with() -> None:
    assert replay_id("run-1", "7f3a").startswith(replays_of("run-1"))
    assert not replay_id("run-10", "7f3a").startswith(replays_of("run-1"))
