"""The one registry of component types: what a configuration may name, and how each is built; and the stores of a home.

Everything heavy is imported by the factory that needs it: reading a reel must not load a database.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from runreel.component import Exporter
from runreel.errors import RetryableError, StoreError
from runreel.exporters.blobs import BlobsExporter
from runreel.exporters.files import FileBlobs
from runreel.exporters.memory import Memory
from runreel.exporters.vault import FILE as VAULT_FILE
from runreel.exporters.vault import Vault
from runreel.runs import discovery
from runreel.runs.load import Settings, StoreRuns
from runreel.runs.places import BLOBS_FOLDER, Place, remote_runs, running
from runreel.runs.sending import Sender
from runreel.spool import Spool, drain, segments
from runreel.spool.quarantine import set_apart
from runreel.storage import BlobStore, RunStore
from runreel.text import many
from runreel.values import DEFAULT_TENANT, RawBatch

if TYPE_CHECKING:
    from runreel.exporters.clickhouse import ClickHouse
    from runreel.processors.redact.settings import RedactSettings
    from runreel.processors.redact.tokens import Sealer

SPOOL = "spool"
"""The folder of the spool in a data folder."""
INLINE_BYTES = 32 * 1024
"""Parts over this many bytes are heavy: they go to the blob store, the others into the table of parts."""


@dataclass(frozen=True, slots=True)
class Site:
    """What a factory needs to know beside the settings: the data folder, whose data, where heavy parts go, and from
    which size on they are heavy."""

    home: Path
    tenant: str = DEFAULT_TENANT
    blobs: BlobStore | None = None
    inline_bytes: int = INLINE_BYTES


BLOBS = frozenset({"files", "s3"})
"""Types of exporters that keep heavy parts: in a pipeline they come before rows, which may only name what is stored."""

Factory = Callable[[Mapping[str, Any], Site], Any]
"""Builds a component from its settings, as plain values. Raises RunReelError."""


def _nobody(text: str) -> None:
    """Take what nobody reads along."""


class Intake(Protocol):
    """Takes records, not redacted yet, and has stored them on return: through a chain of its own or a collector's."""

    def take(self, batch: RawBatch) -> None:
        """Store a batch, durable on return. Raises ConsumeError, StoreError."""

    def close(self) -> None: ...


def open_database(home: Path, *, store: Path | None = None, blobs: BlobStore | None = None) -> "ClickHouse":
    """Open the embedded store of a data folder: an Exporter, and the Database that runs are read from.

    Args:
        home: The data folder; made if missing.
        store: Where the engine keeps its files, if not in `home/store`.
        blobs: Where heavy parts go, if not in `home/blobs`.

    Raises:
        LockedError: another process has it open.
        StoreError: the folder cannot be used, or is of a newer RunReel.
    """
    from runreel.exporters.clickhouse import ClickHouse, Settings
    from runreel.exporters.engine import Engine

    kept = open_blobs(home) if blobs is None else blobs
    engine = Engine.open(store or home / "store", tmp=home / "tmp")
    return ClickHouse(engine, kept, Settings(inline_bytes=INLINE_BYTES))


def open_blobs(place: Place | Path) -> BlobStore:
    """Open the blob store of a data folder, or the one named instead. Raises StoreError."""
    where = as_place(place)
    kind, settings = (where.blobs.kind, where.blobs.settings) if where.blobs else ("files", {})
    opened: BlobsExporter = EXPORTERS[kind](settings, Site(where.home))
    return opened.blobs


def as_place(place: Place | Path) -> Place:
    """Return the place that a data folder alone is."""
    return place if isinstance(place, Place) else Place(place)


def open_runs(place: Place | Path, *, say: Callable[[str], object] = _nobody) -> RunStore:
    """Open the runs of a place: through the collector that has it open, else directly. `say` is told which.

    A folder in which nothing was recorded yet is not made: it has no runs.

    Raises LockedError, StoreError.
    """
    where = as_place(place)
    asked = running(where, say=say)
    if asked is not None:
        say(f"asking the collector at {asked.api}" + (f" (process {asked.pid})" if asked.pid else ""))
        return remote_runs(where, asked)
    if not where.server and not where.store_path.exists():
        if where.store is not None:
            raise StoreError(f"there is no store {where.store}: nothing was recorded there yet, or it has another name")
        say(f"nothing is recorded in {where.home} yet")
        nothing = Memory()
        return StoreRuns(nothing, nothing)
    say(f"opening the store in {where.server.get('endpoint') or where.store or where.home}")
    blobs = open_blobs(where)
    database = database_of(where, blobs)
    if where.store is None and not where.server:
        work_off(where.home, database, say)
    return StoreRuns(database, blobs)


