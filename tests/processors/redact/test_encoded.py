import base64
import re

import pytest

from runreel.processors.redact.bytetext import Readable
from runreel.processors.redact.encoded import STARTS, Run, encode, runs

UTF8 = Run(0, 0, Readable("", "utf-8"))
PNG = b"\x89PNG" + bytes(range(256)) * 20


def spans(text: str) -> list[tuple[str, str | None, bool]]:
    hits = [match.span() for match in re.finditer(STARTS.pattern, text)]
    return [(text[run.start : run.end], run.text, run.sure) for run in runs(text, hits)]


@pytest.mark.parametrize("plain", ["mail dana@example.com", "p\u00e4ssw\u00f6rd: x", '{"a": "b", "c": [1]}'])
def test_base64_of_text_is_opened(plain: str) -> None:
    code = base64.b64encode(plain.encode()).decode()

    assert spans(f"see {code}, ok") == [(code, plain, False)]


def test_the_other_alphabet_and_missing_padding_are_opened_too() -> None:
    plain = "subject??>>>~~~ and more"
    code = base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")

    assert "_" in code or "-" in code
    assert spans(code) == [(code, plain, False)]
    assert encode(UTF8, plain, code) == code


def test_a_picture_is_recognised_by_its_first_bytes_or_by_its_url() -> None:
    code = base64.b64encode(PNG).decode()
    other = base64.b64encode(bytes(range(128, 256)) * 2).decode()

    assert spans(f'"{code}"') == [(code, None, True)]
    assert spans(f"data:image/x-own;charset=x;base64,{other}") == [(other, None, True)]


def test_long_binary_of_an_unknown_kind_is_binary_but_may_be_a_key() -> None:
    code = base64.b64encode(bytes(range(256))).decode()

    assert spans(code) == [(code, None, False)]


@pytest.mark.parametrize(
    "text",
    [
        "internationalization_of_everything",
        "0af7651916cd43dd8448eb211c80319c",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "/usr/lib/python3/site-packages/thing",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "4242424242424242424242",
    ],
)
def test_words_hashes_and_paths_are_left_to_the_detectors(text: str) -> None:
    assert all(plain is None and not sure for _, plain, sure in spans(text))


def test_a_long_text_in_base64_is_text() -> None:
    plain = "é line of text\n" * 1000
    code = base64.b64encode(plain.encode()).decode()

    assert spans(code) == [(code, plain, False)]


@pytest.mark.parametrize("length", range(4))
def test_padding_follows_what_was_there(length: int) -> None:
    plain = "dana" + "x" * length
    padded = base64.b64encode(plain.encode()).decode()

    assert encode(UTF8, plain, padded) == padded


MAIL = "dana.fields@example.com"


@pytest.mark.parametrize(
    ("data", "codec"),
    [
        (f"{MAIL} caf\u00e9 d\u00e9j\u00e0 vu".encode("latin-1"), "latin-1"),
        (f"\0\1{MAIL}\2 hello hello".encode(), "utf-8"),
        (f"mail {MAIL}".encode("utf-16-le"), "utf-16-le"),
        (f"mail {MAIL}".encode("utf-16-be"), "utf-16-be"),
        (b"\x0a\x17" + MAIL.encode() + b"\xff\x01\x02", "latin-1"),
    ],
)
def test_text_in_any_encoding_is_opened_and_goes_back_in_it(data: bytes, codec: str) -> None:
    code = base64.b64encode(data).decode()
    (run,) = runs(code, [match.span() for match in re.finditer(STARTS.pattern, code)])

    assert run.read is not None
    assert (run.read.codec, run.read.text) == (codec, data.decode(codec))
    assert encode(run, run.read.text, code) == code


@pytest.mark.parametrize(
    "around", ["data={}", "/files/{}", "a/b/c/{}", "x-{}", "data:application/xml;base64,{}", "v1_{}"]
)
def test_what_stands_before_base64_does_not_hide_it(around: str) -> None:
    plain = f"mail {MAIL} now"
    code = base64.b64encode(plain.encode()).decode()

    assert [plain for _, plain, _ in spans(around.format(code))] == [plain]


@pytest.mark.parametrize("cut", range(4))
def test_base64_whose_beginning_is_cut_off_is_opened(cut: int) -> None:
    code = base64.b64encode(f"some words and {MAIL} and more.".encode()).decode()

    assert MAIL in spans(code[cut:])[0][1]


@pytest.mark.parametrize(("width", "between"), [(76, "\n"), (64, "\r\n"), (76, "\n    "), (60, " \n")])
def test_base64_over_several_lines_is_one_and_stays_wrapped(width: int, between: str) -> None:
    plain = "lorem ipsum dolor " * 7 + MAIL + " sit amet" * 6
    code = base64.b64encode(plain.encode()).decode()
    text = between.join(code[place : place + width] for place in range(0, len(code), width))
    (run,) = runs(f"see\n{text}\nend", [match.span() for match in re.finditer(STARTS.pattern, f"see\n{text}\nend")])

    assert run.text == plain
    assert encode(run, plain, text) == text.replace(" \n", "\\n")
