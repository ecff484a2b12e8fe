"""A recorded exception, raised again: same type where it can be found, same text always."""

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_GROUP = re.compile(r"(.*) \((\d{1,3}) sub-exceptions?\)", re.DOTALL)
_ERRNO = re.compile(r"\[Errno (\d+)\] (.*?)(?:: ('.*'|\".*\"))?", re.DOTALL)

# Marks the classes made here: they are found among the loaded ones, and are not what was recorded.
_MADE = "_runreel_made"


def revive_error(
    type_name: str, message: str, namespace: Mapping[str, Any] | None = None, made_with: tuple[Any, ...] = ()
) -> Exception:
    """Return an exception of the recorded type whose text is the recorded message.

    `made_with` are the recorded arguments, where they are known.

    `type_name` is a name or a path (`requests.exceptions.HTTPError`). It is looked for among the builtins, in the
    namespace of the function that raised it, by its path, and among the exception classes that are loaded. Where it
    is found nowhere the exception is an Exception of a class made for it, with that name.
    """
    kind = _find(type_name, namespace or {})
    if kind is None:
        kind = type(type_name.rpartition(".")[2] or "Exception", (Exception,), {_MADE: True})
    for arguments in (*((made_with,) if made_with else ()), *_arguments(kind, message)):
        error = _made(kind, arguments)
        if error is not None and str(error) == message:
            return error
    return _past_constructor(kind, message) or _forced(kind, message)


def revive_chain(
    type_name: str,
    message: str,
    causes: Iterable[Sequence[str]],
    namespace: Mapping[str, Any] | None = None,
    *,
    made_with: tuple[Any, ...] = (),
) -> Exception:
    """Return a recorded exception with its recorded causes (`raise ... from`): types and texts, nearest first."""
    error = revive_error(type_name, message, namespace, made_with)
    above: BaseException = error
    for kind, text in causes:
        above.__cause__ = revive_error(kind, text, namespace)
        above = above.__cause__
    return error


def _past_constructor(kind: type[Exception], message: str) -> Exception | None:
    """Make an instance of the class itself without its constructor, which wants more than was recorded."""
    try:
        error = kind.__new__(kind, message)
        return error if str(error) == message else None
    except Exception:  # noqa: BLE001 - what a class does without its constructor is anybody's guess
        return None


def _made(kind: type[Exception], arguments: tuple[Any, ...]) -> Exception | None:
    try:
        return kind(*arguments)
    except Exception:  # noqa: BLE001 - constructors of exceptions may raise anything; there are other ways
        return None


def _arguments(kind: type[Exception], message: str) -> Iterator[tuple[Any, ...]]:
    if issubclass(kind, KeyError):  # its text is the repr of its argument
        try:
            yield (ast.literal_eval(message),)
        except (ValueError, SyntaxError):
            pass
    if issubclass(kind, OSError) and (match := _ERRNO.fullmatch(message)):
        number, text, name = match.groups()
        yield (int(number), text) if name is None else (int(number), text, ast.literal_eval(name))
    if issubclass(kind, ExceptionGroup) and (match := _GROUP.fullmatch(message)):
        yield match[1], [Exception() for _ in range(int(match[2]))]
    if not message:
        yield ()
    yield (message,)


def _forced(kind: type[Exception], message: str) -> Exception:
    """Make an instance past its constructor: of a class of the same name below the recorded one."""
    names: dict[str, Any] = {
        "__init__": _ignore,
        "__str__": lambda _: message,
        "__module__": kind.__module__,
        _MADE: True,
    }
    try:
        error: Exception = type(kind.__name__, (kind,), {**names, "__qualname__": kind.__qualname__})(message)
    except TypeError:  # a class that may not be derived from, or made without its arguments
        error = type(kind.__name__, (Exception,), names)(message)
    error.args = (message,)
    return error


def _ignore(*_: object) -> None:
    """Stand in for a constructor that wants more than a message."""


def _find(name: str, namespace: Mapping[str, Any]) -> type[Exception] | None:
    module, _, short = name.rpartition(".")
    found = [getattr(builtins, name, None), namespace.get(name), _by_path(module, short)]
    for candidate in (*found, *_loaded(module, short)):
        # SystemExit and KeyboardInterrupt would end the agent instead of reaching its handler.
        if isinstance(candidate, type) and issubclass(candidate, Exception):
            return candidate
    return None


def _by_path(module: str, name: str) -> object:
    if not module:
        return None
    try:
        return getattr(importlib.import_module(module), name, None)
    except Exception:  # noqa: BLE001 - a module that does not import (any more) is only one place less to look
        return None


def _loaded(module: str, name: str) -> list[type[Exception]]:
    """Find the loaded exception class of that name. Of several it is the standard library's: others take its names
    for what they derive from it (`requests.JSONDecodeError`). Else there is no telling which it was."""
    found, seen = [], set()
    waiting: list[type[Exception]] = [Exception]
    while waiting:
        kind = waiting.pop()
        for below in type.__subclasses__(kind):
            if below not in seen:
                seen.add(below)
                waiting.append(below)
                if below.__name__ == name and (not module or below.__module__ == module) and _MADE not in vars(below):
                    found.append(below)
    standard = [kind for kind in found if kind.__module__.partition(".")[0] in sys.stdlib_module_names]
    return next((some for some in (found, standard) if len(some) == 1), [])
