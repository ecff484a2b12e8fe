import dataclasses
import enum
from collections import OrderedDict, deque, namedtuple
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from runreel.canonical import dumps, loads
from runreel.record.convert import UnrecordableError, plain, rebuild, restore, thaw


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Line:
    item: str
    price: Decimal = Decimal("0.10")


@dataclasses.dataclass
class Order:
    id: UUID
    lines: list[Line]
    colour: Colour | None = None


class Point(NamedTuple):
    x: int
    when: date


class Customer(BaseModel):
    name: str
    born: date
    orders: list[int] = []


Pair = namedtuple("Pair", "a b")
NUMBER = UUID("123e4567-e89b-12d3-a456-426614174000")


@pytest.mark.parametrize(
    ("value", "recorded"),
    [
        (None, None),
        (True, True),
        (Level.LOW, 1),
        (Colour.RED, "red"),
        ([1, (2, "x")], (1, (2, "x"))),
        (deque([1]), (1,)),
        ({"b", "a"}, ("a", "b")),
        (OrderedDict(a=1), {"a": 1}),
        ({1: "x"}, {"1": "x"}),
        (bytearray(b"x"), b"x"),
        (memoryview(b"x"), b"x"),
        (datetime(2026, 1, 1, 12), "2026-01-01T12:00:00"),
        (timedelta(seconds=1.5), 1.5),
        (Decimal("1.10"), "1.10"),
        (Path("/tmp/x"), "/tmp/x"),
        (NUMBER, str(NUMBER)),
        (Pair(1, 2), (1, 2)),
        (Line("tea"), {"item": "tea", "price": "0.10"}),
        (Customer(name="Ada", born=date(1815, 12, 10)), {"name": "Ada", "born": "1815-12-10", "orders": ()}),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_values_have_one_recorded_form(value, recorded):
    got = plain(value)

    assert got == recorded
    assert type(got) is type(recorded)


def test_arrays_with_a_tolist_are_recorded_as_lists():
    class Array:
        def tolist(self):
            return [[1.5], [2.5]]

    assert plain(Array()) == ((1.5,), (2.5,))


def test_a_type_without_a_recorded_form_is_named_and_its_value_is_not():
    class Session:
        def __repr__(self):
            return "<password=hunter2>"

    with pytest.raises(UnrecordableError) as caught:
        plain({"s": Session()})

    assert "Session" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert plain([Session()], lambda value: "?") == ("?",)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_what_json_and_bytes_can_say_comes_back_as_it_was(value):
    assert thaw(loads(dumps(plain(value)))) == value


def test_what_is_thawed_is_the_agents_own():
    recorded = {"a": ({"b": 1},)}

    got = thaw(recorded)
    got["a"][0]["b"] = 2
    got["a"].append(3)

    assert recorded == {"a": ({"b": 1},)}


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (Order(NUMBER, [Line("tea", Decimal("2.50"))], Colour.RED), Order),
        ([Line("tea")], list[Line]),
        ({"x": Line("tea")}, dict[str, Line]),
        ({1: "one"}, dict[int, str]),
        (Point(1, date(2026, 1, 1)), Point),
        ((1, "x"), tuple[int, str]),
        ((1, 2, 3), tuple[int, ...]),
        ({"a", "b"}, set[str]),
        (Customer(name="Ada", born=date(1815, 12, 10)), Customer),
        (Customer(name="Ada", born=date(1815, 12, 10)), Customer | None),
        (None, Line | None),
        (Path("a/b"), Path),
        (Decimal("1.10"), Annotated[Decimal, "money"]),
        (datetime(2026, 1, 1), datetime),
        (timedelta(seconds=2), timedelta),
        (Level.LOW, Level),
        (b"\x00", bytes),
        ({"a": [1]}, Any),
        ({"a": [1]}, dict),
        ("text", str),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_a_declared_type_comes_back(value, hint):
    got = restore(plain(value), hint)

    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize("hint", [Line, Customer, Point, Colour, int, "not a type", list[Line]])
def test_a_value_that_does_not_fit_its_declared_type_comes_back_as_recorded(hint):
    assert restore({"unknown": (1,)}, hint) == {"unknown": [1]}


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ('{"item": "tea"}', dict, {"item": "tea"}),
        ('{"name": "Ada", "born": "1815-12-10"}', Customer, Customer(name="Ada", born=date(1815, 12, 10))),
        ("[1]", list[int] | None, [1]),
        ("not json", dict, "not json"),
        ('{"item": "tea"}', str, '{"item": "tea"}'),
        ('{"item": "tea"}', Any, '{"item": "tea"}'),
        ('{"item": "tea"}', str | dict, '{"item": "tea"}'),
    ],
)
def test_json_text_that_somebody_else_recorded_is_read_where_the_type_wants_it(text, hint, value):
    assert restore(text, hint) == value


@pytest.mark.parametrize(
    ("output", "extra", "exact"),
    [
        ("sunny", {"result.type": "text"}, "sunny"),
        ('{"a":1}', {"result.type": "text"}, '{"a":1}'),
        ('{"a":[1]}', {"result.type": "json"}, {"a": (1,)}),
        ('{"$bytes":"AA=="}', {"result.type": "json"}, b"\x00"),
        (({"content": "x"},), {"result.value": '["x"]'}, ("x",)),
        (({"content": "x"},), {}, ({"content": "x"},)),
        ("text", None, "text"),
    ],
)
def test_the_exact_result_is_made_from_what_the_conventions_carry_and_our_own_word(output, extra, exact):
    assert rebuild(output, extra) == exact
