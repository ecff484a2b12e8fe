import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redaction import redact
from runreel.processors.redact.fold import aligned, compact, one_byte


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ｄａｎａ＠example。com", "dana@example.com"),
        ("𝐝𝐚𝐧𝐚@example.com", "dana@example.com"),
        ("４２４２\u00a0٢٠٢", "4242 202"),
        ("123\u201345\u20106789", "123-45-6789"),
        ("mail\u2013dana and mail\u2014dana", "mail\u2013dana and mail\u2014dana"),  # such a dash joins words
        (r"line1\nbob", "line1 \nbob"),
        (r"line1\\nbob\tx", "line1  \nbob \nx"),
        (r"C:\dir", r"C:\dir"),
        ("né 日本 😀", "né 日本 😀"),
    ],
)
def test_disguises_become_plain_at_the_same_length(text: str, plain: str) -> None:
    assert aligned(text) == plain
    assert len(plain) == len(text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("dana\u200b.fields@exa\u00admple.com", "dana.fields@example.com"),
        (r"dana\u0040example.com", "dana@example.com"),
        (r"\\u0064ana\x40example.com", "dana@example.com"),
        ("q=dana%40example.com&x=%C3%A9", "q=dana@example.com&x=%C3%A9"),
        ("dana&#64;example.com", "dana@example.com"),
        (r"https:\/\/example.com", "https://example.com"),
        (r"\ud83d\ude42 a", "a a"),
        ("\U000e0041x", "x"),
    ],
)
def test_what_is_invisible_or_coded_is_undone(text: str, plain: str) -> None:
    view = compact(text)

    assert view is not None
    assert view.text == plain


def test_a_text_without_codes_has_no_second_view() -> None:
    assert compact("plain, é, 日本, 100 % & more \\d") is None


def test_spans_lead_back_to_the_whole_disguise() -> None:
    text = "[dana\u200b.fields@exa\u00admple.com] b\\u0040c"
    view = compact(text)
    assert view is not None

    start = view.text.index("dana")
    assert view.back(start, start + len("dana.fields@example.com")) == (1, text.index("]"))
    assert view.back(view.text.index("@c"), len(view.text)) == (text.index("\\u0040"), len(text))


@given(st.text(st.one_of(st.characters(), st.sampled_from("\u200b\\u0040%&#;n/4")), max_size=60))
def test_lengths_and_offsets_hold_for_any_text(text: str) -> None:
    assert len(aligned(text)) == len(text)
    assert len(one_byte(text)) == len(text)
    view = compact(text)
    if view is None:
        return
    last = 0
    for index in range(len(view.text)):
        start, end = view.back(index, index + 1)
        assert last <= start < end <= len(text)
        last = end


@given(st.text(max_size=40))
def test_every_digit_of_any_script_scans_as_a_digit(text: str) -> None:
    for char, byte in zip(text, one_byte(text), strict=True):
        if unicodedata.decimal(char, None) is not None:
            assert chr(byte) == str(unicodedata.decimal(char))
        if char.isascii():
            assert chr(byte) == char


def test_long_texts_in_other_scripts_scan_like_short_ones() -> None:
    text = "Привет٣мир "

    assert one_byte(text * 50) == one_byte(text) * 50 == b"aaaaaa3aaa " * 50


MAIL = "dana.fields@example.com"


@pytest.mark.parametrize(
    "text",
    [
        "dana.fields&#064;example.com", "dana.fields&#x0040;example.com",
        "dana&period;fields&commat;example&period;com",
        "dana.fields%2540example.com", "dana.fields%252540example.com",
        "dana.fields&amp;#64;example.com",
        "".join(f"&#{ord(char)};" for char in MAIL), "".join(f"&#x{ord(char):x};" for char in MAIL),
        "".join(f"%{ord(char):02X}" for char in MAIL), "d\u0430na.fields@example.c\u043em",
        "dana.fields&shy;@example.com",
    ],
)  # fmt: skip
def test_escapes_of_any_kind_and_lookalikes_hide_nothing(text: str) -> None:
    assert redact(f"[{text}]") == f"[{redact(MAIL)}]"


@pytest.mark.parametrize(
    "text",
    ["\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440", "\u03b1 + \u03b2", "a &amp; b &lt;c&gt;", "100%25"],
)
def test_text_of_other_scripts_and_escapes_without_a_finding_stay(text: str) -> None:
    assert redact(text) == text


def test_a_secret_in_escaped_quotes_goes() -> None:
    assert redact("password=&quot;hunter2x&quot;") == "password=&quot;<SECRET:password>&quot;"


def test_an_escaped_mark_is_a_mark() -> None:
    assert redact("&lt;CARD_4242424242424242&gt;") == "&lt;CARD_4242424242424242&gt;"
