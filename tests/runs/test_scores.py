import pytest

from otlp_build import ROOT, T0, TID, agent, llm, msg
from runreel.runs.identity import group
from runreel.runs.scores import EVALUATION, flag_event
from runreel.values import LogEvent, Run, Span, Value
from span_kit import make_event, make_log, make_span, runs_of, spans_of

CALL = "00000000000000b1"


def spans(**attrs: Value) -> tuple[Span, ...]:
    return spans_of(agent(**attrs), llm(CALL, ROOT, [msg("user", "q")], [msg("assistant", "a")]))


def evaluation(name: str, span_id: str = CALL, at: int = 0, **more: Value) -> LogEvent:
    attributes = {"gen_ai.evaluation.name": name} | {f"gen_ai.evaluation.{key}": one for key, one in more.items()}
    return make_log(attributes, span_id, event_name=EVALUATION, time_ns=T0 + at)


def run_with(*logs: LogEvent, **attrs: Value) -> Run:
    (run,) = runs_of(spans(**attrs), logs)
    return run


def test_evaluations_are_scores_of_the_run_in_the_order_of_their_times() -> None:
    late = evaluation("relevance", at=5, **{"score.value": 0.25, "score.label": "low", "explanation": "long"})
    early = evaluation("correctness", ROOT, at=1, **{"score.value": "1"})

    run = run_with(late, early)

    assert run.scores == (
        {"name": "correctness", "value": 1, "step": 0},
        {"name": "relevance", "value": 0.25, "label": "low", "step": 1},
    )
    assert run.outcome == "ok"


def test_an_evaluation_may_be_an_event_of_the_span_or_belong_to_no_span() -> None:
    event = make_event(EVALUATION, gen_ai__evaluation__name="tone", gen_ai__evaluation__score__label="warm")
    span = make_span({"gen_ai.operation.name": "invoke_agent"}, events=(event,))

    (run,) = runs_of([span], [evaluation("length", "", **{"score.value": 3})])

    assert sorted(run.scores, key=str) == [{"name": "length", "value": 3}, {"name": "tone", "label": "warm", "step": 0}]


@pytest.mark.parametrize(
    ("name", "said", "outcome"),
    [
        ("user_feedback", {"score.value": 0}, "user_flagged"),
        ("user_feedback", {"score.value": -1.0}, "user_flagged"),
        ("User Feedback", {"score.label": "Thumbs down"}, "user_flagged"),
        ("user_feedback", {"score.value": 1}, "ok"),
        ("user_feedback", {"score.label": "good", "score.value": 0}, "ok"),
        ("user_feedback", {}, "ok"),
        ("relevance", {"score.value": 0}, "ok"),
    ],
)
def test_bad_feedback_of_a_user_flags_the_run(name: str, said: dict[str, Value], outcome: str) -> None:
    assert run_with(evaluation(name, **said)).outcome == outcome


def test_feedback_does_not_hide_how_the_run_ended() -> None:
    bad = evaluation("user_feedback", **{"score.value": 0})

    assert run_with(bad, **{"error.type": "Timeout"}).outcome == "error"
    assert run_with(bad, **{"replay.run.outcome": "aborted"}).outcome == "aborted"


def test_a_persons_flag_counts_always_and_each_is_kept() -> None:
    first = flag_event("default", TID, TID, "wrong city", T0 + 1)
    second = flag_event("default", TID, TID, "", T0 + 2)

    run = run_with(second, first, first, **{"error.type": "Timeout"})

    assert run.outcome == "user_flagged"
    assert run.flagged == ({"at_ns": T0 + 1, "reason": "wrong city"}, {"at_ns": T0 + 2})
    assert run_with().revision != run.revision


def test_a_flag_belongs_to_the_run_that_it_names() -> None:
    two = [
        make_span({"gen_ai.operation.name": "invoke_agent", "replay.run.id": name}, span_id=f"00000000000000a{place}")
        for place, name in enumerate(("one", "two"))
    ]
    event = flag_event("default", TID, "two", "", T0)

    found = group(two, [event])

    assert found["one"][1] == ()
    assert found["two"][1] == (event,)
