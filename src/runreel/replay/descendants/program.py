"""In a Python program that the agent started: put every boundary in place, then run it.

A script is run here, as the agent's own is (`python -m runreel.replay.descendants.program SCRIPT ARGS`). Modules
(`-m`), code on the command line (`-c`) and from standard input run by themselves once `boot` has prepared the process.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from runreel.replay.child import Child
from runreel.replay.descendants.broker import connect
from runreel.replay.protocol import Frame, Link

UNANSWERED = "runreel replay: a program that the agent started cannot reach the replay, and does not run"


def main(arguments: Sequence[str]) -> int:
    """Run a script; return its exit code."""
    script, *rest = arguments
    return _child(script, {"entry": {"script": script}, "args": rest}).run()


def boot(what: str) -> None:
    """Prepare this process. What it runs, it runs by itself afterwards."""
    _child(what, {"entry": {}, "args": []}).boot()


def _child(what: str, own: dict[str, object]) -> Child:
    try:
        channel = connect(sys.orig_argv)
        plan = channel.receive()
    except OSError as error:
        end(f"{UNANSWERED}: {what} ({error.strerror})")
    if plan is None:
        end(f"{UNANSWERED}: {what}")
    assert plan is not None
    link = Link(channel)
    link.tell(Frame("note", {"text": f"{Path(what).name}, a program that the agent started, was answered too"}))
    return Child(link, Frame("plan", {**plan.head, **own, "part": True}))


def end(message: str) -> None:
    """End the process before any of the program has run."""
    os.write(2, f"{message}\n".encode())
    os._exit(125)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
