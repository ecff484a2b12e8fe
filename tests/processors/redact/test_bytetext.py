import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.processors.redact.bytetext import narrowed, readable, widened

MAIL = "dana.fields@example.com"


@pytest.mark.parametrize(
    ("data", "codec"),
    [
        (MAIL.encode(), "utf-8"),
        (f"caf\u00e9 {MAIL}".encode(), "utf-8"),
        (f"caf\u00e9 {MAIL}".encode("latin-1"), "latin-1"),
        (f"\u043f\u0440\u0438\u0432\u0435\u0442 {MAIL}".encode("cp1251"), "latin-1"),
        (MAIL.encode("utf-16-le"), "utf-16-le"),
        (MAIL.encode("utf-16-be"), "utf-16-be"),
        (f"\u043f\u0440\u0438\u0432\u0435\u0442 {MAIL}".encode("utf-16"), "utf-16-le"),
        (b"\xff\xfepassword=hunter2xx", "latin-1"),
        (b"\x0a\x17" + MAIL.encode() + b"\xff\x01", "latin-1"),
    ],
)
def test_text_is_read_in_its_encoding(data: bytes, codec: str) -> None:
    read = readable(data)

    assert read is not None
    assert read.codec == codec
    assert read.encode(read.text) == data


@pytest.mark.parametrize("data", [b"", bytes(range(256)), b"\x89PNG\r\n" + bytes(range(128, 256)) * 2])
def test_a_picture_is_no_text(data: bytes) -> None:
    assert readable(data) is None


def test_a_cut_text_is_read_as_far_as_it_goes() -> None:
    read = readable("caf\u00e9".encode()[:-1], cut=True)

    assert read is not None
    assert read.text == "caf"
    assert readable(MAIL.encode("utf-16-le")[:-1], cut=True) is not None


@given(st.binary(max_size=64))
def test_whatever_is_read_goes_back_as_it_was(data: bytes) -> None:
    read = readable(data)

    assert read is None or read.encode(read.text) == data


@pytest.mark.parametrize(("codec", "side"), [("utf-16-le", 0), ("utf-16-be", 1)])
def test_wide_text_read_one_byte_a_character_is_narrowed_and_widened(codec: str, side: int) -> None:
    wide = MAIL.encode(codec).decode("latin-1")

    assert narrowed(wide) == (MAIL, side)
    assert widened(MAIL, side) == wide


@pytest.mark.parametrize("text", ["", MAIL, f"\0{MAIL}", "\0\0\0\0", "a\0b"])
def test_other_text_is_not_narrowed(text: str) -> None:
    assert narrowed(text) is None or text == "a\0b"
