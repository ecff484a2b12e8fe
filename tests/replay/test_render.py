import json

from rich.console import Console

from run_kit import desk, run, step
from runreel.replay import render
from runreel.replay.diff import diff

HOSTILE = "\x1b[31mred\x1b[0m \x07 \u202etxet\u202c [bold]markup[/bold] \x9b2J"


def shown(found, width=80, colours=False, **options):
    console = Console(
        width=width, highlight=False, force_terminal=colours, color_system="standard" if colours else None
    )
    with console.capture() as capture:
        for line in render.lines(found, **options):
            console.print(line)
    return capture.get()


def test_equal_runs_are_said_to_be_the_same():
    text = shown(diff(desk(), desk(run_id="run-2")))

    assert "run-1 against run-2" in text
    assert "same: 6 steps compared, no difference" in text


def test_the_first_divergence_is_named_first_with_both_values():
    text = shown(diff(desk(), desk(cents=100)))

    lines = [line for line in text.splitlines() if line]
    assert lines[1] == "first divergence: step 4, tool refund, input"
    assert lines[2] == "step 4, tool refund  input_mismatch"
    assert lines[3:6] == ["  /cents", "    - 4900", "    + 100"]
    assert "different: 1 difference in 6 steps compared" in text


def test_texts_are_shown_once_with_the_changed_words_marked():
    was = "You handle refunds. " * 10 + "Never promise a date." + " Be kind." * 10

    text = shown(diff(desk(prompt=was), desk(prompt=was.replace("a date", "an exact date"))), width=200)

    assert "[-a-]{+an+}" in text.replace("{+an exact+}", "{+an+}")
    assert " … " in text
    assert "carries on step 1, llm m" in text


def test_colours_are_only_for_terminals():
    found = diff(desk(), desk(cents=100))

    assert "\x1b[" not in shown(found)
    assert "\x1b[31m" in shown(found, colours=True)


def test_nothing_is_wider_than_the_terminal():
    long = "word " * 100

    text = shown(diff(desk(prompt=long), desk(prompt=long.replace("word", "other", 3))), width=80)

    assert max(len(line) for line in text.splitlines()) <= 80


def test_text_of_a_run_cannot_steer_the_terminal():
    a = run(step("tool", HOSTILE, {HOSTILE: HOSTILE}, HOSTILE, error=(HOSTILE, HOSTILE)))
    b = run(step("tool", HOSTILE, {HOSTILE: "x" + HOSTILE}, None), run_id=HOSTILE)

    text = shown(diff(a, b), full=True)

    assert not any(ord(c) < 32 and c != "\n" for c in text)
    assert "\u202e" not in text
    assert "\x9b" not in text
    assert "[bold]markup[/bold]" in text
    assert "\\x1b" in text


def test_long_values_and_many_changes_are_cut_and_said_to_be():
    a = run(step("tool", "t", {f"k{n}": n for n in range(30)} | {"a": "x" * 2000}, None))
    b = run(step("tool", "t", {f"k{n}": -1 for n in range(30)} | {"a": "y" * 2000}, None))

    text, whole = shown(diff(a, b)), shown(diff(a, b), full=True, width=5000)

    assert "… and 19 changes more (--full shows them)" in text
    assert "/k29" not in text
    assert "/k29" in whole
    assert "x" * 2000 in whole


def test_steps_of_one_run_only_and_notes_and_masks_are_shown():
    a = run(step("tool", "gone", {}, "x"), step("tool", "same", {"n": 1}, "x", after=()))
    b = run(step("tool", "same", None, "y", after=()), step("tool", "new", {}, "x"))

    text = shown(diff(a, b, ["*/output*"]))

    assert "step 0, tool gone  missing_call  only in the first run" in text
    assert "step 1 of the second run, tool new  unrecorded_call  only in the second run" in text
    assert "not compared: step 1 (tool same): only one run has its input (value)" in text
    assert "hidden by masks: 1 change" in text


def test_a_replay_is_said_to_be_one():
    assert "(a replay of the first)" in shown(diff(desk(), desk(run_id="run-2", replay_of="run-1")))
    assert "(the first is a replay of the second)" in shown(diff(desk(run_id="run-2", replay_of="run-1"), desk()))


def test_the_document_holds_everything_whole():
    text = "long " * 500
    found = diff(desk(prompt=text), desk(prompt=text + "end", cents=1, run_id="run-2"))

    got = json.loads(json.dumps(render.document(found)))

    assert (got["same"], got["a"]["run_id"], got["b"]["run_id"], got["masked"]) == (False, "run-1", "run-2", 0)
    first = got["differences"][0]
    assert {name: first[name] for name in ("type", "kind", "name", "a", "b", "side", "follows")} == {
        "type": "input_mismatch",
        "kind": "llm",
        "name": "m",
        "a": 1,
        "b": 1,
        "side": "input",
        "follows": None,
    }
    (change,) = first["changes"]
    assert (change["path"], change["was"], change["now"]) == ("/messages/0/parts/0/content", text, text + "end")
    assert change["words"] == [["equal", text], ["added", "end"]]
    assert got["pairs"] == [[n, n] for n in range(6)]


def test_the_document_says_added_and_removed_without_inventing_a_value():
    found = diff(run(step("tool", "t", {"a": 1}, None)), run(step("tool", "t", {"b": None}, None)))

    assert render.document(found)["differences"][0]["changes"] == [
        {"path": "/a", "operation": "removed", "was": 1},
        {"path": "/b", "operation": "added", "now": None},
    ]
