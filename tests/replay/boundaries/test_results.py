"""Recorded results come back as what the function returned."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.canonical import dumps, freeze
from runreel.replay.boundaries.results import revive


class Sky(Enum):
    CLEAR = "clear"


@dataclass
class Weather:
    city: str
    sky: Sky


@pytest.mark.parametrize(
    ("text", "annotation", "want"),
    [
        ('{"temp_c": 21.5, "n": -3}', None, {"temp_c": 21.5, "n": -3}),
        ('{"temp_c": 21.5}', dict, {"temp_c": 21.5}),
        ('[1, "a", null]', list, [1, "a", None]),
        ("100.0", float, 100.0),
        ("plain words", None, "plain words"),
        ("plain words", dict, "plain words"),
        ('{"a": 1}', str, '{"a": 1}'),
        ("123", str, "123"),
        ("123", str | None, "123"),
        ("null", str | None, None),
        ("null", str, "null"),
        ("null", None, None),
        ("[1, 2]", tuple, (1, 2)),
        ("[1, 2]", set[int], {1, 2}),
        ("{'a': 1, 'b': None}", dict, {"a": 1, "b": None}),
        ("{'a': 1}", None, "{'a': 1}"),
        ("(1, 2)", tuple[int, int], (1, 2)),
        ('{"city": "Oslo", "sky": "clear"}', Weather, Weather("Oslo", Sky.CLEAR)),
        ('{"city": "Oslo"}', Weather, {"city": "Oslo"}),
        ('{"a": 1}', Annotated[dict, "a map"], {"a": 1}),
    ],
)
def test_text_becomes_what_the_annotation_says(text, annotation, want):
    found = revive(text, annotation)

    assert found == want
    assert type(found) is type(want)


def test_a_value_that_was_recorded_whole_comes_back_in_lists_and_maps_of_its_own():
    assert revive({"a": (1, 2)}) == {"a": [1, 2]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(JSON.filter(lambda value: not isinstance(value, str)))
def test_any_json_result_of_an_unannotated_function_comes_back_equal(value):
    assert revive(dumps(freeze(value))) == value
