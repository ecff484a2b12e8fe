"""`runreel demo`."""

import argparse
from pathlib import Path

from runreel.cli import common


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the store there, to look around in it later")


def run(args: argparse.Namespace) -> int:
    """Walk through the demonstration."""
    from runreel.demo.walk import walk

    common.end_in_order()  # else the collector, the model and the folder would stay behind
    walk(common.console(), args.keep)
    return 0