def database_of(place: Place, blobs: BlobStore) -> "ClickHouse":
    """Open the database of a place, embedded or a server's. Raises LockedError, StoreError."""
    if place.server:
        found: ClickHouse = EXPORTERS["clickhouse"](place.server, Site(place.home, blobs=blobs))
        return found
    return open_database(place.home, store=place.store, blobs=blobs)


def work_off(home: Path, database: "ClickHouse", say: Callable[[str], object]) -> None:
    """Store what a collector acknowledged and had no time to store before it ended. Raises StoreError.

    The database must be open: who has it open owns the spool, too.
    """
    if not segments.numbers(home / SPOOL):
        return
    spool = Spool(home / SPOOL)
    spool.open()
    try:
        stored = drain(spool, [database], say)
    except RetryableError as error:
        raise StoreError(f"what waits in {home / SPOOL} cannot be stored: {error}") from None
    finally:
        spool.close()
    if stored:
        say(f"stored {many(stored, 'request')} that a collector had left in its spool")


def open_intake(
    place: Place | Path, *, say: Callable[[str], object] = _nobody, lost: Callable[[str], object] = _nobody
) -> Intake:
    """Open what stores new records in a place: the collector that has it open, else the chain and the store here.

    Args:
        say: Told what a stale collector file says.
        lost: Told of each record that a collector does not take.

    Raises LockedError, StoreError, ConfigError (the tenant's key), ModuleNotFoundError where an extra is missing.
    """
    where = as_place(place)
    asked = running(where, say=say)
    if asked is not None:
        return Sender(asked, lost, where.collector.token_by if where.collector else discovery.FILE)
    return _Here(where)


class _Here:
    """Passes records through the chain into the embedded store."""

    def __init__(self, place: Place) -> None:
        from runreel.processors.chain import Chain

        site = Site(place.home)
        self._database = database_of(place, open_blobs(place))
        try:
            self._chain = Chain(*(PROCESSORS[kind](place.processors.get(kind, {}), site) for kind in PROCESSORS))
            self._database.start()
        except BaseException:
            self._database.shutdown()
            raise

    def take(self, batch: RawBatch) -> None:
        """Store a batch, durable on return. Raises ConsumeError."""
        self._database.export(set_apart(self._chain.process(batch)))

    def close(self) -> None:
        """Close the store."""
        self._database.shutdown()


def open_exporters(wanted: Mapping[str, Mapping[str, Any]], site: Site) -> dict[str, Exporter]:
    """Build the exporters of a configuration: component id (`type` or `type/name`) to its settings.

    `files` and `s3` are built first, since `clickhouse` puts heavy parts where they say; without one it keeps them in
    its table. What was opened is shut down again where a later one fails.

    Raises:
        LockedError, StoreError: a store cannot be opened.
        KeyError: a type that EXPORTERS does not have; a validated configuration names none.
    """
    built: dict[str, Exporter] = {}
    try:
        for name in sorted(wanted, key=lambda name: _type(name) not in BLOBS):
            built[name] = one = EXPORTERS[_type(name)](wanted[name], site)
            if isinstance(one, BlobsExporter):
                site = replace(site, blobs=one.blobs, inline_bytes=one.inline_bytes)
    except BaseException:
        for exporter in built.values():
            exporter.shutdown()
        raise
    return {name: built[name] for name in wanted}


def runs_in(exporters: Mapping[str, Exporter], over: Settings | None = None) -> RunStore:
    """Return the runs that these exporters store. They stay open: `close` of the result shuts the database down too.
    `over` says when a run counts as over.

    Raises KeyError where none of them keeps rows.
    """
    blobs = next((one.blobs for one in exporters.values() if isinstance(one, BlobsExporter)), None)
    for exporter in exporters.values():
        if isinstance(exporter, Memory):
            return StoreRuns(exporter, blobs or exporter, over)
        if not isinstance(exporter, BlobsExporter):
            from runreel.exporters.clickhouse import ClickHouse

            if isinstance(exporter, ClickHouse):
                return StoreRuns(exporter, blobs or Memory(), over)
    raise KeyError("none of these exporters keeps rows")


