"""What several commands share: where the store is, what a RUN is, and how things are printed."""

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from rich.console import Console

from runreel.cli import places
from runreel.errors import UsageError
from runreel.runs.places import Place, remote_runs, running
from runreel.storage import RunQuery, RunStore
from runreel.values import DEFAULT_TENANT, Run, RunSummary

HOME = "RUNREEL_HOME"
_PIPED_WIDTH = 10_000


def add_home(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a collector's own data folder."""
    parser.add_argument(
        "--home",
        metavar="DIR",
        type=Path,
        default=Path(os.environ.get(HOME) or ".runreel"),
        help="the data folder (default: RUNREEL_HOME, else ./.runreel)",
    )


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where runs are; `place` reads them."""
    places.add_options(parser)


def add_html(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that writes a page; `write_page` takes what it holds."""
    text = f"also write a page that shows {what}: one file, which needs nothing else"
    parser.add_argument("--html", metavar="FILE", type=Path, help=text)


def require_page(path: Path | None) -> None:
    """Raise UsageError where a page cannot be written: before what takes long, not after it."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        raise UsageError(f"--html {path}: {'that is a folder' if path.is_dir() else f'there is no {path.parent}'}")


def write_page(path: Path, page: str) -> None:
    """Write a page. Raises UsageError where that cannot be."""
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--html {path}: {error.strerror}") from None
    say(f"written to {path}")


def place(args: argparse.Namespace) -> Place:
    """Return where the options, the environment or a file say that runs are. Raises UsageError, ConfigError."""
    found: Place | None = getattr(args, "place", None)
    if found is None:
        found = args.place = places.place(args)
    return found


def open_store(args: argparse.Namespace) -> RunStore:
    """Open the store that the options name; where no collector answers for it, a person who reads along is told."""
    where = place(args)
    asked = running(where, say=lambda _: None)  # what there is to say, `open_runs` says
    if asked is not None:
        return remote_runs(where, asked)
    from runreel.components import open_runs  # imports what stores need: a command that asks does not wait for it

    return open_runs(where, say=say)


def load(args: argparse.Namespace, text: str) -> Run:
    """Load the run that RUN names: a reel file, or a run id, trace id, prefix or `last` in the store."""
    return load_with_replays(args, text, most=None)[0]


def load_with_replays(args: argparse.Namespace, text: str, most: int | None = 20) -> tuple[Run, Sequence[RunSummary]]:
    """Load the run that RUN names, and its replays, newest first; at most so many, none where `most` is None."""
    store, run_id = _opened(args, text)
    try:
        found = store.run(DEFAULT_TENANT, run_id)
        return found, () if most is None else store.runs(RunQuery(replay_of=run_id, limit=most))
    finally:
        store.close()


def _opened(args: argparse.Namespace, text: str) -> tuple[RunStore, str]:
    """Return the store that RUN is in, a reel's own or that of the options, and the run's id."""
    from runreel.runs import reel

    path = Path(text)
    if path.suffix == reel.SUFFIX:
        return reel.open_path(path)
    store = open_store(args)
    return store, store.resolve(DEFAULT_TENANT, text)


def load_reel(args: argparse.Namespace, text: str) -> bytes:
    """Return the run that RUN names as a reel. Raises NotFoundError, UsageError, StoreError."""
    store, run_id = _opened(args, text)
    try:
        return store.reel(DEFAULT_TENANT, run_id)
    finally:
        store.close()


def say(text: str) -> None:
    """Tell the person at the terminal something; a pipe or a log is spared."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr)


def end_in_order() -> None:
    """Have SIGTERM and SIGHUP unwind the program, as Ctrl-C does: what it started and made is taken down."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _end)


def _end(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def show_json(document: Any) -> None:
    """Print a document as JSON: indented on a terminal, one line in a pipe."""
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:  # lone surrogates, which JSON can escape; or a terminal without Unicode
        text = json.dumps(document, indent=indent)
    print(text)


def console() -> Console:
    """Return a console for standard output: plain where it is no terminal, and never cutting what is piped on."""
    return _Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPED_WIDTH)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Say so, instead of ending the program with the code of an error."""
        raise BrokenPipeError
