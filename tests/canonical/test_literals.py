"""String literals of JSON text: read to their end, and written again to the byte in the style that is found."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runreel.canonical.literals import STYLES, match_literal, scan, scan_literal, style_of

CHARS = st.sampled_from([*'ab "\\\n\t/<&u0é日😀', "\x01", "\x7f", "\x80", "\u2028", "\ud800", "\udc00", "\ue000"])
TEXTS = st.lists(CHARS, max_size=12).map("".join)


def _spellings(char: str) -> list[str]:
    """Return the ways in which a character may stand in a literal."""
    units = [char.encode("utf-16-be", "surrogatepass")[at : at + 2] for at in range(0, 2 * len(char), 2)]
    if ord(char) > 0xFFFF:
        data = char.encode("utf-16-be")
        units = [data[:2], data[2:]]
    digits = [unit.hex() for unit in units]
    found = ["".join(f"\\u{one}" for one in digits), "".join(f"\\u{one.upper()}" for one in digits)]
    found.append(json.dumps(char)[1:-1])
    found.append(json.dumps(char, ensure_ascii=False)[1:-1])
    return [*found, "\\/"] if char == "/" else found


@st.composite
def literals(draw: st.DrawFn) -> str:
    """Draw a valid literal, spelt in one style or in any way at all."""
    text = draw(TEXTS)
    if draw(st.booleans()):
        return STYLES[draw(st.sampled_from("uagp"))](text)
    return '"' + "".join(draw(st.sampled_from(_spellings(char))) for char in text) + '"'


@given(literals())
@example('"\\u00E9\\\\u00e9"')
@example('"x\x7f\\u0080"')
@example('"\\u2028\\u0026"')
@example('"\\u0061\\u0022"')
def test_the_style_of_a_literal_is_the_first_that_writes_its_content_so(literal: str) -> None:
    content, end = scan(literal, 1, True)

    assert end == len(literal)
    assert style_of(content, literal) == next(
        (style for style, write in STYLES.items() if write(content) == literal), "v"
    )


@pytest.mark.parametrize("read", [scan_literal, match_literal])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a\\nb" rest', ("a\nb", True, 6)),
        ('"a\nb" rest', ("a\nb", False, 5)),
        ('"a\\qb" rest', ("a\\qb", False, 6)),
        ('"never ends \\', ("", False, 13)),
    ],
    ids=["valid", "raw line break", "no escape", "no end"],
)
def test_a_literal_is_read_to_its_end_valid_or_not(read: object, text: str, expected: tuple[str, bool, int]) -> None:
    assert callable(read)
    assert read(text, 0) == expected
