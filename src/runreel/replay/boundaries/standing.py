"""Whatever is registered under a tool's name, answered from the record: it stays what it was, and never runs.

Functions keep their identity: their code is swapped, so that whoever else holds them holds the stub as well. Partials
are changed in place, callable objects get a class of their own below theirs. What cannot be changed (built-ins, a
library's functions and methods, a function that already answers for another tool) gets a function in its place.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

from runreel.replay.boundaries import functions
from runreel.replay.boundaries.finding import is_users
from runreel.replay.boundaries.registrations import ENTRIES
from runreel.values import Kind

_kinds: dict[str, Kind] = {}
_packages: list[str] = []
MARK = "_runreel_tool"
"""Holds the name that something answers for which is no swapped function."""


def expect(kinds: Mapping[str, Kind], packages: Iterable[str] = ()) -> None:
    """Say which names are recorded. What is registered under any other is left alone."""
    _kinds.clear()
    _kinds.update(kinds)
    _packages[:] = packages


def registered(name: str, value: Any) -> Any:
    """Return what stands in for a value that is given the name of a tool: itself where it is nothing to call."""
    kind = _kinds.get(name)
    if kind is None:
        return value
    if isinstance(value, type):
        for method in _entries(value).values():
            _function(method, method, kind, name)
        return value
    if isinstance(value, (staticmethod, classmethod)):
        inner = stand_in(value.__func__, kind, name)
        return value if inner is value.__func__ else type(value)(inner)
    return stand_in(value, kind, name) if callable(value) or _entries(type(value)) else value


def marked(name: str) -> Callable[[Any], Any]:
    """Return the decorator that stands below all others of a definition."""
    return functools.partial(registered, name)


def stand_in(value: Any, kind: Kind, name: str) -> Any:
    """Return what answers in the place of something callable."""
    if getattr(value, MARK, "") == name:
        return value
    if isinstance(value, functools.partial):
        return _partial(value, kind, name)
    if isinstance(value, MethodType):
        return _method(value, kind, name)
    inner = inspect.unwrap(value)
    if isinstance(inner, FunctionType):
        return _function(value, inner, kind, name)
    if inner is value and inspect.isbuiltin(value):
        return _wrapper(value, kind, name)
    return _object(value, kind, name)


def in_place(value: Any, kind: Kind, name: str) -> bool:
    """Have something that is no function answer for a name, whoever holds it; say whether that can be done."""
    if not callable(value) or isinstance(value, type) or inspect.isbuiltin(value):
        return False
    return stand_in(value, kind, name) is value and getattr(value, MARK, "") == name


def _function(value: Any, inner: FunctionType, kind: Kind, name: str) -> Any:
    holds = functions.name_of(inner.__code__)
    if holds == name:
        return value
    if holds is None and _is_own(inner.__code__):
        functions.swap(inner, kind, name)
        return value
    return _wrapper(value, kind, name)


def _method(value: MethodType, kind: Kind, name: str) -> Any:
    function = value.__func__
    if not isinstance(function, FunctionType):
        return _wrapper(value, kind, name)
    inner = inspect.unwrap(function)
    holds = functions.name_of(inner.__code__) if isinstance(inner, FunctionType) else None
    if holds == name:
        return value
    if holds is None and isinstance(inner, FunctionType) and _is_own(inner.__code__):
        functions.swap(inner, kind, name)
        return value
    return _wrapper(value, kind, name)


def _is_own(code: CodeType) -> bool:
    """Say whether a function may be swapped where it is: a library's may be used by the library itself."""
    return code.co_filename.startswith("<") or is_users(code.co_filename, _packages)


def _partial(value: functools.partial[Any], kind: Kind, name: str) -> Any:
    """What the model was told of is the partial: what it holds already is no argument of the call."""
    if getattr(value.func, MARK, ""):  # it answers for another tool as well
        return _wrapper(value, kind, name)
    stub = _wrapper(value, kind, name)
    value.__setstate__((stub, (), {}, {**value.__dict__, MARK: name}))  # type: ignore[attr-defined]
    return value


def _object(value: Any, kind: Kind, name: str) -> Any:
    """An object gets a class below its own, whose known methods answer; a library's object is the library's."""
    own = type(value)
    names: dict[str, Any] = {entry: functions.copy(method, kind, name) for entry, method in _entries(own).items()}
    if not names:
        return value
    said = {"__module__": own.__module__, "__qualname__": own.__qualname__, "__doc__": own.__doc__}
    try:
        below: Any = type(own)
        value.__class__ = below(own.__name__, (own,), {**names, "__slots__": (), MARK: name, **said})
    except (TypeError, AttributeError):  # a class that may not be derived from, or an object that is frozen
        return _wrapper(value, kind, name)
    return value


def _entries(own: type) -> dict[str, FunctionType]:
    """Return the methods of the agent's own by which objects of a class are called."""
    found = {name: inspect.getattr_static(own, name, None) for name in ENTRIES}
    return {
        name: method for name, method in found.items() if isinstance(method, FunctionType) and _is_own(method.__code__)
    }


def _wrapper(value: Any, kind: Kind, name: str) -> Callable[..., Any]:
    """Make a function of the same signature, name, documentation and kind that answers."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # built-ins that say nothing about themselves
        signature = None
    plain = value.func if isinstance(value, functools.partial) else value

    def ask(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return functions.ask(kind, name, *_bound(signature, args, kwargs), plain)

    made = _of_kind(value, ask)
    functools.update_wrapper(made, plain)
    vars(made).pop("__wrapped__")  # nobody shall get at what must not run
    if signature is not None:
        vars(made)["__signature__"] = signature
    setattr(made, MARK, name)
    return made


def _bound(
    signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments by name, and the declared defaults. Raises the TypeError of a call that does not fit."""
    if signature is None:
        return {**{str(position): value for position, value in enumerate(args)}, **kwargs}, {}
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    named: dict[str, Any] = {}
    for parameter, value in bound.arguments.items():
        kind = signature.parameters[parameter].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        elif kind is not inspect.Parameter.VAR_POSITIONAL or value:
            named[parameter] = value
    declared = {one.name: one.default for one in signature.parameters.values() if one.default is not one.empty}
    return named, declared


def _of_kind(value: Any, ask: Callable[[tuple[Any, ...], Mapping[str, Any]], Any]) -> Callable[..., Any]:
    """Make the function that calls `ask`: async, or a generator, where the value is."""
    inner = inspect.unwrap(value) if not isinstance(value, functools.partial) else value
    if inspect.isasyncgenfunction(inner):

        async def pieces_later(*args: Any, **kwargs: Any) -> Any:
            await functions.checkpoint()
            for item in functions.items_of(ask(args, kwargs)):
                yield item

        return pieces_later
    if inspect.isgeneratorfunction(inner):

        def pieces(*args: Any, **kwargs: Any) -> Any:
            yield from functions.items_of(ask(args, kwargs))

        return pieces
    if inspect.iscoroutinefunction(inner):

        async def later(*args: Any, **kwargs: Any) -> Any:
            await functions.checkpoint()
            return ask(args, kwargs)

        return later

    def plain(*args: Any, **kwargs: Any) -> Any:
        return ask(args, kwargs)

    return plain
