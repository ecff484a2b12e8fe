"""`runreel db`: bring the tables of a configuration's ClickHouse up to date, as a user who may make tables; take away
heavy parts that nothing names."""

import argparse
from dataclasses import asdict
from pathlib import Path

from runreel.cli import common
from runreel.text import many


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    commands = parser.add_subparsers(dest="db_command", metavar="COMMAND", required=True)
    migrate = commands.add_parser("migrate", help="make or change the tables; twice is harmless")
    migrate.add_argument(
        "--config", type=Path, metavar="FILE", help="the collector's configuration (default: the built-in one)"
    )
    common.add_home(migrate)
    help_ = "take away heavy parts that no row names: moved aside first, deleted by a sweep a grace later"
    sweep = commands.add_parser("sweep", help=help_, description=help_)
    sweep.add_argument(
        "--grace", type=float, default=24.0, metavar="HOURS", help="how old parts must be (default: 24, at least 1)"
    )
    sweep.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    sweep.add_argument("--force", action="store_true", help="also where more than half of the parts would go")
    sweep.add_argument("--json", action="store_true", help="print one JSON object")
    common.add_store(sweep)


def run(args: argparse.Namespace) -> int:
    """Do it, say what was done, return 0."""
    return _sweep(args) if args.db_command == "sweep" else _migrate(args)


def _sweep(args: argparse.Namespace) -> int:
    from runreel.upkeep import open_sweep

    with open_sweep(common.place(args), args.grace * 3600, say=common.say) as sweep:
        swept = sweep.run(dry=args.dry_run, force=args.force)
    if args.json:
        common.show_json(asdict(swept))
        return 0
    would = "would be " if args.dry_run else ""
    parts = (
        f"{many(swept.looked_at, 'part')} looked at",
        f"{swept.set_aside:,} {would}set aside",
        f"{swept.put_back:,} {would}put back",
        f"{swept.deleted:,} {would}deleted",
        f"{swept.young:,} too young",
    )
    print(", ".join(parts))
    return 0


def _migrate(args: argparse.Namespace) -> int:
    from runreel.collector import config
    from runreel.collector.build import migrate

    where, version = migrate(config.load(args.config), args.home)
    print(f"{where}: tables of version {version}")
    return 0
