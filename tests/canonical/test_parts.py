"""Splitting loses nothing, finds what recurs, and never takes a sender's text for a marker."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from canonical_values import ANY_TEXT, VALUES, json_texts
from runreel.canonical import (
    dumps,
    escape_own,
    exact_ref,
    join_value,
    payload_marker,
    payload_ref,
    split_value,
    unescape_own,
)
from runreel.errors import CorruptError
from runreel.values import Ref, Value

LONG = "The quick brown fox jumps over the lazy dog. " * 8
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
THRESHOLDS = st.sampled_from([1, 2, 8, 40, 256])


def again(value: Value, threshold: int = 256) -> Value:
    skeleton, parts = split_value(value, threshold)
    for sha256, (data, _) in parts.items():
        assert hashlib.sha256(data).hexdigest() == sha256
    return join_value(skeleton, lambda sha256: parts[sha256][0])


def datas(value: Value, threshold: int = 256) -> dict[bytes, str]:
    """The parts of a value, with their media types."""
    return dict(split_value(value, threshold)[1].values())


def strings(value: Value) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in strings(item)]
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in strings(item)]
    return []


@given(VALUES, THRESHOLDS)
def test_any_value_comes_back_exactly(value: Value, threshold: int) -> None:
    assert dumps(again(value, threshold)) == dumps(value)


@given(json_texts(), THRESHOLDS)
def test_any_json_text_comes_back_to_the_byte(text: str, threshold: int) -> None:
    assert again(text, threshold) == text
    assert again(({"k": text},), threshold) == ({"k": text},)


@given(st.lists(json_texts() | ANY_TEXT, max_size=4), st.sampled_from(['["', "[{", '{"a":', ' \n{ "']), THRESHOLDS)
@example(['"a\\', '"'], '["', 1)
@example(['"\\"', "\\"], '["', 1)
def test_text_that_only_starts_like_json_comes_back_to_the_byte(pieces: list[str], start: str, threshold: int) -> None:
    text = start + "".join(pieces)

    assert again(text, threshold) == text


@given(VALUES, THRESHOLDS)
def test_no_string_of_a_skeleton_is_heavy_unless_it_is_a_marker(value: Value, threshold: int) -> None:
    skeleton, _ = split_value(value, threshold)

    for text in strings(skeleton):
        assert text.startswith("\ue000") or len(text.encode(errors="surrogatepass")) < threshold


@given(VALUES, THRESHOLDS)
def test_the_same_value_splits_the_same_way(value: Value, threshold: int) -> None:
    assert repr(split_value(value, threshold)) == repr(split_value(value, threshold))


def test_a_reference_of_json_schema_is_left_alone() -> None:
    schema = {"$ref": "#/definitions/" + "x" * 300, "definitions": {"a": {"$ref": "#/a"}}}

    assert again(schema) == schema


def test_the_threshold_counts_bytes() -> None:
    assert datas("a" * 255) == {}
    assert datas("a" * 256) == {b"a" * 256: "text/plain; charset=utf-8"}
    assert list(datas("é" * 128)) == ["é".encode() * 128]
    assert datas("é" * 127) == {}


def test_a_string_is_one_part_however_it_was_escaped() -> None:
    text = 'Zoë said "yes" </b> & left.\n' * 12
    writings = [
        json.dumps([text]),
        json.dumps([text], ensure_ascii=False),
        json.dumps([text], ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        json.dumps([text]).replace("/", "\\/"),
        json.dumps({"a": 1, "b": [{"c": text}]}, indent=2),
        json.dumps(text),
        " " + json.dumps(text, ensure_ascii=False) + "\n",
        json.dumps(json.dumps(text)),
        json.dumps({"inner": json.dumps({"deep": text})}),
        json.dumps({"inner": json.dumps({"deep": json.dumps([text], ensure_ascii=False)}), "n": 1.0}),
    ]

    for writing in [*writings, {"native": (text,)}, text]:
        assert text.encode() in datas(writing), writing
        assert again(writing) == writing


@given(st.text(), st.booleans(), st.sampled_from(["", " ", "\n"]), THRESHOLDS)
@example("\\", False, "", 1)
@example('"', True, "", 1)
def test_a_json_string_comes_back_to_the_byte(text: str, ascii_only: bool, blank: str, threshold: int) -> None:
    writing = blank + json.dumps(text, ensure_ascii=ascii_only) + blank

    assert again(writing, threshold) == writing
    assert again((writing, {"k": json.dumps(writing)}), threshold) == (writing, {"k": json.dumps(writing)})


@given(st.lists(ANY_TEXT | st.sampled_from(['"', "\\", '\\"', " "]), max_size=6), THRESHOLDS)
@example(['a" and "b'], 1)
@example(["\\"], 1)
def test_text_between_quotes_comes_back_to_the_byte(pieces: list[str], threshold: int) -> None:
    text = '"' + "".join(pieces) + '"'

    assert again(text, threshold) == text


def test_text_that_only_starts_and_ends_with_a_quote_is_one_part() -> None:
    text = f'"Yes", said the fox. {LONG} "No"'

    assert list(datas(text)) == [text.encode()]


def test_an_escaping_of_no_known_hand_is_kept_verbatim() -> None:
    writing = '["' + "\\u0041\\u00E9 " * 99 + '"]'

    assert again(writing) == writing
    assert list(datas(writing)) == [("\\u0041\\u00E9 " * 99).encode()]


def test_a_large_template_inside_a_payload_is_shared() -> None:
    rows = json.dumps([{"id": n, "note": LONG if n == 7 else "short"} for n in range(30)])
    first = json.dumps([{"role": "tool", "response": rows}])
    second = json.dumps([{"role": "tool", "response": rows}, {"role": "assistant", "content": "done"}])

    shared = datas(first).keys() & datas(second).keys()

    assert {datas(first)[data] for data in shared} == {
        "text/plain; charset=utf-8",
        "text/x-runreel-skeleton; charset=utf-8",
    }
    assert len(dumps(split_value(second)[0])) < 300
    assert again(second) == second


def test_json_text_of_short_strings_is_one_part_wherever_it_stands() -> None:
    rows = json.dumps([{"id": n, "note": "short"} for n in range(30)])

    assert list(datas(rows)) == [rows.encode()]
    assert rows.encode() in datas(json.dumps([{"response": rows}]))


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("padding", ["=", ""])
@pytest.mark.parametrize("prefix", ["", "data:image/png;base64,", "data:image/png;name=a.png;base64,"])
def test_base64_of_a_known_format_is_stored_decoded(encode: Any, padding: str, prefix: str) -> None:
    data = PNG + b"\xfb\xff"
    text = prefix + encode(data).decode().rstrip("=") + (padding * (-len(data) % 3))
    message = json.dumps([{"type": "blob", "content": text}])

    for value in (text, message, {"url": text}):
        assert datas(value) == {data: "image/png"}
        assert again(value) == value


@pytest.mark.parametrize(
    ("magic", "media_type"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", "audio/wav"),
        (b"%PDF-1.7", "application/pdf"),
    ],
)
def test_formats_are_told_by_their_first_bytes(magic: bytes, media_type: str) -> None:
    data = magic + bytes(300)

    assert datas(base64.b64encode(data).decode()) == {data: media_type}
    assert datas(data) == {data: media_type}
    assert again((data,)) == (data,)


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(b"just some text, and nothing else. " * 10).decode(),
        base64.b64encode(PNG).decode()[:-1] + "!",
        base64.encodebytes(PNG).decode(),
        base64.b64encode(PNG).decode() + "====",
        "iVBORw0KGgo" + "é" * 300,
        "data:image/png;base64," + "x" * 300,
    ],
)
def test_other_base64_stays_text(text: str) -> None:
    assert list(datas(text)) == [text.encode()]
    assert again(text) == text


def test_bytes_become_parts_and_come_back_as_bytes() -> None:
    assert datas({"raw": b"\0" * 300}) == {b"\0" * 300: "application/octet-stream"}
    assert again({"raw": b"\0" * 300, "light": b"\0"}) == {"raw": b"\0" * 300, "light": b"\0"}


@pytest.mark.parametrize(
    "text",
    ['["' + '\\"' * 50_000, '["' + ("\\q" * 130 + '","') * 400, "[" * 100_000, '{"' * 50_000, '["' + "\\" * 100_001],
)
def test_hostile_text_comes_back(text: str) -> None:
    assert again(text) == text


@pytest.mark.parametrize(
    "marker",
    [
        "\ue000",
        "\ue000x:",
        "\ue000p:",
        "\ue000p:abc",
        "\ue000o:" + "g" * 64,
        "\ue000b",
        "\ue000bs:abc:",
        "\ue000j:\ue000u9:p:abc",
        "\ue000j:\ue000u3:e:x",
        "\ue000r:" + "0" * 64,
    ],
)
def test_a_marker_that_nothing_writes_is_corrupt(marker: str) -> None:
    with pytest.raises(CorruptError):
        join_value({"a": (marker,)}, lambda _: b"x")


def test_a_text_part_that_is_no_text_is_corrupt() -> None:
    with pytest.raises(CorruptError, match="not text"):
        join_value("\ue000p:" + "0" * 64, lambda _: b"\xff")


def test_rows_tell_their_markers_from_a_senders_strings() -> None:
    ref = exact_ref(LONG)
    marker = payload_marker(ref)

    assert payload_ref(marker) == ref.sha256
    for own in (marker, "\ue000e:", "\ue000", "text", 5, None, (marker,)):
        kept = escape_own(own)
        assert payload_ref(kept) is None
        assert unescape_own(kept) == own
    for other in ("\ue000r:", "\ue000r:abc", marker + "0", marker.upper(), 5, None):
        assert payload_ref(other) is None
    assert payload_ref(payload_marker(Ref())) is None
