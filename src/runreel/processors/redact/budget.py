"""The time that one value may take, growing with its size: what needs more is withheld, so that nothing hangs."""

from collections.abc import Callable
from time import thread_time

Clock = Callable[[], float]

_EVERY = 64  # calls between two looks at the clock


class BudgetExceededError(Exception):
    """A value took longer than its size allows. It never leaves the redactor."""


class Budget:
    """CPU time of one thread, so that a busy machine withholds nothing. It runs from the first call on: most values
    are known already, and to ask for the time takes longer than to find them."""

    __slots__ = ("_calls", "_clock", "_end", "_seconds")

    def __init__(self, seconds: float, clock: Clock = thread_time) -> None:
        self._clock = clock
        self._seconds = seconds
        self._end: float | None = None
        self._calls = 0

    def begin(self) -> None:
        """Let the time run, if it does not yet."""
        if self._end is None:
            self._end = self._clock() + self._seconds

    def check(self) -> None:
        """Raise BudgetExceededError when the time is over."""
        self._calls += 1
        if self._calls % _EVERY == 1:
            if self._end is None:
                self.begin()
            elif self._clock() > self._end:
                raise BudgetExceededError
