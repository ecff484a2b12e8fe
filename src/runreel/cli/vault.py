"""`runreel vault`: make its keys, open the value behind a token, and say who did."""

import argparse
import getpass
from datetime import UTC, datetime
from pathlib import Path

from rich.text import Text

from runreel.canonical import TOKEN_RE
from runreel.cli import common
from runreel.errors import NotFoundError, UsageError
from runreel.text import printable
from runreel.values import DEFAULT_TENANT


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))
    init = _action(actions, "init", "make a pair of keys: the collector gets the public one")
    init.add_argument("--private", type=Path, metavar="FILE", help="the key that opens (default: keys/vault.key there)")
    reveal = _action(actions, "reveal", "print the value behind a token; that it was asked for is logged first")
    reveal.add_argument("token", metavar="TOKEN", help="as it stands in a run, with its brackets")
    reveal.add_argument("--reason", required=True, help="why: it is kept in the vault's log")
    reveal.add_argument("--key", type=Path, metavar="FILE", help="the private key (default: keys/vault.key there)")
    reveal.add_argument("--vault", type=Path, metavar="FILE", help="the vault (default: vault/vault.db there)")
    reveal.add_argument("--tenant", default=DEFAULT_TENANT, help="whose token it is (default: %(default)s)")
    reveal.add_argument("--json", action="store_true", help="print one JSON object")
    log = _action(actions, "log", "say who asked for which token, and why; latest first")
    log.add_argument("--vault", type=Path, metavar="FILE", help="the vault (default: vault/vault.db there)")
    log.add_argument("--json", action="store_true", help="print one JSON array")


def _action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, help_: str
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=help_, description=help_)
    common.add_home(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Do what the action says. Returns 0."""
    if args.action == "init":
        return _init(args)
    return _reveal(args) if args.action == "reveal" else _log(args)


def _init(args: argparse.Namespace) -> int:
    from runreel.processors.redact.sealing import make_keys

    private, public = args.private or args.home / "keys" / "vault.key", args.home / "keys" / "vault.pub"
    key = make_keys(private, public)
    print(f"key {key.key_id}\n  opens:  {private}  keep it away from the collector, and from backups of the vault")
    print(f"  seals:  {public}  processors::redact::vault_key names it, and the exporter vault stores what it sealed")
    return 0


def _reveal(args: argparse.Namespace) -> int:
    from runreel.exporters.vault import Vault
    from runreel.processors.redact.sealing import opened, read_private

    if not TOKEN_RE.fullmatch(args.token):
        raise UsageError(f"{args.token!r} is no token: write it as in a run, '<EMAIL_7f3a9c02>', in quotes")
    if not args.reason.strip():
        raise UsageError("--reason is empty: say why the value is needed; it is kept in the vault's log")
    vault = Vault.existing(_vault_file(args))
    key = read_private(args.key or args.home / "keys" / "vault.key")
    try:
        found = vault.sealed(args.tenant, args.token, who=_who(), reason=args.reason.strip())
    finally:
        vault.shutdown()
    if not found:
        raise NotFoundError(
            f"the vault {vault.path} holds no value for {args.token}: it was forgotten, or never sealed (secrets and "
            "hashes are not), or is another tenant's. The request is logged"
        )
    values = [opened(key, one.token, one.body) for one in found]
    if args.json:
        common.show_json(
            [
                {"token": one.token, "key_id": one.key_id, "value": value}
                for one, value in zip(found, values, strict=True)
            ]
        )
    else:
        for value in values:
            print(printable(value))
    return 0


def _log(args: argparse.Namespace) -> int:
    from runreel.exporters.vault import Vault

    vault = Vault.existing(_vault_file(args))
    try:
        lines = vault.accesses()
    finally:
        vault.shutdown()
    if args.json:
        common.show_json(
            [{"at": _when(one.at_ns), "who": one.who, "tenant": one.tenant, "token": one.token, "reason": one.reason,
              "found": one.found} for one in lines]
        )  # fmt: skip
        return 0
    console = common.console()
    for one in lines:
        what = "" if one.found else " (no value)"
        console.print(
            Text(f"{_when(one.at_ns)}  {printable(one.who)}  {one.token}{what}  {printable(one.reason)}"),
            soft_wrap=True,
        )
    if not lines:
        console.print("nobody has asked for a value")
    return 0


def _vault_file(args: argparse.Namespace) -> Path:
    from runreel.exporters.vault import FILE

    found: Path = args.vault or args.home / "vault" / FILE
    return found


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        import os

        return f"user {os.getuid()}"


def _when(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, UTC).isoformat(timespec="seconds")
