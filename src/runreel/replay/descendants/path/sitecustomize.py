"""Found by every Python program that an agent starts in a replay, before anything of the program runs.

A script is started over, run by `runreel.replay.descendants.program`; any other program is prepared here. The
environment's own sitecustomize, if it has one, runs as well.
"""

import importlib.machinery
import importlib.util
import os
import sys

_RUNNER = "runreel.replay.descendants.program"
_HERE = os.path.realpath(__file__).rpartition(os.sep)[0]


def _program(words: list[str]) -> tuple[int, str]:
    """Return the place of the program on a command line, and what it is: "script", "-c", "-m", or "" for none."""
    place = 1
    while place < len(words):
        word = words[place]
        if not word.startswith("-"):
            return place, "script"
        if word == "-":
            return place, ""
        if word.startswith("--"):
            place += 2 if word == "--check-hash-based-pycs" else 1
            continue
        letter = next((one for one in word[1:] if one in "cmWX"), "")
        if letter in ("c", "m"):
            return place, f"-{letter}"
        place += 2 if letter and word.endswith(letter) else 1
    return place, ""


def _own() -> None:
    """Run the sitecustomize that this one stands before."""
    folders = [folder for folder in sys.path if os.path.realpath(folder or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", folders)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _prepare() -> None:
    words = sys.orig_argv
    place, how = _program(words)
    what = words[place] if place < len(words) else "a program from standard input"
    if how == "-m" and _RUNNER in words[place : place + 2]:
        return
    if how == "-c" and "multiprocessing.resource_tracker" in " ".join(words[place : place + 2]):
        return  # tidies up after others, and runs nothing of the agent
    if importlib.util.find_spec("runreel") is None:
        os.write(
            2, f"runreel replay: {sys.executable} has no runreel to answer {what} with; it does not run\n".encode()
        )
        os._exit(125)
    if how == "script":
        options = [word for word in words[1:place] if word != "-P"]
        command = [sys.executable, *options, "-P", "-m", _RUNNER, *words[place:]]
        os.execv(sys.executable, command)  # noqa: S606 - no shell is wanted
    from runreel.replay.descendants.program import boot

    boot(what if how != "-c" else "python -c")


if "RUNREEL_REPLAY_LINK" in os.environ:
    _prepare()
_own()