def _schema(settings: Mapping[str, Any], site: Site) -> Any:  # noqa: ARG001  every factory is called alike
    from runreel.processors.external_files import BasePath, ExternalFiles
    from runreel.processors.schema import Schema

    bases = [BasePath(base["sent"], Path(base["to"])) for base in settings.get("external_base_paths", ())]
    return Schema(ExternalFiles(bases) if bases else None, settings.get("required_fields", {}))


def redact_settings(settings: Mapping[str, Any]) -> "RedactSettings":
    """Return what a configuration says of redaction. Raises ConfigError."""
    from runreel.processors.redact.classes import rules
    from runreel.processors.redact.own import Recogniser
    from runreel.processors.redact.settings import RedactSettings

    declared = [
        {"class" if name == "kind" else name: text for name, text in one.items() if text is not None}
        for one in settings.get("classes", ())
    ]
    told = {name: value for name, value in settings.items() if name != "vault_key"}
    wanted = tuple(
        Recogniser(one["entity"], tuple((p["regex"], p["score"]) for p in one["patterns"]), tuple(one["deny_list"]))
        for one in settings.get("recognizers", ())
    )
    return RedactSettings(**{**told, "classes": rules(declared), "recognizers": wanted})


def _redact(settings: Mapping[str, Any], site: Site) -> Any:
    from runreel.processors.redact.keys import load_key
    from runreel.processors.redact.redactor import Redactor

    return Redactor(load_key(site.home, site.tenant), redact_settings(settings), sealer=_sealer(settings))


def _sealer(settings: Mapping[str, Any]) -> "Sealer | None":
    from runreel.processors.redact.sealing import Box, read_public

    path = settings.get("vault_key")
    return Box(read_public(Path(path))) if path else None


def _split(settings: Mapping[str, Any], site: Site) -> Any:  # noqa: ARG001
    from runreel.canonical import THRESHOLD_BYTES
    from runreel.processors.split import Split

    return Split(settings.get("threshold_bytes", THRESHOLD_BYTES))


def _files(settings: Mapping[str, Any], site: Site) -> BlobsExporter:
    path = settings.get("path")
    return BlobsExporter(FileBlobs(Path(path) if path else site.home / BLOBS_FOLDER), _inline_bytes(settings))


def _inline_bytes(settings: Mapping[str, Any]) -> int:
    return int(settings.get("inline_kib", INLINE_BYTES // 1024)) * 1024


def _given(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the settings that were written: what was not has the default of what it is for."""
    return ((name, value) for name, value in settings.items() if value is not None)


def _s3(settings: Mapping[str, Any], site: Site) -> BlobsExporter:  # noqa: ARG001
    try:
        from runreel.exporters.s3 import WIDTH, S3Blobs, S3Settings
    except ModuleNotFoundError as error:
        raise StoreError(f"the exporter s3 needs {error.name}: pip install 'runreel[s3]'") from error
    of_it = {name: value for name, value in _given(settings) if name != "inline_kib"}
    return BlobsExporter(S3Blobs(S3Settings(**of_it)), _inline_bytes(settings), WIDTH)


_OF_THE_STORE = {"path", "quarantine_days", "quarantine_limit_mib"}


def _clickhouse(settings: Mapping[str, Any], site: Site) -> "ClickHouse":
    from runreel.exporters.clickhouse import ClickHouse, Settings
    from runreel.exporters.connection import Connection

    engine: Connection
    if settings.get("endpoint"):
        from runreel.exporters.server import Server, ServerSettings

        of_it = {name: value for name, value in _given(settings) if name not in _OF_THE_STORE}
        engine = Server.connect(ServerSettings(**of_it))
    else:
        from runreel.exporters.engine import Engine

        path = settings.get("path")
        engine = Engine.open(Path(path) if path else site.home / "store", tmp=site.home / "tmp")
    return ClickHouse(engine, site.blobs, Settings(inline_bytes=site.inline_bytes))


def _vault(settings: Mapping[str, Any], site: Site) -> Vault:
    path = settings.get("path")
    return Vault(Path(path) if path else site.home / "vault" / VAULT_FILE, settings.get("ttl_days", 7))


def _memory(settings: Mapping[str, Any], site: Site) -> Memory:  # noqa: ARG001
    return Memory()


def _type(component_id: str) -> str:
    return component_id.partition("/")[0]


PROCESSORS: Mapping[str, Factory] = {"schema": _schema, "redact": _redact, "split": _split}
EXPORTERS: Mapping[str, Factory] = {
    "files": _files,
    "s3": _s3,
    "clickhouse": _clickhouse,
    "vault": _vault,
    "memory": _memory,
}
