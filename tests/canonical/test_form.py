"""The typed text is exact; the canonical form is what equality is made of."""

import hashlib
import json
import math
from enum import IntEnum, StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonical_values import JSON_DOCUMENTS, VALUES
from runreel.canonical import (
    MAX_NESTING,
    SCHEME,
    canonical,
    dumps,
    exact_ref,
    form,
    freeze,
    loads,
    make_ref,
    parse_json,
)
from runreel.values import Ref, Value

DOCUMENT = json.loads((Path(__file__).parents[1] / "data" / "canonical_vectors.json").read_text())
VECTORS = DOCUMENT["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vectors_hold(vector: dict[str, Any]) -> None:
    value = loads(vector["typed"])

    assert dumps(value) == vector["typed"]
    assert canonical(value).decode() == vector["canonical"]
    assert make_ref(value) == Ref(vector["sha256"], vector["size"], "whole")


def test_vectors_are_of_this_scheme() -> None:
    assert (DOCUMENT["format_version"], DOCUMENT["scheme"]) == (1, SCHEME)
    assert len(VECTORS) > 40


@given(VALUES)
def test_typed_text_comes_back_exactly(value: Value) -> None:
    text = dumps(value)

    assert exactly(loads(text)) == exactly(value)
    assert text.encode().decode() == text


@given(VALUES, VALUES)
def test_canonical_forms_are_equal_if_and_only_if_the_values_are(one: Value, other: Value) -> None:
    assert (canonical(one) == canonical(other)) == (meaning(one) == meaning(other))


@given(VALUES)
def test_the_canonical_form_knows_neither_key_order_nor_whole_floats(value: Value) -> None:
    assert canonical(turned(value)) == canonical(value)


@given(VALUES)
def test_the_canonical_form_reads_back_as_a_value_of_the_same_form(value: Value) -> None:
    form = canonical(value)

    assert canonical(loads(form.decode())) == form


@given(VALUES)
def test_exact_refs_tell_types_apart_and_agree_where_the_form_is_canonical(value: Value) -> None:
    assert exact_ref(value) == Ref(
        hashlib.sha256(dumps(value).encode()).hexdigest(), len(dumps(value).encode()), "whole"
    )
    canonical_value = loads(canonical(value).decode())
    if dumps(canonical_value).encode() == canonical(value):
        assert exact_ref(canonical_value) == make_ref(value)


def exactly(value: Value) -> Any:
    """A value in a form that Python compares exactly: types, key order, NaN, the sign of zero."""
    if isinstance(value, tuple):
        return ["list", *map(exactly, value)]
    if isinstance(value, dict):
        return ["map", *((key, exactly(item)) for key, item in value.items())]
    return [type(value).__name__, repr(value)]


def meaning(value: Value) -> Any:
    """A value in a form that Python compares as the scheme does."""
    if isinstance(value, tuple):
        return ("list", *map(meaning, value))
    if isinstance(value, dict):
        return ("map", frozenset((key, meaning(item)) for key, item in value.items()))
    if isinstance(value, float) and (not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0)):
        return ("float", repr(value))
    kind = "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__
    return (kind, value)


def turned(value: Value) -> Value:
    """The same value with its keys in another order and whole numbers as floats, where a float can hold them."""
    if isinstance(value, tuple):
        return tuple(map(turned, value))
    if isinstance(value, dict):
        return {key: turned(item) for key, item in reversed(value.items())}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53:
        return float(value)
    return value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "nul",
        "NaN",
        "[Infinity]",
        '{"$float":"1.0"}',
        '{"$float":["NaN"]}',
        '{"$bytes":"!"}',
        '{"$bytes":1}',
        '{"$text":1}',
        '{"$map":[1]}',
        '{"$map":[[1,2]]}',
        '{"$map":{"a":1}}',
        '{"$map":[["a"]]}',
    ],
)
def test_what_is_no_typed_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        loads(text)


