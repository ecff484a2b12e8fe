"""A stub is called, inspected and awaited like the code it replaces."""

import asyncio
import inspect

import pytest

from runreel.replay.boundaries import functions
from runreel.replay.boundaries.stubs import docstring, parameters, stub_code


class Echo:
    """Answers every call with what it was asked."""

    def call(self, kind, name, arguments, *, call_id="", defaults=None):
        return {"kind": kind, "name": name, "arguments": arguments, "defaults": defaults or {}}


@pytest.fixture(autouse=True)
def echo():
    functions.connect(Echo())


def plain_one(a, b=2):
    """What it does."""
    raise AssertionError("ran")


def every_form(a, /, b, *rest, c, d=4, **keywords) -> dict:
    raise AssertionError("ran")


def undocumented(a):
    return "a string that is no docstring"


async def later(a: int) -> dict:
    """Later."""
    raise AssertionError("ran")


def pieces(a):
    raise AssertionError("ran")
    yield a


async def pieces_later(a):
    raise AssertionError("ran")
    yield a


def make(held, other):
    def inner(a):
        raise AssertionError(held, other)

    return inner


@pytest.mark.parametrize("function", [plain_one, every_form, undocumented, later, pieces, pieces_later, make(1, 2)])
def test_a_stub_has_the_signature_the_name_the_docstring_and_the_kind_of_the_original(function):
    before = (
        inspect.signature(function),
        function.__doc__,
        function.__qualname__,
        inspect.iscoroutinefunction(function),
        inspect.isgeneratorfunction(function),
        inspect.isasyncgenfunction(function),
    )
    code = stub_code(function.__code__, 0)
    stub = type(function)(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    stub.__kwdefaults__, stub.__annotations__ = function.__kwdefaults__, function.__annotations__
    stub.__qualname__ = function.__qualname__

    assert before == (
        inspect.signature(stub),
        stub.__doc__,
        stub.__qualname__,
        inspect.iscoroutinefunction(stub),
        inspect.isgeneratorfunction(stub),
        inspect.isasyncgenfunction(stub),
    )
    assert (code.co_name, code.co_firstlineno) == (function.__name__, function.__code__.co_firstlineno)


def test_a_code_without_a_docstring_has_none():
    assert docstring(undocumented.__code__) is None
    assert docstring(plain_one.__code__) == "What it does."


def test_every_form_of_parameter_is_known():
    assert parameters(every_form.__code__) == (("a", "b"), ("c", "d"), "rest", "keywords")


def test_a_swapped_function_hands_on_every_argument_by_name_and_its_declared_defaults():
    functions.swap(every_form, "tool", "every")

    asked = every_form(1, 2, 3, 4, c=5, e=6)

    assert asked == {
        "kind": "tool",
        "name": "every",
        "arguments": {"a": 1, "b": 2, "rest": [3, 4], "c": 5, "d": 4, "e": 6},
        "defaults": {"d": 4},
    }


def test_whoever_holds_the_function_already_holds_the_stub():
    def search(query):
        raise AssertionError("ran")

    registry = {"search": search, "again": [search]}

    functions.swap(search, "tool", "search")

    assert registry["again"][0](query="x")["arguments"] == {"query": "x"}


def test_a_decorated_function_is_swapped_below_its_decorators():
    import functools

    calls = []

    def logged(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            calls.append(args)
            return function(*args, **kwargs)

        return inner

    @logged
    @logged
    def search(query):
        raise AssertionError("ran")

    functions.swap(search, "tool", "search")

    assert search("x")["arguments"] == {"query": "x"}
    assert calls == [("x",), ("x",)]


def test_a_function_with_a_closure_is_swapped_and_its_twin_is_not():
    one, two = make("one", "1"), make("two", "2")

    functions.swap(one, "tool", "inner")

    assert one(5)["arguments"] == {"a": 5}
    with pytest.raises(AssertionError, match="two"):
        two(5)


def test_async_functions_and_generators_are_answered_in_their_own_way():
    for function in (later, pieces, pieces_later):
        functions.swap(function, "tool", function.__name__)

    async def collect():
        return [item async for item in pieces_later(3)]

    assert asyncio.run(later(1))["arguments"] == {"a": 1}
    assert [item["arguments"] for item in pieces(2)] == [{"a": 2}]
    assert [item["arguments"] for item in asyncio.run(collect())] == [{"a": 3}]


def test_other_tasks_run_while_an_async_tool_is_answered():
    async def slow(a):
        raise AssertionError("ran")

    functions.swap(slow, "tool", "slow")
    order = []

    async def other():
        order.append("other")

    async def main():
        task = asyncio.create_task(other())
        await slow(1)
        order.append("answered")
        await task

    asyncio.run(main())

    assert order == ["other", "answered"]


def test_a_method_is_asked_about_without_the_object_it_is_called_on():
    class Toolbox:
        def search(self, query):
            raise AssertionError("ran")

        @classmethod
        def find(cls, query):
            raise AssertionError("ran")

    functions.swap(Toolbox.search, "tool", "search")
    functions.swap(Toolbox.__dict__["find"].__func__, "tool", "find")

    assert Toolbox().search("x")["arguments"] == {"query": "x"}
    assert Toolbox.find("x")["arguments"] == {"query": "x"}


def test_swapping_twice_is_no_harm_and_what_is_no_python_function_is_named():
    def search(query):
        raise AssertionError("ran")

    first = functions.swap(search, "tool", "search").__code__

    assert functions.swap(search, "tool", "search").__code__ is first
    with pytest.raises(TypeError, match="builtin_function_or_method"):
        functions.swap(len, "tool", "len")
