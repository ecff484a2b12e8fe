"""`runreel db migrate`: bring the tables of a configuration's ClickHouse up to date, as a user who may make tables."""

import argparse
from pathlib import Path

from runreel.cli import common


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    commands = parser.add_subparsers(dest="db_command", metavar="COMMAND", required=True)
    migrate = commands.add_parser("migrate", help="make or change the tables; twice is harmless")
    migrate.add_argument(
        "--config", type=Path, metavar="FILE", help="the collector's configuration (default: the built-in one)"
    )
    common.add_home(migrate)


def run(args: argparse.Namespace) -> int:
    """Migrate, say the version, return 0."""
    from runreel.collector import config
    from runreel.collector.build import migrate

    where, version = migrate(config.load(args.config), args.home)
    print(f"{where}: tables of version {version}")
    return 0
