from dataclasses import replace

import pytest

from page_kit import foreign, parsed
from recorded_runs import run_of_capture
from run_kit import desk, run, said, step
from runreel.canonical import freeze
from runreel.pages.report import brief, report, took, usage
from runreel.values import Gap


def test_every_step_is_on_the_time_line_and_whole_below_it() -> None:
    found = parsed(report(desk()))

    assert foreign(found) == []
    assert [name for name in found.values("id") if name.startswith("s")] == [f"s{n}" for n in range(6)]
    assert found.values("href")[:6] == [f"#s{n}" for n in range(6)]
    for piece in ("Be brief.", "Refund A-1.", '"cents": 4900', "calls refund", '{"ok": true}', "10 → 5 tokens"):
        assert piece in found.text


def test_a_recorded_run_shows_its_tools_parameters_and_verdict() -> None:
    text = parsed(report(run_of_capture("otel-genai-openai/content-span"))).text

    for piece in ("Tools on offer", "Parameters", '"temperature": 0', "Nothing is missing", "replayable: full"):
        assert piece in text
    assert "the same as in step 1, tools" in text


def test_what_is_missing_is_told_once_with_what_to_do() -> None:
    gaps = [Gap(n, "output", "frozen", "content is off", "set CAPTURE=1") for n in range(20)]
    found = parsed(report(replace(desk(), gaps=(*gaps, Gap(None, "versions", "live", "no commit", "set REV")))))

    assert found.text.count("set CAPTURE=1") == 1
    assert "and 8 more output (for frozen): content is off" in found.text
    assert "run versions (for live): no commit" in found.text


def test_links_for_every_level_lead_to_a_place_in_the_page() -> None:
    found = parsed(report(replace(desk(), gaps=(Gap(3, "input", "frozen", "x", "y"),))))

    assert {link[1:] for link in found.values("href")} <= set(found.values("id"))


def test_a_tool_call_shows_what_its_contract_said_and_that_it_has_effects() -> None:
    contract = {"decision": "coerce", "reason": "amount was a text", "coerced_arguments": {"cents": 1}}
    page = report(run(step("tool", "pay", {"cents": "1"}, "ok", fields={"contract": contract, "side_effect": True})))

    assert '<span class="badge warn">contract: coerce</span>' in page
    assert '<span class="badge warn">side effect</span>' in page
    assert "amount was a text" in parsed(page).text


def test_a_failed_step_is_open_and_shows_its_error_and_stack() -> None:
    page = report(run(step("tool", "get", {}, None, error=("KeyError", "'x'", "Traceback: here"))))

    assert '<details id="s0" class="stop" open>' in page
    assert "KeyError: 'x'" in parsed(page).text
    assert "Traceback: here" in parsed(page).text


def test_what_is_known_of_a_run_stands_above_its_steps() -> None:
    one = run(
        step("llm", "m", "x", "y", after=(), fields={"usage": {"input_tokens": 1200}}),
        step("llm", "m", "x", "y", shadowed_by=0),
        step("tool", "t", "x", "y", synthesised=True, call_id="c1"),
        step("retrieval", "kb", "q", []),
        replay_of="run-0",
        parent_run_id="above",
        versions={"code": "abc", "tools": ("a",)},
        flagged=({"reason": ""},),
        scores=({"name": "good", "value": 1},),
        notes=("late spans",),
        open=True,
    )

    text = parsed(report(one)).text

    for piece in (
        "run-0", "above (linked)", 'code abc, tools ["a"]', "without a reason", "name good, value 1", "late spans",
        "the same call as step 0", "no span of its own", "call c1", "1 model call, 1 tool call, 1 retrieval", "open",
        "1,200 → ? tokens",
    ):  # fmt: skip
        assert piece in text


def test_a_run_of_40_steps_with_its_whole_history_stays_below_2_mb() -> None:
    history, steps = [said("system", "You are thorough. " * 100)], []
    for n in range(40):
        history += [said("user", f"question {n} " * 200)]
        steps.append(step("llm", "m", list(history), [said("assistant", f"answer {n} " * 200)]))
        history += [said("assistant", f"answer {n} " * 200)]

    page = report(run(*steps))

    assert len(page.encode()) < 2_000_000
    assert "not in this page" not in page
    assert all(f"question {n} question" in page for n in range(40))


def test_the_page_of_a_run_grows_with_its_steps_and_not_with_their_square() -> None:
    def size(steps: int) -> int:
        history, made = [said("system", "x")], []
        for n in range(steps):
            history += [said("user", f"question {n}"), said("assistant", f"answer {n}")]
            made.append(
                step("llm", "m", list(history), [said("assistant", f"done {n}")], after=range(max(0, n - 1), n))
            )
        return len(report(run(*made)))

    assert size(200) - size(100) < 1.2 * (size(100) - size(0))


def test_an_empty_run_has_a_page() -> None:
    assert foreign(parsed(report(run()))) == []


@pytest.mark.parametrize(
    ("ns", "text"), [(-5, "0.0 ms"), (1_500_000, "1.5 ms"), (250_000_000, "250 ms"), (61 * 10**9, "61.00 s")]
)
def test_durations_are_for_people(ns: int, text: str) -> None:
    assert took(ns) == text


def test_tokens_that_nobody_counted_are_not_told() -> None:
    assert [usage(one) for one in run(step("llm"), step("llm", fields={"usage": {}})).steps] == ["", ""]


def test_values_in_brief_are_the_last_words_of_messages() -> None:
    assert brief(freeze([said("user", "Hi"), said("assistant", "Done\nnow")]), 90) == "Done now"
    assert brief(freeze({"a": 1}), 90) == "{'a': 1}"
    assert brief("x" * 100, 10) == "xxxxxxxxx…"
