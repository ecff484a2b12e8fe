"""What the names of a span's attributes say by themselves: found out once for each set of names, since an agent's spans
have the same few."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, TypeVar

T = TypeVar("T")
_MOST_SETS: Final = 1000
_MOST_CHARS: Final = 4000


class Names:
    """The names of some attributes, in their order. Thread-safe: what is asked twice has the same answer."""

    __slots__ = ("_answers", "_begun", "all")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.all = names
        self._begun: dict[str | tuple[str, ...], bool] = {}
        self._answers: dict[Hashable, Any] = {}

    def begin(self, starts: str | tuple[str, ...]) -> bool:
        """Say whether one of the names begins so."""
        known = self._begun.get(starts)
        if known is None:
            known = self._begun[starts] = any(name.startswith(starts) for name in self.all)
        return known

    def once(self, question: Hashable, answer: Callable[[], T]) -> T:
        """Return what `answer` returned when this was asked first. Questions come from the code, never from a span."""
        try:
            found: T = self._answers[question]
        except KeyError:
            found = self._answers[question] = answer()
        return found


_SETS: dict[tuple[str, ...], Names] = {}


def names_of(attributes: Iterable[str]) -> Names:
    """Return the names of these attributes, with what is known of them; very long ones are not kept."""
    names = tuple(attributes)
    known = _SETS.get(names)
    if known is None:
        known = Names(names)
        if sum(map(len, names)) <= _MOST_CHARS:
            if len(_SETS) >= _MOST_SETS:
                _SETS.clear()
            _SETS[names] = known
    return known
