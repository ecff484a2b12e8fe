"""Ask a user's judge about a run: in a process of its own behind the replay's walls, without a network.

As a program, `python -m runreel.goldens.judges module:function`: the run's view is read from standard input as JSON,
and the answer written as JSON to the descriptor that the second argument names.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from runreel.errors import RefusedError
from runreel.goldens.view import View
from runreel.replay.cleaning import mask
from runreel.replay.sandbox import Sandbox, merge, scrub

_TIMEOUT_S = 120.0


def judge_in(cwd: Path) -> Callable[[str, View], str]:
    """Return what asks judges that are imported from a folder."""
    return lambda function, seen: ask(function, seen.document(), cwd)


def ask(function: str, document: Mapping[str, Any], cwd: Path) -> str:
    """Return why the run is not as it should be; empty where it is.

    The function is called with the run's view: `outcome`, `output`, `calls` (kind, name, input, output, error), `used`.
    It returns True where all is well; False, or a text that says why not. An exception is an answer, too: its type.
    Raises RefusedError where the function cannot be imported.
    """
    # In memory alone: what a replay recorded of itself may not be redacted.
    with _memory() as given, _memory() as said:
        given.write(json.dumps(document).encode())
        given.seek(0)
        argv = [sys.executable, "-P", "-m", "runreel.goldens.judges", function, str(said.fileno())]
        with Sandbox().start(
            argv, env=scrub(os.environ), cwd=cwd, pass_fds=[said.fileno()], stdin=given, stdout=subprocess.DEVNULL
        ) as sandboxed:
            try:
                sandboxed.wait(_TIMEOUT_S)
            except TimeoutError:
                sandboxed.kill()
                sandboxed.wait()
                return f"it did not answer within {_TIMEOUT_S:g} s"
            tried = merge(sandboxed.attempts, (), watched=sandboxed.isolation.notify, clean=mask).findings
        if tried:
            return "it tried to reach the network: a judge has none"
        said.seek(0)
        return _read(function, said.read())


def _memory() -> IO[bytes]:
    return os.fdopen(os.memfd_create("runreel-judge"), "w+b")


def _read(function: str, said: bytes) -> str:
    try:
        answer = json.loads(said)
    except ValueError:
        return "it ended without an answer"
    if "cannot" in answer:
        raise RefusedError(f"judge {function}: {answer['cannot']}")
    return str(answer["why"])


def _main(function: str, descriptor: int) -> None:
    sys.path.insert(0, str(Path.cwd()))
    module, _, name = function.partition(":")
    answer: dict[str, str]
    try:
        called: Any = importlib.import_module(module)
        for part in name.split("."):
            called = getattr(called, part)
    except (ImportError, AttributeError) as error:
        answer = {"cannot": f"there is no such function ({type(error).__name__})"}
    else:
        try:
            said = called(json.load(sys.stdin))
            answer = {"why": "" if said is True else said if isinstance(said, str) and said else "it said no"}
        except Exception as error:  # noqa: BLE001 - a judge may raise anything; its text may quote the run
            answer = {"why": f"it raised {type(error).__name__}"}
    with os.fdopen(descriptor, "w", encoding="utf-8") as answers:
        json.dump(answer, answers)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
