"""Our time, which never goes back: what orders news must not be undone by a clock that is set back."""

import threading
import time
from collections.abc import Callable


class Onward:
    """Nanoseconds since 1970: those of the clock, and where it is set back, those that have really passed since.

    Thread-safe.

    Args:
        clock: The machine's time, which may be set.
        steady: Nanoseconds that only ever go on.
    """

    def __init__(self, clock: Callable[[], int] = time.time_ns, steady: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._steady = steady
        self._lock = threading.Lock()
        self._last = clock(), steady()

    def __call__(self) -> int:
        """Return the time: never less than any call before, and at least as much later as has passed."""
        with self._lock:
            steady = self._steady()
            now = max(self._clock(), self._last[0] + steady - self._last[1])
            self._last = now, steady
            return now


onward_ns = Onward()
"""The time of this process: all its parts see the same."""
