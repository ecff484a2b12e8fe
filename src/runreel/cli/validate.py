"""`runreel validate`: check a collector configuration, every problem at once."""

import argparse
import os
from pathlib import Path

from runreel.cli import common


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--config", metavar="FILE", type=Path, required=True, help="the configuration to check")


def run(args: argparse.Namespace) -> int:
    """Print a summary of a valid configuration; what is wrong with another is raised as one ConfigError."""
    from runreel.collector import config

    # A configuration may refer to the data folder, which has a default.
    loaded = config.load(args.config, {common.HOME: ".runreel", **os.environ})
    print(f"ok: {args.config}")
    for name, pipeline in loaded.pipelines.items():
        ways = (pipeline.receivers, pipeline.processors, pipeline.exporters)
        print(f"  {name}: {' -> '.join(', '.join(way) for way in ways)}")
    if loaded.started_extensions:
        print(f"  extensions: {', '.join(loaded.started_extensions)}")
    return 0
