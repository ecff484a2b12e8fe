"""Where runs are, as options, the environment and a file say: the first of them that says something counts.

A file is `runreel.toml` in the working folder, or what `--config` or RUNREEL_CONFIG names: such a file, or the
configuration of a collector, whose stores are then opened while it does not run.
"""

import argparse
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runreel.errors import ConfigError, UsageError
from runreel.runs import discovery
from runreel.runs.places import Blobs, Named, Place, blobs_at, collector_url, host_of, server_settings, store_folder

FILE = "runreel.toml"
TOKEN = "RUNREEL_TOKEN"  # noqa: S105 - the variable's name
CONFIG = "RUNREEL_CONFIG"
PASSWORD = "CLICKHOUSE_PASSWORD"  # noqa: S105
_DEFAULT_HOME = ".runreel"
_VARIABLES = {
    "home": "RUNREEL_HOME",
    "store": "RUNREEL_STORE",
    "blobs": "RUNREEL_BLOBS",
    "collector": "RUNREEL_COLLECTOR",
    "token_file": "RUNREEL_TOKEN_FILE",
}
_YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class _Level:
    """What one source says: value and where it stands, by name. `auto`: a file that nobody named."""

    values: Mapping[str, tuple[str, str]]
    auto: bool = False
    store: Path | None = None
    server: Mapping[str, Any] = field(default_factory=dict, repr=False)
    blobs: Blobs | None = None
    processors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where runs are."""
    group = parser.add_argument_group("where runs are", "each also as RUNREEL_... in the environment, or in a file")
    group.add_argument(
        "--home",
        metavar="DIR",
        help="the data folder (default: RUNREEL_HOME, else ./.runreel). While a collector runs on it, it is asked",
    )
    group.add_argument(
        "--store", metavar="URL", help="the store, if not in the data folder: a path, or https://USER@HOST"
    )
    group.add_argument("--blobs", metavar="URL", help="heavy parts, if not in the data folder: a path, or s3://BUCKET")
    group.add_argument(
        "--collector", metavar="URL", help=f"the read API of a collector to ask; its token is in {TOKEN}"
    )
    group.add_argument(
        "--config", metavar="FILE", help=f"a file that says it (default: ./{FILE}), or a collector's configuration"
    )


def place(args: argparse.Namespace, env: Mapping[str, str] | None = None) -> Place:
    """Return where runs are.

    Raises:
        UsageError: a value that makes no sense, or two that exclude each other; it says where it stands.
        ConfigError: a file with mistakes, all of them at once.
    """
    environment = os.environ if env is None else env
    levels = _levels(args, environment)
    home = Path(_first(levels, "home", _DEFAULT_HOME)[0]).expanduser()
    deciding = next((level for level in levels if _ways(level)), None)
    if deciding is not None and "collector" in deciding.values:
        return Place(home, collector=_named(deciding, levels, environment, home))
    store, server = _store(levels, environment)
    return Place(home, store, server, _blobs(levels), processors=_processors(levels))


def _levels(args: argparse.Namespace, env: Mapping[str, str]) -> list[_Level]:
    """Return what each source says, the strongest first. A collector's configuration is as strong as what names it."""
    said = {name: getattr(args, name, None) for name in _VARIABLES}
    flags = _Level({name: (str(value), f"--{name}") for name, value in said.items() if value is not None})
    variables = _Level({name: (env[key], key) for name, key in _VARIABLES.items() if env.get(key)})
    levels = [flags, variables]
    flag = getattr(args, "config", None)
    named = Path(flag or env.get(CONFIG) or FILE).expanduser()
    if named.suffix in _YAML:
        levels.insert(1 if flag else 2, _collectors(named, env, levels))
    elif flag or env.get(CONFIG) or named.is_file():
        levels.append(_toml(named, auto=not (flag or env.get(CONFIG))))
    for level in levels:
        if "collector" in level.values and "store" in level.values:
            (one, first), (other, second) = level.values["collector"], level.values["store"]
            raise UsageError(f"{first} {one} and {second} {other}: a collector has its own store. Say one of them")
    return levels


def _ways(level: _Level) -> bool:
    return bool(level.processors) or any(name in level.values for name in ("home", "store", "collector"))


def _first(levels: list[_Level], name: str, default: str = "") -> tuple[str, str]:
    return next((level.values[name] for level in levels if name in level.values), (default, "the default"))


def _store(levels: list[_Level], env: Mapping[str, str]) -> tuple[Path | None, Mapping[str, Any]]:
    for level in _until_home(levels):
        if "store" in level.values:
            text, said_by = level.values["store"]
            server = server_settings(text, said_by, "" if level.auto else env.get(PASSWORD, ""))
            return (None, server) if server else (store_folder(text, said_by), {})
        if level.processors:
            return level.store, level.server
    return None, {}


