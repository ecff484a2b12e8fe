import json

from runreel.processors.redact.edits import Edit, apply, json_escaped


def test_edits_replace_their_spans_and_nothing_else() -> None:
    edits = (Edit(0, 1, "<A>", ("A",)), Edit(3, 3, "+", ()), Edit(4, 6, "", ()))

    assert apply("abcdef", edits) == "<A>bc+d"
    assert apply("abcdef", ()) == "abcdef"


def test_replacements_are_written_as_json_would() -> None:
    assert json_escaped('"<CARD_00>"é') == '\\"<CARD_00>\\"é'
    assert json.loads(f'"{json_escaped(chr(10))}"') == "\n"