def test_any_mapping_can_be_written() -> None:
    assert dumps(MappingProxyType({"a": MappingProxyType({"b": 1})})) == '{"a":{"b":1}}'
    assert canonical(MappingProxyType({"b": 1, "a": 2})) == b'{"a":2,"b":1}'


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Ratio(float):
    pass


def test_freezing_copies_into_plain_values() -> None:
    source: Any = {
        Colour.RED: [Level.LOW, (True, None), bytearray(b"x"), memoryview(b"y"), Ratio(0.5), {"k": Colour.RED}]
    }

    frozen = freeze(source)

    assert frozen == {"red": (1, (True, None), b"x", b"y", 0.5, {"k": "red"})}
    assert repr(frozen) == repr({"red": (1, (True, None), b"x", b"y", 0.5, {"k": "red"})})
    source[Colour.RED].append("later")
    assert len(frozen["red"]) == 6  # type: ignore[arg-type,call-overload,index]


@pytest.mark.parametrize("thing", [object(), {1: "a"}, [{"a": {1, 2}}], 1j])
def test_freezing_refuses_what_is_no_value(thing: object) -> None:
    with pytest.raises(TypeError):
        freeze(thing)


@given(JSON_DOCUMENTS.filter(lambda document: "Infinity" not in json.dumps(document)))
def test_strict_parsing_gives_what_was_written(document: Any) -> None:
    parsed = parse_json(json.dumps(document))

    assert exactly(parsed) == exactly(freeze(json.loads(json.dumps(document))))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        "[Infinity]",
        "-Infinity",
        "1e999",
        '{"a":1}{"b":2}',
        '{"a": 1, "a": 2}',
        "",
        "{'a': 1}",
        '{"a": "\\d"}',
        "[1,]",
    ],
)
def test_strict_parsing_refuses_what_is_not_json(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


def test_strict_parsing_ends_at_a_depth() -> None:
    assert parse_json("[" * MAX_NESTING + "]" * MAX_NESTING)
    for depth in (MAX_NESTING + 1, 100_000):
        with pytest.raises(ValueError, match="nested"):
            parse_json("[" * depth + "]" * depth)
    with pytest.raises(ValueError, match="nested"):
        parse_json('{"a":' * (MAX_NESTING + 1) + "1" + "}" * (MAX_NESTING + 1))


@given(st.integers())
def test_integers_are_exact(number: int) -> None:
    assert parse_json(str(number)) == number
    assert canonical(number) == str(number).encode()


@given(VALUES)
def test_what_the_encoder_writes_alone_is_what_it_writes_of_typed_values(value: Value) -> None:
    typed = json.dumps(
        form._typed(value, form._canonical_float), ensure_ascii=False, separators=(",", ":"), sort_keys=True
    )

    assert canonical(value) == typed.encode()


@pytest.mark.parametrize("number", [1.0, -0.0, 1e16, 1.5e300, 0.1, 1e-7, 10.05])
def test_a_float_is_written_canonically_beside_text_that_looks_like_one(number: float) -> None:
    said = json.loads(canonical({"n": number, "said": "version 3.0, 1e+5"}))

    assert said["n"] == ({"$float": "-0.0"} if math.copysign(1, number) < 0 else number)
    assert isinstance(said["n"], int) == (number.is_integer() and number != 0)


@given(
    st.lists(st.sampled_from(['"', "\\", "\n", "\t", "\r", "\x01", "\x7f", "\u2028", "é", "日", "😀", "plain text "]))
)
def test_a_long_text_is_escaped_as_a_short_one(pieces: list[str]) -> None:
    text = "".join(pieces) + "x" * 300

    assert form.escape_text(text) == json.dumps(text, ensure_ascii=False)[1:-1].encode()
    assert dumps(text) == json.dumps(text, ensure_ascii=False)
    assert canonical(text) == dumps(text).encode()
