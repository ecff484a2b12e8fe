"""`runreel demo`."""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

from runreel.cli import common


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the store there, to look around in it later")


def run(args: argparse.Namespace) -> int:
    """Walk through the demonstration."""
    from runreel.demo.walk import walk

    # Else a walk that is ended from outside would leave its collector, its model and its folder behind.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    walk(common.console(), args.keep)
    return 0


def _end(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
