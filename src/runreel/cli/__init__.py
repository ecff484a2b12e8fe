"""The command line: `runreel COMMAND`. One thin module a command group; this file only finds them.

Exit codes (DESIGN section 15): 0 same, 1 error, 2 diverged, 64 usage, 125 not comparable, 130 interrupted.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from runreel import __version__
from runreel.errors import RunReelError

# Command -> (module, one line of help). A module has `add(parser)` and `run(args) -> int`, and is imported only for
# its own command, so that `runreel runs ls` does not pay for a gRPC server.
COMMANDS = {
    "demo": ("runreel.cli.demo", "record, look at and replay a small agent, on this machine, with nothing to set up"),
    "serve": ("runreel.cli.serve", "run the collector: OTLP in, redacted and stored"),
    "validate": ("runreel.cli.validate", "check a collector configuration; all problems at once"),
    "runs": ("runreel.cli.runs", "list, show, export and import runs"),
    "replay": ("runreel.cli.replay", "re-execute an agent with everything answered from the record"),
    "diff": ("runreel.cli.diff", "compare two runs, first divergence first"),
}


# Commands that hand what follows `--` on to a program of the user's: argparse would read it as their own.
PASSES_ON = {"replay"}


class Parser(argparse.ArgumentParser):
    """argparse with our exit code for usage errors."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(64, f"{self.prog}: {message}\n")


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
    """Run one command and return its exit code. Errors of ours are one line on stderr, without a traceback."""
    words = list(sys.argv[1:] if argv is None else argv)
    command = next((word for word in words if not word.startswith("-")), None)
    rest: list[str] = []
    if command in PASSES_ON and "--" in words:
        words, rest = words[: words.index("--")], words[words.index("--") + 1 :]
    try:
        args = parser(command).parse_args(words)
        args.rest = rest
        return int(importlib.import_module(COMMANDS[args.command][0]).run(args))
    except RunReelError as error:
        print(f"runreel: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader went away (`| head`). Python would complain again while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ModuleNotFoundError as error:
        extra = _extra_of(error.name or "")
        if extra is None:
            raise
        missing = f"runreel: this command needs the package {error.name!r}: pip install 'runreel[{extra}]'"
        print(missing, file=sys.stderr)
        return 1


def _extra_of(module: str) -> str | None:
    """Name the extra that holds a module, None where it is none of ours."""
    root = module.partition(".")[0]
    if root in {"grpc", "presidio_analyzer", "hyperscan", "uvicorn", "starlette", "pydantic", "yaml", "cryptography"}:
        return "collector"
    if root in {"clickhouse_connect", "chdb"}:
        return "embedded"
    return None
