"""Keeps the memory of processes that see unredacted text from being written to a disk when they crash."""

import contextlib
import ctypes
import resource
import sys
from pathlib import Path

_PR_SET_DUMPABLE = 4


def no_core_dumps() -> None:
    """See to it that no core file of this process is written, and that what a handler of the system might still get is
    empty. Other processes of the same user cannot read its memory from then on, either."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not sys.platform.startswith("linux"):
        return  # the limit is all there is
    with contextlib.suppress(OSError):  # a kernel without it
        Path("/proc/self/coredump_filter").write_text("0", encoding="ascii")
    # A handler in core_pattern gets a dump whatever the limit says: not of a process that is not dumpable.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
