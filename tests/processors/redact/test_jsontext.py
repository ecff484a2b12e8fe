import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.processors.redact.jsontext import (
    Offsets,
    Token,
    container_end,
    decode,
    is_schema,
    looks_like_json,
    settled,
    tokens,
)

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters())),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)),
    max_leaves=12,
)


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in [key, *strings(item)]]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


@given(JSON, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_any_json_is_taken_apart_into_its_strings(value: object, escaped: bool, indent: object) -> None:
    text = json.dumps(value, ensure_ascii=escaped, indent=indent)

    found = tokens(text)

    assert found is not None
    strung = [token for token in found if token.kind in ("key", "string")]
    read = [decode(text, token.start, token.end) for token in strung]
    assert read == strings(value)
    assert [token.decoded for token in strung] == read


@given(st.text(st.characters(), max_size=30), st.booleans())
def test_offsets_of_a_decoded_literal_lead_to_where_it_is_written(plain: str, escaped: bool) -> None:
    text = "[" + json.dumps(plain, ensure_ascii=escaped).replace("/", "\\/") + "]"
    offsets = Offsets(text, 2, len(text) - 2)

    for index in range(len(plain)):
        written = text[offsets.written(index) : offsets.written(index + 1)]
        assert json.loads(f'"{written}"') == plain[index]


@given(st.text('ab\\\n"/u', max_size=60), st.data())
def test_offsets_may_be_asked_for_in_any_order(plain: str, data: st.DataObject) -> None:
    text = json.dumps(plain)
    offsets = Offsets(text, 1, len(text) - 1)

    for index in data.draw(st.lists(st.integers(0, len(plain)), max_size=6)):
        assert offsets.written(index) == len(json.dumps(plain[:index])) - 1


@pytest.mark.parametrize(
    "text",
    [
        "[202 555 0143]", "[202-555-0143]", "{dana@example.com}", '["a" dana@example.com "b"]', "[0143]", '"a" and "b"',
        "['a']", '{"a": "b', '["a\\"]', "[undefined]", "[٣]", '["a" "b"]', "{{x}}",
    ],
)  # fmt: skip
def test_what_is_not_made_of_json_tokens_is_text(text: str) -> None:
    assert tokens(text) is None


def test_lines_of_json_and_loose_values_are_still_json_tokens() -> None:
    assert tokens('{"a": 1}\n{"b": NaN}') is not None
    assert tokens('{"a": true, "a": [-1.5e+3, null,]}') is not None


def test_an_escape_that_json_does_not_have_is_found_on_decoding() -> None:
    text = r'["\d+"]'

    assert decode(text, 2, 5) is None


@pytest.mark.parametrize("text", ['{"a": 1}', "  [1]\n", '"x"', "[202]"])
def test_json_looks_like_json(text: str) -> None:
    assert looks_like_json(text)


@pytest.mark.parametrize("text", ["", "{", "x", '{"a": 1', "[1}", "1", "true"])
def test_other_text_does_not(text: str) -> None:
    assert not looks_like_json(text)


def test_a_container_ends_behind_its_last_token() -> None:
    found = tokens('{"a": {"b": [1, 2], "c": {}}, "d": 3, "e": true, "f": "x"}')
    assert found is not None
    kinds = [token.kind for token in found]

    assert container_end(found, 1) == kinds.index("end") - 5  # "d"
    assert container_end(found, 2) == 4
    assert container_end(found, len(found) - 2) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"p": {"type": "string", "description": "x"}}', True),
        ('{"p": {"description": "x", "type": ["string", "null"]}}', True),
        ('{"p": {"$ref": "#/x"}}', True),
        ('{"p": {"type": "bearer", "value": "x"}}', False),
        ('{"p": {"inner": {"type": "string"}}}', False),
        ('{"p": {}}', False),
    ],
)
def test_schemas_are_told_from_values(text: str, expected: bool) -> None:
    found = tokens(text)
    assert found is not None
    behind = container_end(found, 1)
    assert behind is not None

    assert is_schema(text, found, 1, behind) is expected


def test_deep_nesting_takes_no_stack() -> None:
    text = "[" * 20_000 + "]" * 20_000

    assert [token.kind for token in tokens(text) or ()] == ["end"]


def test_a_quote_that_never_closes_is_text_at_once() -> None:
    assert tokens('{"' + 'a\\"' * 100_000) is None


@pytest.mark.parametrize("text", ['["a", "b"]', '{"a": ["b" ], "c": 1}', '["a"}', '["a"],"b"'])
def test_behind_what_closes_a_string_off_the_rest_is_taken_apart_alike(text: str) -> None:
    found = tokens(text)
    assert found is not None
    for number, token in enumerate(found):
        place = settled(text, token) if token.kind == "string" else None
        if place is not None:
            rest = tokens(text, place)
            assert [token[:3] for token in rest or ()] == [token[:3] for token in found[number + 1 :]]


@pytest.mark.parametrize("text", ['["a": 1]', '["a"', '["a" "b"]', '["a"x'])
def test_a_string_that_nothing_closes_off_is_not_settled(text: str) -> None:
    assert settled(text, Token("string", 2, 3, "[")) is None


def test_a_string_with_escapes_ends_where_it_ends_also_where_an_escape_is_none() -> None:
    found = tokens(r'{"a\"b" : "c\\", "d\q" : "\u12"}')

    assert found is not None
    assert [(token.kind, token.end - token.start) for token in found[:-1]] == [
        ("key", 4), ("string", 3), ("key", 3), ("string", 4),
    ]  # fmt: skip
    assert tokens(r'{"a\"}') is None
