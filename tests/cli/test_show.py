"""What `runs show` says of a run beside its steps: flags and scores; and decisions among them."""

from io import StringIO

from rich.console import Console

from otlp_build import ROOT, T0, TID, agent, llm, msg, span
from runreel.cli import show
from runreel.runs.scores import EVALUATION, flag_event
from runreel.values import LogEvent
from span_kit import captured_run, make_log, runs_of, spans_of


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


def test_a_memory_shows_which_record_was_read() -> None:
    attrs = {
        "gen_ai.operation.name": "search_memory",
        "replay.memory.store": "mcp",
        "replay.memory.op": "search",
        "replay.memory.key": "tools/list",
        "replay.memory.input": '{"request": "tools/list"}',
    }

    assert "memory mcp  tools/list" in shown(more=(span("search mcp", "00000000000000d1", ROOT, at=5, attrs=attrs),))


def drawn(capture: str, width: int = 80) -> list[str]:
    out = StringIO()
    show.tree(Console(file=out, width=width, force_terminal=True, color_system=None), captured_run(capture))
    return out.getvalue().splitlines()


def test_a_thing_to_do_is_said_once_below_all_that_it_would_bring() -> None:
    lines = drawn("pydantic-ai/content-off")
    missing = lines[lines.index("missing") + 1 :]

    assert [line for line in missing if line.startswith("    →")] == [
        "    → set include_content=True (its default) in the agent's"
    ]
    assert missing[0].startswith("  #1, #4, #6 input (for frozen): withheld: content_off: ")
    assert sum(line.startswith("  #") for line in missing) == 5


def test_a_gap_of_many_steps_names_the_first_ones_and_counts_the_others() -> None:
    calls = [llm(f"{number:016x}", ROOT, [], [], at=number) for number in range(177, 187)]
    (run,) = runs_of(spans_of(agent(), *calls))
    out = StringIO()
    show.tree(Console(file=out, width=200, highlight=False), run)

    assert "  #1, #2, #3, #4, #5, #6, #7, #8 and 2 more input (for frozen): " in out.getvalue()


def test_what_a_model_decided_is_seen_before_a_narrow_terminal_cuts() -> None:
    (line,) = [line for line in drawn("openai-agents/openinference") if "#4 llm" in line]

    assert "  calls get_weather ×2  " in line
    assert len(line) <= 80


def test_no_text_is_cut_inside_a_token() -> None:
    assert show.brief("a" * 90 + "<EMAIL_9d020169> b") == "a" * 90 + "…"
    assert show.brief("a" * 80 + "<EMAIL_9d020169> and more") == "a" * 80 + "<EMAIL_9d020169> an…"
    assert show.brief("<EMAIL_9d020169>") == "<EMAIL_9d020169>"
