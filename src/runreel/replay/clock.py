"""The agent's clock: it stands still at the recorded time, moves on with every answer, and never runs by itself.

Wall-clock time follows the record in every thread (`time.time`, `datetime.now`, `date.today`, `uuid1`...). Monotonic
time stays real, so that deadlines work and do not fire falsely. Sleeping moves the clock instead of waiting.
"""

import datetime as dt
import os
import sys
import threading
import time
from types import ModuleType
from typing import Any

from runreel.replay.imports import when_imported

# time-machine imports pytest where it is installed, to offer it a fixture: a third of a second, and an agent that asks
# whether it is being tested would get another answer than it was recorded with.
if "pytest" in sys.modules:
    import time_machine
else:
    sys.modules["pytest"] = None  # type: ignore[assignment]
    try:
        import time_machine
    finally:
        del sys.modules["pytest"]

# A sleeping task waits for real for this share of its time: tasks wake up in the order of their sleeps, and one that
# sleeps in an endless loop leaves room for the others.
_SHARE = 1000


class Clock:
    """Owns the agent's time from `start` on, in whole microseconds. Thread-safe."""

    def __init__(self, start_ns: int) -> None:
        self._lock = threading.Lock()
        self._now_us = start_ns // 1000
        self._traveller: Any = None

    def start(self) -> None:
        """Stop the clock at the start, and have `time.sleep` and `asyncio.sleep` move it."""
        self._traveller = time_machine.travel(0, tick=False).start()
        self._traveller.shift(dt.timedelta(microseconds=self._now_us))
        when_imported("time", self._patch_sleep)
        when_imported("asyncio.tasks", self._patch_async_sleep)
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """A thread that the forked process does not have may have held the lock."""
        self._lock = threading.Lock()

    def reach(self, time_ns: int) -> None:
        """Move the clock on to a time; it never goes back."""
        with self._lock:
            ahead_us = time_ns // 1000 - self._now_us
            if ahead_us > 0:
                self._now_us += ahead_us
                self._traveller.shift(dt.timedelta(microseconds=ahead_us))

    @property
    def now_ns(self) -> int:
        return self._now_us * 1000

    def _patch_sleep(self, module: ModuleType) -> None:
        real_sleep = module.sleep

        def sleep(seconds: float) -> None:
            if seconds < 0 or threading.current_thread().daemon:
                real_sleep(seconds)  # a heartbeat in the background must not drive the clock
            else:
                self.reach(self.now_ns + int(seconds * 1e9))

        module.sleep = sleep  # type: ignore[attr-defined]

    def _patch_async_sleep(self, module: ModuleType) -> None:
        real_sleep = module.sleep

        async def sleep(delay: float, result: Any = None) -> Any:
            if delay <= 0:
                return await real_sleep(delay, result)
            wake_ns = self.now_ns + int(delay * 1e9)
            await real_sleep(delay / _SHARE)
            self.reach(wake_ns)
            return result

        module.sleep = sleep  # type: ignore[attr-defined]
        package = sys.modules.get("asyncio")
        if hasattr(package, "sleep"):  # imported before: the package holds the name too
            package.sleep = sleep  # type: ignore[union-attr]


def real_time_ns() -> int:
    """Return the real wall-clock time, whatever the agent's clock says."""
    hatch = time_machine.escape_hatch
    return hatch.time.time_ns() if hatch.is_travelling() else time.time_ns()


def use_real_time(module: ModuleType, name: str = "time_ns") -> None:
    """Give a module that imported `time_ns` by name the real one: telemetry says when the replay ran."""
    if hasattr(module, name):
        setattr(module, name, real_time_ns)
