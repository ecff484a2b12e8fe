"""Put something around a method in every class that defines it, those that the agent makes later as well."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

Guard = Callable[[Callable[..., Any]], Callable[..., Any]]


def guard_classes(base: Any, guards: Mapping[str, Guard], *, first: bool = False) -> None:
    """Guard the methods named in each class below the base class that defines them, now or later; `first`, before the
    library does something of its own to the class."""

    def guard(cls: Any) -> None:
        for name, made in guards.items():
            method = cls.__dict__.get(name)
            if inspect.isfunction(method):
                setattr(cls, name, made(method))

    own = base.__dict__.get("__init_subclass__")

    def __init_subclass__(cls: Any, /, **keywords: Any) -> None:  # noqa: N807 - it takes the place of the class's own
        if first:
            guard(cls)
        if own is None:
            super(base, cls).__init_subclass__(**keywords)
        else:
            own.__func__(cls, **keywords)
        if not first:
            guard(cls)

    base.__init_subclass__ = classmethod(__init_subclass__)
    waiting = list(base.__subclasses__())
    while waiting:
        cls = waiting.pop()
        guard(cls)
        waiting += cls.__subclasses__()
