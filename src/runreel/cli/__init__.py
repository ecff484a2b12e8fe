"""The command line: `runreel COMMAND`. One thin module a command group; this file only finds them.

Exit codes (DESIGN section 15): 0 same, 1 error, 2 diverged, 64 usage, 125 not comparable, 130 interrupted, 141 whoever
read the output went away.
"""

import argparse
import contextlib
import importlib
import io
import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from runreel import __version__
from runreel.errors import RefusedError, RunReelError, UsageError
from runreel.text import printable

_BROKEN_PIPE = 141  # as a shell says it of other programs; 0 would make `replay | head` say that nothing diverged

# Command -> (module, one line of help). A module has `add(parser)` and `run(args) -> int`, and is imported only for
# its own command, so that `runreel runs ls` does not pay for a gRPC server.
COMMANDS = {
    "demo": ("runreel.cli.demo", "record, look at and replay a small agent, on this machine, with nothing to set up"),
    "serve": ("runreel.cli.serve", "run the collector: OTLP in, redacted and stored"),
    "validate": ("runreel.cli.validate", "check a collector configuration; all problems at once"),
    "doctor": ("runreel.cli.doctor", "say what is well, and what to set so that runs can be replayed in full"),
    "runs": ("runreel.cli.runs", "list, show, export and import runs"),
    "replay": ("runreel.cli.replay", "re-execute an agent with everything answered from the record"),
    "golden": ("runreel.cli.golden", "keep recorded runs as test cases, and run them"),
    "redact": ("runreel.cli.redact", "show what redaction leaves of a file, and which rule did what; stores nothing"),
    "vault": ("runreel.cli.vault", "make the vault's keys, open the value behind a token, and say who did"),
    "audit": ("runreel.cli.audit", "look for personal data and secrets in everything that is stored"),
    "quarantine": ("runreel.cli.quarantine", "list what is kept aside instead of stored, and release or drop it"),
    "db": ("runreel.cli.db", "bring the tables of a ClickHouse server, or of the data folder, up to date"),
    "diff": ("runreel.cli.diff", "compare two runs, first divergence first"),
}


# Commands that hand what follows `--` on to a program of the user's: argparse would read it as their own.
PASSES_ON = {"golden", "replay"}


class _WrongUsage(SystemExit):
    """The end that argparse makes of a usage error, with what it says."""

    def __init__(self, said: str) -> None:
        super().__init__(UsageError.exit_code)
        self.said = said


class Parser(argparse.ArgumentParser):
    """argparse with our exit code for usage errors."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"{self.prog}: {message}", file=sys.stderr)
        raise _WrongUsage(message)


def parser(command: str | None) -> argparse.ArgumentParser:
    """Build the parser; only the named command's module is imported."""
    top = Parser(prog="runreel", description="Record what an LLM agent did, completely enough to run it again.")
    top.add_argument("--version", action="version", version=f"runreel {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for name, (module, help_) in COMMANDS.items():
        sub = commands.add_parser(name, help=help_, description=help_)
        if name == command:
            importlib.import_module(module).add(sub)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Errors are said on stderr, without a traceback."""
    _open_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return _main(words)
        finally:
            sys.stdout.flush()  # here, where a reader that is gone and a full disk can still be said
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader went away (`| head`). Python would complain again while it flushes at exit.
        _give_up_output()
        return _BROKEN_PIPE
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or type(error).__name__
        return _failed(words, what)
    except Exception as error:  # noqa: BLE001  a bug: its message and its traceback may quote a run
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} at {frame.filename.rpartition('/')[2]}:{frame.lineno}, in {frame.name}"
        return _failed(words, f"unexpected error, please report it: {place} (runreel {__version__})")


def _main(words: list[str]) -> int:
    """Run one command. Raises what a command raises, but for errors of ours."""
    command = next((word for word in words if not word.startswith("-")), None)
    rest: list[str] = []
    if command in PASSES_ON and "--" in words:
        words, rest = words[: words.index("--")], words[words.index("--") + 1 :]
    try:
        args = parser(command).parse_args(words)
        args.rest = rest
        return int(importlib.import_module(COMMANDS[args.command][0]).run(args))
    except _WrongUsage as error:
        _document(words, error.said, UsageError.exit_code)
        raise
    except RunReelError as error:
        # It may name a step or a run: somebody else's text.
        print(f"runreel: {printable(str(error))}", file=sys.stderr)
        return _document(words, str(error), error.exit_code)
    except ModuleNotFoundError as error:
        extra = _extra_of(error.name or "")
        wanted = f"runreel[{extra}]" if extra else "runreel"
        said = f"this command needs the package {error.name!r}: pip install '{wanted}'"
        print(f"runreel: {said}", file=sys.stderr)
        return _document(words, said, 1)


def _document(words: Sequence[str], said: str, code: int) -> int:
    """Say an error as JSON too, where that was asked for: a program that reads along gets a document whatever happens.

    Returns the exit code.
    """
    if "--json" in words[: words.index("--") if "--" in words else len(words)]:
        verdict = {"verdict": "not_comparable"} if code == RefusedError.exit_code else {}
        print(json.dumps(verdict | {"error": {"message": said, "exit_code": code}}))
    return code


def _failed(words: Sequence[str], what: str) -> int:
    """Say what failed; what still waits to be written would only fail again."""
    with contextlib.suppress(OSError):  # nowhere to say it
        print(f"runreel: {printable(what)}", file=sys.stderr)
        _document(words, what, 1)
        sys.stdout.flush()
    _give_up_output()
    return 1


def _give_up_output() -> None:
    with contextlib.suppress(OSError):  # it has no file behind it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """Put the null device where a standard stream is closed: else the first file that is opened takes its number, and
    what is printed goes into it. And let no character end a command that the terminal cannot show."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _extra_of(module: str) -> str | None:
    """Name the extra that holds a module, None where it is none of ours."""
    root = module.partition(".")[0]
    if root in {"grpc", "presidio_analyzer", "hyperscan", "uvicorn", "starlette", "pydantic", "yaml", "cryptography"}:
        return "collector"
    if root in {"clickhouse_connect", "chdb"}:
        return "embedded"
    return None
