import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.processors.redact.places import Content, Path, Piece, is_document, nodes, rewrite
from runreel.values import Value

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def paths(value: object, path: Path = ()) -> set[Path]:
    """Return the paths of a parsed JSON value."""
    if isinstance(value, dict):
        return {path}.union(*(paths(item, (*path, key)) for key, item in value.items()))
    if isinstance(value, list):
        return {path}.union(*(paths(item, (*path, str(place))) for place, item in enumerate(value)))
    return {path}


@given(JSON, st.sampled_from([None, 1]), st.booleans())
def test_every_place_of_a_document_is_found_with_its_path(value: object, indent: int | None, ascii_: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_)

    found = nodes(text)

    assert {node.path for node in found} == paths(value)
    assert all(json.loads(text[node.start : node.end]) is not NotImplemented for node in found)
    assert is_document(text) is isinstance(value, (dict, list))


@given(JSON, st.integers(0, 40))
def test_whatever_is_cut_off_is_walked_without_a_complaint_and_nothing_is_left_out(value: object, cut: int) -> None:
    text = json.dumps([value])[: cut + 1]

    found = nodes(text)

    assert max(node.end for node in found) == len(text)


def replaced(value: Value, *wanted: Path) -> Value:
    return rewrite(value, (), lambda path, content, depth: "X" if path in wanted else None)


def test_what_stands_around_a_replaced_place_stays_byte_for_byte() -> None:
    inner = '{ "iban" :"DE\\u0041", "n": 1e3 }'
    text = json.dumps({"a": inner, "b": [1, {"c": None}]}, indent=2)

    assert replaced(text, ("a", "iban"), ("b", "1", "c")) == text.replace('\\"DE\\\\u0041\\"', '\\"X\\"').replace(
        "null", '"X"'
    )


def test_maps_lists_and_bytes_are_gone_into() -> None:
    value: Value = {"a": (b'{"b": "c"}', b"\xff{", 5), "d": {"e": "f"}}

    assert replaced(value, ("a", "0", "b"), ("a", "2"), ("d",)) == {"a": (b'{"b": "X"}', b"\xff{", "X"), "d": "X"}


def test_a_text_that_only_starts_as_json_is_handed_over_from_where_it_breaks() -> None:
    seen: list[Content] = []

    def note(path: Path, content: Content, depth: int) -> None:
        seen.append(content)

    rewrite("{'iban': 'DE89'}", (), note)

    broken = [content.written for content in seen if isinstance(content, Piece)]
    assert broken == ["'iban': 'DE89'}"]


@pytest.mark.parametrize("text", ["[1] see Dana", '{"a": 1} and more', "plain", "{'a': 1}", ""])
def test_what_is_no_document_from_start_to_end_is_none(text: str) -> None:
    assert not is_document(text)


def test_what_follows_a_document_is_one_place() -> None:
    assert replaced('{"a": 1}\n{"a": 2}', ("\0behind",)) == '{"a": 1}\n"X"'


def test_a_duplicate_member_is_found_each_time() -> None:
    assert replaced('{"a": 1, "a": 2}', ("a",)) == '{"a": "X", "a": "X"}'
