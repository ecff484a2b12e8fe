"""The report: first divergence first, step and field named, and no live value unredacted."""

import io
import json

import pytest
from rich.console import Console

from runreel.replay import report
from runreel.replay.values import Divergence, Nearest, Replayed

EMAIL = "dana.fields@example.com"


def redact(text):
    return text.replace(EMAIL, "<EMAIL_7f3a9c02>")


def changed(was, now, **rest):
    return Divergence(
        "input_mismatch",
        kind="tool",
        name="refund",
        recorded=4,
        replayed=7,
        path="/cents",
        was=was,
        now=now,
        has_was=True,
        has_now=True,
        reason="value",
        advice="record a new run",
        **rest,
    )


def replayed(*divergences, **rest):
    verdict = "diverged" if divergences else "same"
    fields = {"answered": {("llm", "m"): 2, ("tool", "refund"): 1}, "isolation": "seccomp filter", **rest}
    return Replayed("r1", "frozen", verdict, divergences, **fields)


def printed(result, clean=None):
    out = io.StringIO()
    report.render(result, Console(file=out, width=100), clean)
    return out.getvalue()


def test_an_identical_replay_says_so_and_what_was_answered():
    text = printed(replayed(proved=2, reproduced=1, notes=("a note",)))

    assert text.splitlines()[0] == "frozen replay of r1: identical"
    assert "2 model calls (m 2), 1 tool call (refund 1); live calls: 0" in text
    assert "1 recorded failure came about again" in text
    assert "proved with the key: 2" in text
    assert "note: a note" in text


def test_a_divergence_names_step_field_values_nearest_and_advice():
    near = (Nearest(4, "tool", "refund", "/cents", 0.5), Nearest(9, "tool", "refund", "/order", 0.25, answered=True))
    text = printed(replayed(changed(4900, 4800, nearest=near)))

    assert "frozen replay of r1: diverged, 1 divergence" in text
    assert "1. input_mismatch at step 4, tool refund, field /cents" in text
    assert "was  4900" in text
    assert "now  4800" in text
    assert "nearest recorded: step 9, 25% alike, differs at /order, already answered" in text
    assert "record a new run" in text


@pytest.mark.parametrize(
    ("was", "now", "shown"),
    [
        (
            "to <EMAIL_7f3a9c02>!",
            f"to {EMAIL}?",
            ("to <EMAIL_7f3a9c02>!", "text of 27 characters, the same up to character 3"),
        ),
        (1, 4242424242424242, ("1", "a number")),
        (1, 2, ("1", "2")),
        (True, False, ("true", "false")),
        ({"a": 1}, {EMAIL: EMAIL}, ('{"a":1}', "a map of 1")),
        ((1,), (EMAIL, EMAIL), ("[1]", "a list of 2")),
        ("x", None, ("x", "nothing")),
    ],
)
def test_without_a_redactor_live_values_are_only_described(was, now, shown):
    assert report.shown(changed(was, now), None) == shown


def test_with_a_redactor_the_live_text_is_shown_redacted_around_the_difference():
    was = "x" * 500 + " pay <EMAIL_7f3a9c02> now" + "y" * 500
    now = "x" * 500 + f" pay {EMAIL} later" + "y" * 500

    recorded, live = report.shown(changed(was, now), redact)

    assert "pay <EMAIL_7f3a9c02> now" in recorded
    assert "pay <EMAIL_7f3a9c02> later" in live
    assert live.startswith("…")
    assert len(live) < 200


def test_a_call_that_was_never_recorded_shows_only_what_it_asked():
    extra = Divergence("unrecorded_call", kind="tool", name="mail", replayed=3, now={"to": EMAIL}, has_now=True)

    assert report.shown(extra, redact) == ("", '{"to":"<EMAIL_7f3a9c02>"}')
    assert EMAIL not in printed(replayed(extra))
    assert "at call 3 of the replay, tool mail" in printed(replayed(extra))


def test_only_the_first_divergences_are_printed_and_the_rest_counted():
    text = printed(replayed(*[changed(1, 2)] * 25))

    assert text.count("input_mismatch") == 20
    assert "5 more: --json lists them all" in text


def test_terminal_escapes_of_a_run_do_not_reach_the_terminal():
    text = printed(replayed(changed("\x1b[31mred\x1b]0;title\x07", 2)))

    assert "\x1b" not in text
    assert "\\x1b" in text


def test_the_json_document_has_every_divergence_and_no_live_text():
    near = (Nearest(4, "tool", "refund", "/cents", 0.5),)
    result = replayed(*[changed("a", EMAIL, nearest=near)] * 25, assumed=("<EMAIL_7f3a9c02>",), exit_code=0)

    document = json.loads(report.to_json(result))

    assert (document["verdict"], document["live_calls"], len(document["divergences"])) == ("diverged", 0, 25)
    first = document["divergences"][0]
    assert (first["type"], first["step"], first["path"], first["was"]) == ("input_mismatch", 4, "/cents", "a")
    assert first["nearest"] == [
        {"step": 4, "kind": "tool", "name": "refund", "path": "/cents", "likeness": 0.5, "answered": False}
    ]
    assert document["tokens"] == {"proved": 0, "assumed": ["<EMAIL_7f3a9c02>"]}
    assert EMAIL not in json.dumps(document)


def test_a_replayed_value_shows_no_live_text_when_it_is_printed():
    assert EMAIL not in repr(replayed(changed("a", EMAIL)))


def test_what_was_answered_by_what_is_told_step_by_step():
    result = replayed(coverage={1: "recorder", 2: "wire openai.chat", 3: "recorder", 4: "recorder", 6: "recorder"})

    text = printed(result)

    assert "by recorder: 4 steps (1, 3-4, 6)" in text
    assert "by wire openai.chat: 1 step (2)" in text
    assert report.document(result)["coverage"][0] == {"step": 1, "by": "recorder"}


def test_masks_say_how_often_they_hid_a_difference_also_where_they_hid_none():
    result = replayed(masked={"tool:note/tmp": 2, "tool:other/tmp": 0}, drawn=("uuid 6f96",))

    text = printed(result)

    assert "mask tool:note/tmp hid 2 differences" in text
    assert "mask tool:other/tmp hid nothing" in text
    assert "drew anew: uuid 6f96" in text
    assert report.document(result)["masks"] == [
        {"mask": "tool:note/tmp", "hid": 2},
        {"mask": "tool:other/tmp", "hid": 0},
    ]


def test_a_call_more_says_after_which_step_it_came():
    more = Divergence("unrecorded_call", kind="tool", name="poll", replayed=4, after=9, reason="never recorded")

    assert "unrecorded_call at call 4 of the replay, after step 9, tool poll" in printed(replayed(more))
    assert report.document(replayed(more))["divergences"][0]["after"] == 9
