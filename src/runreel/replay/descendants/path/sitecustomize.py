"""Found by every Python program that an agent starts in a replay, before anything of the program runs.

A script is started over, run by `runreel.replay.descendants.program`; any other program is prepared here. The
environment's own sitecustomize, if it has one, runs as well.
"""

import importlib.machinery
import importlib.util
import json
import os
import socket
import struct
import sys

_RUNNER = "runreel.replay.descendants.program"
_HERE = os.path.realpath(__file__).rpartition(os.sep)[0]


def _own() -> None:
    """Run the sitecustomize that this one stands before."""
    folders = [folder for folder in sys.path if os.path.realpath(folder or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", folders)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _tell(words: list[str]) -> None:
    """Tell the replay of a program that does not run, in the words of `runreel.replay.protocol`, which is not here."""
    what = " ".join(["python", *words[1:3]])[:200]
    ours, theirs = socket.socketpair()
    try:
        with socket.socket(fileno=os.dup(int(os.environ["RUNREEL_REPLAY_LINK"]))) as meeting:
            socket.send_fds(meeting, [b"+"], [theirs.fileno()])
        for head in ({"type": "hello", "command": words}, {"type": "unanswered", "name": what}):
            text = json.dumps(head).encode()
            ours.sendall(struct.pack(">II", len(text), 0) + text)
        theirs.close()
        ours.shutdown(socket.SHUT_WR)
        while ours.recv(65536):  # until it has been passed on
            continue
    except OSError:
        return  # whoever would be told is gone
    finally:
        theirs.close()


def _prepare() -> None:
    words = sys.orig_argv
    if _RUNNER in words or "from multiprocessing.resource_tracker import" in " ".join(words):
        return  # the runner prepares itself; what tidies up after others runs nothing of the agent
    if importlib.util.find_spec("runreel") is None:
        said = f"runreel replay: {sys.executable} has no runreel that would answer a program, so it does not run\n"
        _tell(words)
        os.write(2, said.encode())
        os._exit(125)
    from runreel.replay.descendants.command import read

    how, place, _ = read(words)
    if how == "script":
        options = [word for word in words[1:place] if word != "-P"]
        command = [sys.executable, *options, "-P", "-m", _RUNNER, *words[place:]]
        os.execv(sys.executable, command)  # noqa: S606 - no shell is wanted
    from runreel.replay.descendants.program import boot

    boot(" ".join(["python", *words[place : place + 2]]) if how == "-m" else f"python {how}".strip())


if "RUNREEL_REPLAY_LINK" in os.environ:
    _prepare()
_own()
