"""Keeps what the embedded engine prints by itself off the terminal: it quotes files of the store, in its own words."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Hold back standard error while the block runs: where it fails, its exception says why, and nothing else does.

    The engine is C++ and writes to the descriptor, which the whole process shares. What was written while a block went
    well is passed on afterwards: it may be another thread's.
    """
    try:
        before = os.dup(2)
    except OSError:  # closed: there is nothing to hold back
        yield
        return
    held = os.memfd_create("runreel-stderr") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)
    try:
        _flush()
        os.dup2(held, 2)
        try:
            yield
        finally:
            _flush()
            os.dup2(before, 2)
        with contextlib.suppress(OSError):  # nobody reads it any more
            os.lseek(held, 0, os.SEEK_SET)
            while said := os.read(held, 65536):
                os.write(2, said)
    finally:
        os.close(held)
        os.close(before)


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or replaced by something of a test's
        sys.stderr.flush()
