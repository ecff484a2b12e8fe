import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.replay.compare import Change, compare, likeness, words

LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=5)
VALUE = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def changes(was, now):
    return list(compare(was, now))


@given(VALUE)
def test_a_value_does_not_differ_from_itself(value):
    assert changes(value, value) == []
    assert likeness(value, value) == 1.0


@given(VALUE, VALUE)
def test_differences_are_found_in_both_directions_or_in_neither(was, now):
    forth, back = changes(was, now), changes(now, was)

    assert bool(forth) == bool(back)
    assert all(change.path == "" or change.path.startswith("/") for change in forth)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (1, 1.0),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ('{"a": 1, "b": [1, 2]}', '{"b":[1.0,2],"a":1}'),
        (float("nan"), float("nan")),
        ({"text": '[{"x": "y"}]'}, {"text": '[ {"x":"y"} ]'}),
    ],
)
def test_what_means_the_same_does_not_differ(was, now):
    assert changes(was, now) == []


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (True, 1, [Change("", "changed", True, 1)]),
        ("1", 1, [Change("", "changed", "1", 1)]),
        (0.0, -0.0, []),
        (None, "", [Change("", "changed", None, "")]),
        (b"a", "a", [Change("", "changed", b"a", "a")]),
        ({"a": 1}, {}, [Change("/a", "removed", 1)]),
        ({}, {"a~/b": 1}, [Change("/a~0~1b", "added", None, 1)]),
        ({"a": None}, {}, [Change("/a", "removed", None)]),
        ((1, 2, 3), (1, 3), [Change("/1", "removed", 2)]),
        ((1, 3), (1, 2, 3), [Change("/1", "added", None, 2)]),
        ((1, 2, 3), (1, 9, 3), [Change("/1", "changed", 2, 9)]),
        ((1, 2, 3, 4), (0, 1, 2, 4), [Change("/0", "added", None, 0), Change("/2", "removed", 3)]),
        ('{"a": {"b": 1}}', '{"a": {"b": 2}}', [Change("/a/b", "changed", 1, 2)]),
        ('{"a": 1}', '{"a": 1', [Change("", "changed", '{"a": 1}', '{"a": 1')]),
        ('{"a": 1, "a": 2}', '{"a": 2}', [Change("", "changed", '{"a": 1, "a": 2}', '{"a": 2}')]),
        ({"x": ({"c": "old"},)}, {"x": ({"c": "new"},)}, [Change("/x/0/c", "changed", "old", "new")]),
    ],
    ids=repr,
)
def test_differences_are_named_leaf_by_leaf(was, now, expected):
    assert changes(was, now) == expected


def test_one_message_more_in_a_history_is_one_difference():
    history = tuple({"role": "user", "content": str(n)} for n in range(200))
    longer = (*history[:100], {"role": "user", "content": "new"}, *history[100:])

    assert changes(history, longer) == [Change("/100", "added", None, {"role": "user", "content": "new"})]


@given(st.text(max_size=80), st.text(max_size=80))
def test_the_stretches_of_a_text_add_up_to_both_texts(was, now):
    stretches = words(was, now)

    assert "".join(text for kind, text in stretches if kind != "added") == was
    assert "".join(text for kind, text in stretches if kind != "removed") == now


def test_texts_are_compared_by_word():
    assert words("pay 49 euros back", "pay 45 euros back") == (
        ("equal", "pay "),
        ("removed", "49"),
        ("added", "45"),
        ("equal", " euros back"),
    )


def test_very_long_texts_are_compared_in_one_stretch():
    was, now = "start " + "a " * 3000 + "end", "start " + "b " * 3000 + "end"

    assert [kind for kind, _ in words(was, now)] == ["equal", "removed", "added", "equal"]


@pytest.mark.parametrize(
    ("was", "now", "low", "high"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, 0.5, 0.5),
        ((1, 2, 3, 4), (1, 2, 3), 0.75, 0.75),
        ("refund order one", "refund order two", 0.4, 0.6),
        ("a", "b", 0.0, 0.0),
        (1, "x", 0.0, 0.0),
        (json.dumps({"a": 1}), '{"a":1}', 1.0, 1.0),
    ],
)
def test_likeness_grows_with_what_two_values_have_in_common(was, now, low, high):
    assert low <= likeness(was, now) <= high
