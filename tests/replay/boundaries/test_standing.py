"""What is registered under a tool's name answers for it: it keeps what it is and its signature, and never runs."""

import asyncio
import functools
import inspect
import os

import pytest

from runreel.replay.boundaries import functions, standing


class Echo:
    def call(self, kind, name, arguments, *, call_id="", defaults=None):
        return {"name": name, "arguments": arguments, "defaults": defaults or {}}


@pytest.fixture(autouse=True)
def echo():
    functions.connect(Echo())
    standing.expect({"search": "tool", "lookup": "tool"})


def find(q, index=3) -> dict:
    """Find it."""
    raise AssertionError("ran")


class Desk:
    def find(self, q):
        raise AssertionError("ran")


class Finder:
    limit = 5

    def __call__(self, q: str) -> dict:
        """Find it."""
        raise AssertionError("ran")


class Slotted:
    __slots__ = ("limit",)

    async def __call__(self, q):
        raise AssertionError("ran")


class Picky(type):
    def __new__(cls, name, bases, names, **rest):
        if bases:
            raise TypeError("not to be derived from")
        return super().__new__(cls, name, bases, names)


class Final(metaclass=Picky):
    def __call__(self, q):
        raise AssertionError("ran")


def fresh(function=find):
    """Make a function of its own: what a test swaps stays swapped."""
    made = type(function)(function.__code__, function.__globals__, "find", function.__defaults__, function.__closure__)
    made.__annotations__, made.__doc__ = function.__annotations__, function.__doc__
    return made


def asked(result):
    return result["name"], result["arguments"]


def test_what_is_registered_under_another_name_or_is_nothing_to_call_is_left_alone():
    values = [find, "a text", None, {"a": 1}, Desk, dict]

    assert all(standing.registered("another", value) is value for value in values)
    assert all(standing.registered("search", value) is value for value in values[1:])


def test_a_function_stays_itself_and_whoever_holds_it_holds_the_stub():
    function = fresh()
    held = [function]

    assert standing.registered("search", function) is function
    assert asked(held[0]("x")) == ("search", {"q": "x", "index": 3})
    assert inspect.signature(function) == inspect.signature(find)


def test_a_function_with_two_names_answers_for_each():
    function = fresh()

    first, second = standing.registered("search", function), standing.registered("lookup", function)

    assert (asked(first("x"))[0], asked(second("x"))[0]) == ("search", "lookup")
    assert (second.__doc__, inspect.signature(second)) == ("Find it.", inspect.signature(find))
    assert standing.registered("lookup", second) is second


def test_a_partial_is_asked_about_without_what_it_holds_and_stays_a_partial():
    by_place = functools.partial(lambda index, q: 1 / 0, 7)
    by_name = functools.partial(fresh(), index=7)
    before = inspect.signature(by_name)

    assert standing.registered("search", by_place) is by_place
    assert standing.registered("search", by_name) is by_name
    assert asked(by_place("x")) == ("search", {"q": "x"})
    assert by_name(q="x")["defaults"] == {"index": 7}
    assert inspect.signature(by_name) == before
    assert asked(standing.registered("lookup", by_name)("x"))[0] == "lookup"
    with pytest.raises(TypeError):
        by_name("x", wrong=1)


def test_a_bound_method_is_asked_about_without_its_object_also_under_two_names():
    desk, other = Desk(), Desk()

    assert asked(standing.registered("search", desk.find)("x")) == ("search", {"q": "x"})
    assert asked(standing.registered("lookup", other.find)(q="y")) == ("lookup", {"q": "y"})
    assert asked(desk.find("z"))[0] == "search"


@pytest.mark.parametrize("of", [staticmethod, classmethod])
def test_a_static_method_and_a_class_method_are_swapped_below_what_they_are(of):
    method = of(fresh())

    assert standing.registered("search", method) is method
    assert functions.name_of(method.__func__.__code__) == "search"


def test_a_callable_object_stays_itself_and_its_class_answers_for_it_alone():
    one, other = Finder(), Finder()

    assert standing.registered("search", one) is one
    assert asked(one("x")) == ("search", {"q": "x"})
    assert (isinstance(one, Finder), type(one).__name__, one.limit, one.__call__.__doc__) == (
        True,
        "Finder",
        5,
        "Find it.",
    )
    assert inspect.signature(one) == inspect.signature(Finder())
    assert standing.registered("search", one) is one
    with pytest.raises(AssertionError, match="ran"):
        other("x")


class Runner:
    def run(self, q):
        raise AssertionError("ran")

    async def arun(self, q):
        raise AssertionError("ran")

    def describe(self):
        return "runs"


def test_an_object_that_is_called_by_a_known_method_answers_by_it():
    one, other = Runner(), Runner()

    assert standing.registered("search", one) is one
    assert asked(one.run("x")) == asked(asyncio.run(one.arun("x"))) == ("search", {"q": "x"})
    assert (one.describe(), isinstance(one, Runner)) == ("runs", True)
    with pytest.raises(AssertionError, match="ran"):
        other.run("x")


def test_a_class_that_is_called_by_a_known_method_answers_in_all_its_objects():
    class Later(Runner):
        def execute(self, q):
            raise AssertionError("ran")

    standing.registered("lookup", Later)

    assert asked(Later().execute("x")) == ("lookup", {"q": "x"})


def test_an_object_with_slots_and_one_whose_class_allows_no_other_below_it_are_answered_for():
    slotted = standing.registered("search", Slotted())
    final = standing.registered("search", Final())

    assert asked(asyncio.run(slotted("x"))) == ("search", {"q": "x"})
    assert asked(final("x")) == ("search", {"q": "x"})


def test_what_cannot_be_changed_gets_a_function_in_its_place():
    removed = standing.registered("search", os.remove)

    assert (removed.__name__, inspect.signature(removed)) == ("remove", inspect.signature(os.remove))
    assert asked(removed("/nowhere"))[1]["path"] == "/nowhere"
    assert asked(standing.registered("search", "a text".replace)("a", "b"))[0] == "search"
    assert not standing.in_place(os.remove, "tool", "search")


def test_a_library_s_function_is_left_to_the_library():
    copied = standing.registered("search", inspect.getdoc)

    assert asked(copied(object=1)) == ("search", {"object": 1})
    assert inspect.getdoc(Finder.__call__) == "Find it."


def test_a_library_s_object_is_left_to_whoever_answers_for_that_library():
    from unittest.mock import MagicMock

    mock = MagicMock(return_value=1)

    assert standing.registered("search", mock) is mock
    assert not standing.in_place(mock, "tool", "search")


def test_what_has_a_cache_in_front_is_swapped_behind_it():
    cached = functools.lru_cache(fresh())

    assert standing.registered("search", cached) is cached
    assert asked(cached("x")) == ("search", {"q": "x", "index": 3})


def test_every_kind_of_function_keeps_its_kind():
    async def later(index, q):
        raise AssertionError("ran")

    def pieces(index, q):
        raise AssertionError("ran")
        yield

    async def pieces_later(index, q):
        raise AssertionError("ran")
        yield

    one, two, three = (
        standing.registered("search", functools.partial(made, 7)) for made in (later, pieces, pieces_later)
    )

    async def collect():
        return await one("x"), [asked(item) async for item in three("x")]

    assert inspect.iscoroutinefunction(one)
    assert inspect.isgeneratorfunction(two)
    assert inspect.isasyncgenfunction(three)
    answer, items = asyncio.run(collect())
    assert asked(answer) == asked(next(two("x"))) == items[0] == ("search", {"q": "x"})
