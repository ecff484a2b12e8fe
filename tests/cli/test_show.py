"""What `runs show` says of a run beside its steps: flags and scores; and decisions among them."""

from io import StringIO

from rich.console import Console

from otlp_build import ROOT, T0, TID, agent, llm, msg, span
from runreel.cli import show
from runreel.runs.scores import EVALUATION, flag_event
from runreel.values import LogEvent
from span_kit import make_log, runs_of, spans_of


def shown(*logs: LogEvent, more: tuple[object, ...] = ()) -> str:
    (run,) = runs_of(spans_of(agent(), llm("00000000000000b1", ROOT, [msg("user", "q")], [], at=1), *more), logs)
    out = StringIO()
    show.tree(Console(file=out, width=120, highlight=False), run)
    return out.getvalue()


def evaluation(**more: object) -> LogEvent:
    attributes = {f"gen_ai.evaluation.{key.replace('__', '.')}": value for key, value in more.items()}
    return make_log(attributes, event_name=EVALUATION)  # type: ignore[arg-type]


def test_flags_and_scores_stand_above_the_steps() -> None:
    text = shown(
        flag_event("default", TID, TID, "wrong \x1b[31mcity", T0),
        flag_event("default", TID, TID, "", T0 + 1),
        evaluation(name="tone", score__value=0.5, score__label="cold"),
        evaluation(score__value=1),
    )

    assert "user_flagged" in text
    assert "\x1b" not in text
    assert "  flagged: wrong " in text
    assert "  flagged: without a reason\n" in text
    assert "  score: tone 0.5 cold (#1)\n" in text
    assert "  score: without a name 1 (#1)\n" in text


def test_a_decision_shows_its_type_and_what_was_chosen() -> None:
    attrs = {"replay.decision.type": "route", "replay.decision.chosen": "refund"}

    assert "decision pick  route → refund" in shown(more=(span("pick", "00000000000000d1", ROOT, at=5, attrs=attrs),))
