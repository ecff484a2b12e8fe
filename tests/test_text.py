"""Run text on a terminal."""

import pytest

from runreel.text import many, one_line, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x9b31mred", "\\x9b31mred"),
        ("a\rb", "a\\x0db"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("half \ud83d", "half \\ud83d"),
        ("snow ❄️ é", "snow ❄️ é"),
    ],
)
def test_control_characters_are_shown_and_never_sent(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_one_line_folds_white_space_and_cuts_with_an_ellipsis() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


@pytest.mark.parametrize(("number", "text"), [(0, "0 spans"), (1, "1 span"), (2, "2 spans"), (1200, "1,200 spans")])
def test_things_are_counted_in_words(number, text):
    assert many(number, "span") == text