def _blobs(levels: list[_Level]) -> Blobs | None:
    for level in _until_home(levels):
        if "blobs" in level.values:
            return blobs_at(*level.values["blobs"])
        if level.blobs is not None:
            return level.blobs
    return None


def _until_home(levels: list[_Level]) -> list[_Level]:
    """Return the levels down to the one that names a data folder: who does means what is in it, whatever weaker ones
    say. A collector's configuration counts always: its stores are where it says, on any data folder."""
    last = next((number for number, level in enumerate(levels) if "home" in level.values), len(levels))
    return [level for number, level in enumerate(levels) if number <= last or level.processors]


def _processors(levels: list[_Level]) -> Mapping[str, Mapping[str, Any]]:
    return next((level.processors for level in levels if level.processors), {})


# --- a collector ------------------------------------------------------------------------------------------------------


def _named(deciding: _Level, levels: list[_Level], env: Mapping[str, str], home: Path) -> Named:
    text, said_by = deciding.values["collector"]
    api = collector_url(text, said_by)
    token, token_by = _token(deciding, levels, env, home, api)
    return Named(api, token, said_by, token_by)


def _token(deciding: _Level, levels: list[_Level], env: Mapping[str, str], home: Path, api: str) -> tuple[str, str]:
    """Return the token and where it stands. One from the environment is not sent to where a found file points."""
    if env.get(TOKEN) and not deciding.auto:
        return env[TOKEN].strip(), TOKEN
    path, said_by = deciding.values.get("token_file") or _first(levels, "token_file")
    if path:
        return _read_token(Path(path).expanduser(), said_by), path
    file = home / discovery.FILE
    if file.is_file():
        found = discovery.read(home)
        if found.api == api:
            return found.token, str(file)
    raise UsageError(
        f"{deciding.values['collector'][1]} {api} needs a token: put it into {TOKEN}, or its file into "
        f"{_VARIABLES['token_file']} (a collector writes one into {discovery.FILE} of its data folder)"
    )


def _read_token(path: Path, said_by: str) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"{said_by} {path}: the token cannot be read: {why}") from None
    if text.startswith("{"):
        try:
            text = str(json.loads(text)["token"])
        except (ValueError, KeyError, TypeError, RecursionError):
            text = ""
    if not text.isascii() or not text.isprintable() or " " in text or not text:
        raise UsageError(f"{said_by} {path}: there is no token in it: one line of text, or a {discovery.FILE}")
    return text


# --- files ------------------------------------------------------------------------------------------------------------


def _toml(path: Path, *, auto: bool) -> _Level:
    """Read a file of ours: five keys, all of them texts; paths in it are relative to where it stands."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(path), [f"cannot read the file: {error.strerror}"]) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(str(path), [f"the file is no TOML: {_reason(error)}"]) from None
    problems = []
    values: dict[str, tuple[str, str]] = {}
    for key, value in document.items():
        if key not in _VARIABLES:
            problems.append(f"unknown key {key!r} (known: {', '.join(_VARIABLES)})")
        elif not isinstance(value, str) or not value:
            problems.append(f"{key}: must be text")
        else:
            values[key] = (_from(path.parent, key, value), f"{path}: {key}")
    for key, (value, _) in values.items() if auto else ():
        host = host_of(value)
        if host and not discovery.is_loopback(host):
            problems.append(
                f"{key}: {value} is another machine, and this file was found, not named: it must not decide where "
                f"records go. Name the file, --config {path}, or the place, --{key}"
            )
    if problems:
        raise ConfigError(str(path), problems)
    return _Level(values, auto=auto)


def _reason(error: Exception) -> str:
    # TOML's own words name line and column, and quote nothing.
    return str(error) if isinstance(error, tomllib.TOMLDecodeError) else "not UTF-8 text, or too deep"


def _from(folder: Path, key: str, value: str) -> str:
    if key == "collector" or "://" in value:
        return value
    return str(folder / Path(value).expanduser())


def _collectors(path: Path, env: Mapping[str, str], above: list[_Level]) -> _Level:
    """Read a collector's configuration: which stores it has, and how it redacts."""
    from runreel.collector import config

    home = _first(above, "home", _DEFAULT_HOME)[0]
    loaded = config.load(path, {**env, "RUNREEL_HOME": str(Path(home).absolute())})
    pipeline = next(iter(loaded.pipelines.values()))
    components = {**loaded.processors, **loaded.exporters}
    named = [*pipeline.processors, *pipeline.exporters]
    by_kind = {config.type_of(name): components[name].model_dump() for name in named}
    rows = by_kind["clickhouse"]
    blobs = next((Blobs(kind, by_kind[kind]) for kind in ("s3", "files") if kind in by_kind), None)
    processors = {kind: by_kind[kind] for kind in ("schema", "redact", "split")}
    server = rows if rows.get("endpoint") else {}
    return _Level({}, False, Path(rows["path"]) if rows["path"] else None, server, blobs, processors)
