"""The debugger of `replay --break-at N`, in the agent's process: it opens in the agent's code, at the call that asks.

The call has been matched, its answer is here and not given yet. pdb is used whatever PYTHONBREAKPOINT names: another
debugger may draw from the agent's randomness, or open a socket, and the replay would be another one. The agent's own
`breakpoint()` is left to Python.
"""

import io
import os
import pdb  # noqa: T100 - opening it is what this is for
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TextIO

from runreel.replay import frames
from runreel.replay.boundaries.functions import is_stub

_OURS_TOO = frozenset({"", "0", "pdb.set_trace"})


def stop(what: str, left: Callable[[], None]) -> None:
    """Open the debugger in the agent's code that is on the stack; return when the user goes on.

    Args:
        what: What is asked for here, for people.
        left: Called when the user quits the debugger; it must end the process.
    """
    stack = list(frames.outwards(sys._getframe(1)))
    frame = next((one for one in stack if frames.is_agents(one) and not is_stub(one.f_code)), stack[-1])
    callers = list(frames.outwards(frame))
    own = [one for one in callers if frames.is_agents(one)] or callers[-1:]
    debugger = _Debugger(own[-1], left, _terminal())
    debugger.message(f"runreel: {what} is asked for here; the answer comes when you go on (c, n, s)")
    if (wanted := os.environ.get("PYTHONBREAKPOINT", "")) not in _OURS_TOO:
        debugger.message(f"runreel: PYTHONBREAKPOINT={wanted} is kept for the agent's own breakpoint(); this is pdb")
    debugger.open(frame, own)


class _Debugger(pdb.Pdb):
    """pdb, opened where the stack is instead of at the next line, and blind to the replay's own frames."""

    def __init__(self, outermost: FrameType, left: Callable[[], None], terminal: TextIO | None) -> None:
        super().__init__(stdin=terminal, stdout=terminal)
        self._left = left
        self.reset()
        self.botframe = outermost

    def open(self, frame: FrameType, own: list[FrameType]) -> None:
        self.interaction(frame, None)
        if self.breaks or self.stoplineno != -1:  # not plainly "continue": there is something to stop at
            for one in own:
                one.f_trace = self.trace_dispatch
            sys.settrace(self.trace_dispatch)

    def interaction(self, *arguments: Any) -> None:
        """Wait for the user, while deadlines that count on the monotonic clock wait, too."""
        began = time.monotonic()
        try:
            super().interaction(*arguments)
        finally:
            _hold(time.monotonic() - began)

    def stop_here(self, frame: FrameType) -> bool:
        return not frames.in_replay(frame) and super().stop_here(frame)

    def set_quit(self) -> None:
        super().set_quit()
        self._left()


def _terminal() -> TextIO | None:
    """Return the terminal itself where somebody sits at it, but what the process prints goes elsewhere: into a file, or
    to the agent that started this program. None where the standard streams do."""
    if not sys.stdin.isatty() or sys.stdout.isatty():
        return None
    try:
        return io.TextIOWrapper(io.FileIO("/dev/tty", "r+"), write_through=True)
    except OSError:
        return None


def _hold(seconds: float) -> None:
    """Set the monotonic clock back by the time that somebody looked around: nothing of the agent's is late for it."""
    now, now_ns = time.monotonic, time.monotonic_ns
    time.monotonic = lambda: now() - seconds
    time.monotonic_ns = lambda: now_ns() - int(seconds * 1e9)
