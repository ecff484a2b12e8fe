"""What every adapter stands on: which calls of a framework are recorded, and what the record answers to them."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MethodType
from typing import Any

from runreel.record import calls
from runreel.record.convert import plain
from runreel.replay.boundaries import functions as stubs
from runreel.replay.boundaries import standing
from runreel.replay.boundaries.errors import revive_chain
from runreel.values import Kind, Value


@dataclass(frozen=True, slots=True)
class Answers:
    """The recorded names with their kinds, and who answers for them.

    `facts` are what else the record holds for a framework; what `tell` is told stands in the report.
    """

    kinds: Mapping[str, Kind]
    asking: stubs.Asking
    facts: Mapping[str, Any] = field(default_factory=dict)
    tell: Callable[[str], None] = field(default=lambda _: None)

    def wants(self, kind: Kind, name: object, *inner: object) -> bool:
        """Say whether a call is to be answered here: its name is recorded, and nothing below it answers already.

        `inner` are the functions that the framework would call: one that was swapped, or is a boundary of the
        recorder, is asked itself, and knows more of its arguments and its result.
        """
        return isinstance(name, str) and self.kinds.get(name) == kind and not any(map(is_answered, inner))

    def ask(
        self,
        kind: Kind,
        name: str,
        arguments: object,
        *,
        call_id: str = "",
        defaults: Mapping[str, object] | None = None,
        errors: Mapping[str, Any] | None = None,
    ) -> Value:
        """Return the recorded result. Raises the recorded failure, of a class of `errors` where it is one of them, or
        DivergedError."""
        try:
            return self.ask_plainly(kind, name, arguments, call_id=call_id, defaults=defaults)
        except stubs.FailedError as failed:
            error = revive_chain(failed.type, failed.message, failed.causes, errors)
        raise error

    def ask_plainly(
        self,
        kind: Kind,
        name: str,
        arguments: object,
        *,
        call_id: str = "",
        defaults: Mapping[str, object] | None = None,
    ) -> Value:
        """Return the recorded result. Raises FailedError for a recorded failure, or DivergedError."""
        declared = {key: plain(value, str) for key, value in (defaults or {}).items()}
        return self.asking.call(
            kind, name, plain(arguments, str), call_id=call_id or stubs.current_call_id(), defaults=declared
        )


def is_answered(function: object) -> bool:
    """Say whether a function, or one below its decorators, is answered from the record wherever it is called."""
    for one in _layers(function):
        code = getattr(one, "__code__", None)
        if code is not None and stubs.is_stub(code):
            return True
        if getattr(one, standing.MARK, ""):
            return True
    return is_boundary(function)


def is_boundary(function: object) -> bool:
    """Say whether a function, or one below its decorators, is a boundary of the recorder."""
    known = [one.function for one in calls.declared.values()]
    return any(one is boundary for one in _layers(function) for boundary in known)


def _layers(function: object) -> Iterator[object]:
    """Yield a function, what a bound method or a partial calls, and what each decorator holds."""
    seen: list[object] = []
    waiting = [function]
    while waiting:
        one = waiting.pop()
        if one is None or any(one is before for before in seen):
            continue
        seen.append(one)
        yield one
        if isinstance(one, functools.partial):
            waiting.append(one.func)
        elif isinstance(one, MethodType):
            waiting.append(one.__func__)
        else:
            waiting.append(inspect.getattr_static(one, "__wrapped__", None))
        call = inspect.getattr_static(type(one), "__call__", None)
        if hasattr(call, "__code__"):
            waiting.append(call)


def defaults_of(function: object) -> dict[str, object]:
    """Return the declared defaults of a function; none where it has no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {}
    return {one.name: one.default for one in parameters if one.default is not one.empty}


@contextmanager
def calling(call_id: object) -> Iterator[None]:
    """Name the model's id of the call that the block makes: boundaries below it ask with it."""
    token = stubs.call_id.set(call_id if isinstance(call_id, str) else "")
    try:
        yield
    finally:
        stubs.call_id.reset(token)


def of_user(found: Callable[..., Any] | None) -> Mapping[str, Any]:
    """Return the names of the module that a function stands in, where its errors may be found."""
    return getattr(inspect.unwrap(found), "__globals__", {}) if found is not None else {}
