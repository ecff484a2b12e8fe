import re
from dataclasses import replace

from page_kit import foreign, parsed
from run_kit import desk, run, said, step
from runreel.pages.comparison import comparison, replay_alone
from runreel.replay.diff import diff
from runreel.values import Run

REPLAYED = {
    "run_id": "run-1",
    "verdict": "diverged",
    "mode": "frozen",
    "live_calls": 0,
    "divergences": [
        {
            "type": "input_mismatch",
            "fails": True,
            "step": 4,
            "kind": "tool",
            "name": "refund",
            "path": "/cents",
            "was": "4900",
            "now": "100",
            "reason": "the value is another one",
            "advice": "look at the code",
        }
    ],
    "masks": [{"mask": "tool:refund/id", "hid": 2}],
    "notes": ["no key"],
    "isolation": "namespaces",
}


def of(a: Run, b: Run, *masks: str) -> str:
    return comparison(diff(a, b, masks), a, b)


def test_the_first_divergence_is_named_first_and_open() -> None:
    page = of(desk(), desk(prompt="Be kind.", cents=100, run_id="run-2"))
    found = parsed(page)

    assert foreign(found) == []
    assert "First divergence: step 1, llm m, input" in found.text
    assert found.text.index("First divergence") < found.text.index("/messages/0/parts/0/content")
    assert '<details id="d0" class="stop" open>' in page
    assert "<del>brief</del>" in page
    assert "<ins>kind</ins>" in page


def test_what_carries_on_an_earlier_difference_is_a_line_that_links_to_it() -> None:
    page = of(desk(), desk(prompt="Be kind."))

    assert page.count('carries on <a href="#d0">an earlier one</a>') == 2
    assert "2 differences that carry on earlier ones only" in page
    assert '<p id="d1">step 3' in page
    assert page.count("<ins>kind</ins>") == 1


def test_a_request_with_old_changes_and_a_new_one_shows_the_new_one() -> None:
    a, b = (
        run(*(step("llm", "m", [said("system", p), said("user", u)], None) for u in us))
        for p, us in (("old", ("x", "y")), ("new", ("x", "z")))
    )

    assert "1 change as in a difference above" in parsed(of(a, b)).text


def test_the_same_run_twice_is_the_same() -> None:
    found = parsed(of(desk(), desk()))

    assert "Same: 6 steps compared, no difference." in found.text
    assert [name for name in found.values("id") if name.startswith("d")] == []


def test_steps_stand_side_by_side_in_order_and_those_of_one_run_alone() -> None:
    a = run(*(step("tool", name, {"of": name}, name) for name in ("a", "gone", "c")))
    b = run(*(step("tool", name, {"of": name}, name) for name in ("new", "a", "c", "last")), run_id="run-2")

    found = parsed(of(a, b))

    assert [name for name in found.values("id") if name.startswith("p")] == ["p-0", "p0-1", "p1-", "p2-2", "p-3"]
    assert "Only the first run has this step." in found.text
    assert "Only the second run has this step." in found.text
    assert "not in the first run" in found.text
    assert "not in the second run" in found.text


def test_every_link_leads_to_a_place_in_the_page() -> None:
    for a, b in ((desk(), desk(prompt="Be kind.", result="no")), (desk(), run()), (run(), desk())):
        found = parsed(of(a, b))

        assert {link[1:] for link in found.values("href")} <= set(found.values("id"))
        assert len(found.values("id")) == len(set(found.values("id")))


def test_what_both_cost_stands_side_by_side() -> None:
    text = parsed(of(desk(), replace(desk(), ended_ns=3 * 10**9))).text

    assert "model calls33" in text
    assert "took1.00 s3.00 s3.00 times" in text
    assert "tokens in30not recorded" in parsed(of(desk(), run(step("llm", "m", "x", "y")))).text


def test_masks_are_listed_with_what_they_hid_and_notes_too() -> None:
    a, b = (run(step("tool", "t", {"id": n}, "x"), step("tool", "u", n or None, "y")) for n in (0, 1))

    text = parsed(of(a, b, "tool/t/input/id")).text

    assert "Masks: tool/t/input/id  hid 1 change." in text
    assert "not compared: step 1 (tool u): only one run has its input" in text


def test_of_many_differences_the_rest_is_counted() -> None:
    a, b = (run(*(step("tool", f"t{n}", {"x": f"{word} {n}"}, n) for n in range(120))) for word in ("old", "new"))

    text = parsed(of(a, b)).text

    assert "20 differences more: runreel diff run-1 run-1 --json" in text


def test_a_replay_shows_what_it_found_beside_its_run() -> None:
    a, b = desk(), replace(desk(cents=100, run_id="again"), replay_of="run-1")
    text = parsed(comparison(diff(a, b), a, b, REPLAYED)).text

    for piece in (
        "The second is a replay of the first.", "frozen replay, 0 live calls", "input_mismatch step 4, tool refund",
        "look at the code", "tool:refund/id", "hid 2", "note: no key", "walls: namespaces",
    ):  # fmt: skip
        assert piece in text
    assert "The first is a replay of the second." in parsed(of(b, a)).text


def test_a_replay_that_recorded_nothing_says_why_there_are_no_steps() -> None:
    many = {**REPLAYED, "divergences": REPLAYED["divergences"] * 101}

    found = parsed(replay_alone(many, "the agent exported no spans"))

    assert foreign(found) == []
    assert "There are no steps side by side: the agent exported no spans." in found.text
    assert "1 divergence more" in found.text


def test_two_runs_of_40_steps_stay_below_2_mb_together() -> None:
    def turns(prompt: str) -> Run:
        history, made = [said("system", prompt)], []
        for n in range(20):
            history += [said("user", f"question {n} " * 300)]
            made.append(step("llm", "m", list(history), [said("assistant", f"{prompt} {n} " * 300)]))
            history += [said("assistant", f"{prompt} {n} " * 300)]
            made.append(step("tool", "t", {"n": n}, {"rows": [{"n": n, "text": prompt * 100}] * 9}))
        return run(*made)

    assert len(of(turns("be brief"), turns("be kind")).encode()) < 2_000_000


def test_no_id_of_a_run_gets_into_markup_that_is_not_escaped() -> None:
    page = of(replace(desk(), run_id="a'; rm <b>"), desk())

    assert re.findall("<b>", page) == []
