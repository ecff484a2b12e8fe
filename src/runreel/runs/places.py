"""Where runs are: a data folder, a store and its blobs by URL, or a collector named outright."""

import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runreel.errors import StoreError, UsageError
from runreel.runs import discovery
from runreel.runs.discovery import Collector
from runreel.runs.remote import RemoteRuns

STORE_FOLDER = "store"
BLOBS_FOLDER = "blobs"
_STORE_SCHEMES = "a path, file:///path, or http(s)://USER@HOST:PORT of a ClickHouse server"
_AMAZON = "https://s3.amazonaws.com"
_BLOB_SCHEMES = "a path, file:///path, or s3://BUCKET/PREFIX?endpoint=https://HOST"


@dataclass(frozen=True, slots=True)
class Named:
    """A collector named outright: its read API, the token for it, and where the two were said."""

    api: str
    token: str = field(repr=False)
    said_by: str
    token_by: str


@dataclass(frozen=True, slots=True)
class Blobs:
    """Where heavy parts are: `files` or `s3`, with the settings that the exporter of that type has."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """Where runs are read and written.

    `home` holds the tenants' keys and, unless `store` and `blobs` say otherwise, the data. `store` is the folder of the
    embedded engine; or `server` the settings of the exporter `clickhouse` for a server. `collector` is asked instead of
    all of it. `processors` are the settings of schema, redact and split for what is stored without a collector, where
    the configuration of one was named.
    """

    home: Path
    store: Path | None = None
    server: Mapping[str, Any] = field(default_factory=dict, repr=False)
    blobs: Blobs | None = None
    collector: Named | None = None
    processors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def store_path(self) -> Path:
        return self.store or self.home / STORE_FOLDER

    @property
    def there(self) -> bool:
        """Whether there is anything to read or add to: a collector, or a store that was made before."""
        return bool(self.collector or self.server) or any(
            path.exists() for path in (self.home / discovery.FILE, self.store_path)
        )


def running(place: Place, *, say: Callable[[str], object]) -> Collector | None:
    """Return the collector to ask: the one that is named, else the one that has the store open. None: nobody has.

    Raises StoreError where the named one does not answer, or the data folder is none.
    """
    if place.collector is not None:
        named = place.collector
        return discovery.reach(named.api, named.token, said_by=named.said_by, token_by=named.token_by)
    if place.server and not place.processors:
        return None  # whoever names a server means it; it serves many at once
    require_folder(place.home)
    found = discovery.find(place.home, say=say)
    if found is None or place.store is None:
        return found
    from runreel.exporters import owner  # its lock is of a kind that not every system has

    if owner.holder(place.store) == found.pid:
        return found
    say(f"the collector at {found.api} has another store open than {place.store}")
    return None


def remote_runs(place: Place, collector: Collector) -> RemoteRuns:
    """Return the runs of a collector that `running` found."""
    named = place.collector
    return RemoteRuns(collector.api, collector.token, named.token_by if named else discovery.FILE)


def require_folder(home: Path) -> None:
    """Raise StoreError where a data folder is something else: it must not look as if nothing was recorded."""
    try:
        wrong = home.exists() and not home.is_dir()
    except OSError as error:
        raise StoreError(f"cannot read the data folder {home}: {error.strerror}") from None
    if wrong:
        raise StoreError(f"the data folder {home} is no folder: name one with --home or RUNREEL_HOME")


def store_folder(text: str, said_by: str) -> Path:
    """Return the folder that a store URL names. Raises UsageError."""
    return _folder(text, said_by, "store", _STORE_SCHEMES)


def server_settings(text: str, said_by: str, password: str) -> dict[str, Any]:
    """Return the settings of a ClickHouse server by its URL; empty for any other. Raises UsageError."""
    if not text.startswith(("http://", "https://")):
        return {}
    usage = f"{said_by}: give a server as http(s)://USER@HOST:PORT?cluster=NAME&ca_file=PATH"
    try:
        url = urllib.parse.urlsplit(text)
        right = bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        raise UsageError(usage) from None
    given = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
    if not right or url.path.strip("/") or url.fragment or given.keys() - {"cluster", "ca_file"}:
        raise UsageError(usage)
    if url.password:
        raise UsageError(f"{said_by}: a password does not belong into a URL; put it into CLICKHOUSE_PASSWORD")
    endpoint = f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
    found = {
        "endpoint": endpoint,
        "username": urllib.parse.unquote(url.username or ""),
        "password": password,
        "cluster_name": given.get("cluster", ""),
        "ca_file": given.get("ca_file", ""),
    }
    return {name: value for name, value in found.items() if value}


def host_of(text: str) -> str:
    """Return the host that a URL leads to: that of its endpoint for `s3:`, empty for a path."""
    url = urllib.parse.urlsplit(text)
    if url.scheme == "s3":
        return host_of(dict(urllib.parse.parse_qsl(url.query)).get("endpoint", _AMAZON))
    return (url.hostname or "") if url.scheme in ("http", "https") else ""


def blobs_at(text: str, said_by: str) -> Blobs:
    """Return where heavy parts are: an `s3:` URL, or a path. Raises UsageError."""
    if text.startswith("s3:"):
        return Blobs("s3", _s3_parts(text, said_by))
    return Blobs("files", {"path": str(_folder(text, said_by, "blob store", _BLOB_SCHEMES))})


def _s3_parts(text: str, said_by: str) -> dict[str, str]:
    """Return bucket, prefix, endpoint, region and ca_file of an `s3:` URL. Credentials do not stand in it."""
    url = urllib.parse.urlsplit(text)
    given = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
    unknown = sorted(given.keys() - {"endpoint", "region", "ca_file"})
    if unknown or not url.netloc or "@" in url.netloc or url.fragment:
        why = f"unknown: {', '.join(unknown)}" if unknown else "credentials come from AWS_* variables, not from the URL"
        why = why if url.netloc else "the bucket is missing"
        raise UsageError(f"{said_by}: {why}. Write s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")
    return {"endpoint": _AMAZON, **given, "bucket": url.netloc, "prefix": url.path.strip("/")}


def collector_url(text: str, said_by: str) -> str:
    """Return the URL of a collector's read API: plain HTTP on this machine only, since a token goes with each request.

    Raises UsageError.
    """
    try:
        url = urllib.parse.urlsplit(text)
        right = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        right = False
    if not right or url.query or url.fragment or url.username:
        raise UsageError(f"{said_by} {text!r}: give the URL of its read API, such as http://127.0.0.1:4320")
    if url.scheme == "http" and not discovery.is_loopback(url.hostname or ""):
        raise UsageError(f"{said_by} {text!r}: another machine is asked over https only, since a token goes with it")
    return text.rstrip("/")


def _folder(text: str, said_by: str, what: str, known: str) -> Path:
    url = urllib.parse.urlsplit(text)
    if url.scheme == "file" and url.netloc in ("", "localhost") and url.path.strip("/"):
        return Path(urllib.parse.unquote(url.path))
    if not text.strip() or "://" in text or url.scheme == "file":
        raise UsageError(f"{said_by} {text!r}: no {what} that this version can open; give {known}")
    return Path(text)
