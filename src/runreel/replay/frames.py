"""Which frames of a stack are the agent's own code: for reports and the debugger, which speak of nothing else."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import FrameType

_LIBRARY = os.__file__.removesuffix("os.py")
_HERE = str(Path(__file__).parent) + os.sep
_OURS = (_HERE, str(Path(__file__).parents[1] / "record") + os.sep)
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_TYPED = frozenset({"<string>", "<stdin>"})
_MOST = 5


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Walk from a frame to its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def in_library(frame: FrameType) -> bool:
    """Whether a frame is Python's own code: the standard library, or what was never a file (but for `python -c`)."""
    name = frame.f_code.co_filename
    if name in _TYPED and frame.f_globals.get("__name__") == "__main__":
        return False
    return name.startswith(("<", _LIBRARY)) and not in_package(frame)


def in_package(frame: FrameType) -> bool:
    """Whether a frame is code of an installed package."""
    return any(part in frame.f_code.co_filename for part in _INSTALLED)


def in_replay(frame: FrameType) -> bool:
    """Whether a frame is the replay's own."""
    return frame.f_code.co_filename.startswith(_HERE)


def is_agents(frame: FrameType) -> bool:
    """Whether a frame is neither Python's, nor an installed package's, nor ours."""
    ours = frame.f_code.co_filename.startswith(_OURS)
    return not (ours or in_library(frame) or in_package(frame))


def agents_places(frame: FrameType | None) -> list[str]:
    """Return the agent's own frames at or above a frame, the innermost first, as texts."""
    return list(islice((place(one) for one in outwards(frame) if is_agents(one)), _MOST))


def place(frame: FrameType) -> str:
    """Return `file:line in function`."""
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
