"""`runreel audit scan`: re-read everything that is stored, and say what is in it that must not be."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from runreel.cli import common
from runreel.errors import UsageError
from runreel.runs.places import Place
from runreel.terminal import fold
from runreel.text import many, printable

if TYPE_CHECKING:
    from runreel.govern.audit import Found, Report

_SHOWN = 200


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))
    help_ = "look for personal data and secrets in every file of the data folder, whatever it is packed in"
    scan = actions.add_parser("scan", help=help_, description=help_)
    scan.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="files and folders to read as well: logs, copies"
    )
    scan.add_argument(
        "--canary", action="append", default=[], metavar="VALUE", help="a value that was planted and must not be stored"
    )
    scan.add_argument("--canaries", type=Path, metavar="FILE", help="such values from a file, one a line")
    scan.add_argument(
        "--witness", action="append", default=[], metavar="VALUE", help="a value that is stored, and must be seen"
    )
    scan.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="RULE",
        help="a rule whose findings are meant to be there (EMAIL)",
    )
    scan.add_argument("--json", action="store_true", help="print one JSON object")
    common.add_store(scan)


def run(args: argparse.Namespace) -> int:
    """Scan. Returns 0 where nothing was found, 2 where something was, 1 where the scan could not see everything."""
    from runreel.components import open_blobs, redact_settings
    from runreel.govern.audit import Scan
    from runreel.processors.redact import Redactor, TenantKey

    canaries = _canaries(args)
    where = common.place(args)
    roots = _roots(where)
    stored = open_blobs(where) if where.blobs is not None and where.blobs.kind != "files" else None
    objects = getattr(stored, "every", tuple)
    # No token is made of what is found, so any key will do: the tenant's stays where it is.
    redactor = Redactor(TenantKey("", bytes(32)), redact_settings(where.processors.get("redact", {})))
    common.say(f"reading {', '.join(map(str, [*roots, *args.paths]))}")
    report = Scan(redactor.edits, canaries, args.witness).run([*roots, *args.paths], objects())
    found = [one for one in report.found if not {*one.rule.split("+")} <= {*args.ignore}]
    blind = [*report.unseen, *(name for name, seen in report.witnesses.items() if not seen)]
    code = 2 if found else 1 if blind else 0
    if args.json:
        common.show_json(_document(report, found, blind))
    else:
        _show(common.console(), report, found, blind)
    return code


def _canaries(args: argparse.Namespace) -> list[str]:
    given = list(args.canary)
    if args.canaries is not None:
        try:
            given += [line for line in args.canaries.read_text(encoding="utf-8").splitlines() if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"--canaries {args.canaries}: it cannot be read as text ({type(error).__name__})"
            ) from None
    for option, values in (("--canary", given), ("--witness", args.witness)):
        short = next((place for place, value in enumerate(values, 1) if len(value.encode()) < 5), 0)
        if short:
            raise UsageError(
                f"{option}: number {short} has fewer than 5 bytes, which any file may hold: plant longer ones"
            )
    return given


def _roots(where: Place) -> list[Path]:
    """Return the folders to read."""
    if where.collector is not None:
        raise UsageError("a scan reads files: run it on the machine of the collector, with --home")
    roots = [where.home.absolute()]
    if where.store is not None:
        roots.append(where.store.absolute())
    path = where.blobs.settings.get("path") if where.blobs is not None and where.blobs.kind == "files" else None
    if path is not None:
        roots.append(Path(str(path)).absolute())
    return [one for one in roots if not any(one != other and one.is_relative_to(other) for other in roots)]


def _document(report: "Report", found: Sequence["Found"], blind: Sequence[str]) -> dict[str, Any]:
    return {
        "found": [asdict(one) for one in found],
        "files": report.files,
        "frames": report.frames,
        "bytes": report.bytes,
        "proved": report.proved,
        "not_seen": list(blind),
        "not_read": report.left_out,
    }


def _show(console: Console, report: "Report", found: Sequence["Found"], blind: Sequence[str]) -> None:
    read = f"read {many(report.files, 'file')} and {many(report.frames, 'frame')} in them, {report.bytes:,} bytes"
    fold(console, Text(read))
    fold(
        console, Text(f"the scan sees: it found {report.proved} values planted in memory, in every form and container")
    )
    for name in report.left_out:
        fold(console, Text(f"not read: {printable(name)}", "yellow"))
    for name in blind:
        fold(console, Text(f"not seen: {name}", "red"))
    for one in found[:_SHOWN]:
        shown = f", like {printable(one.shape)}" if one.shape else ""
        line = f"{one.rule}  {printable(one.place)}  {many(one.times, 'time')}, {one.length} long{shown}"
        fold(console, Text(line, "red"))
    if len(found) > _SHOWN:
        fold(console, Text(f"and {len(found) - _SHOWN} more: --json lists all", "red"))
    if not found:
        fold(console, Text("nothing found", "green" if not blind else ""))
