"""What `runreel doctor` looks at: this machine, the data folder, the collector on it, and what the last runs lack."""

import importlib.util
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from runreel import __version__
from runreel.errors import ConfigError, RunReelError, SandboxError
from runreel.runs import discovery
from runreel.runs.discovery import Collector
from runreel.runs.places import Place, remote_runs, running
from runreel.storage import RunQuery, RunStore
from runreel.text import many
from runreel.values import DEFAULT_TENANT, Run

State = Literal["ok", "note", "todo"]
_LEAST_FREE = 1024**3
# One module of each package that an extra brings, by the name it is imported under.
_EXTRAS = {
    "collector": ("cryptography", "grpc", "httptools", "presidio_analyzer", "pydantic", "yaml", "starlette", "uvicorn"),
    "embedded": ("chdb", "clickhouse_connect"),
    "demo": ("openai", "opentelemetry.exporter.otlp.proto.grpc", "opentelemetry.instrumentation.genai.openai"),
}
_FOR = {"collector": "to receive and redact", "embedded": "to store", "demo": "for `runreel demo`"}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `note`: worth knowing and nothing to do; `todo` has a `fix`."""

    name: str
    state: State
    says: str
    fix: str = ""


@dataclass(slots=True)
class Lack:
    """One thing that runs of a service lack for a frozen replay: what to set, how often, which fields, which runs."""

    service: str
    cause: str
    fix: str
    times: int = 0
    fields: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)


@dataclass(slots=True)
class News:
    """One thing that is not known here: in how many steps, and in which runs."""

    what: str
    times: int = 0
    runs: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the last runs say. `dialects` maps a name to (steps, verified); `broken` names runs that cannot be read."""

    runs: int
    full: int
    dialects: dict[str, tuple[int, bool]]
    lacks: tuple[Lack, ...]
    broken: tuple[Check, ...]
    news: tuple[News, ...] = ()


def machine() -> Iterator[Check]:
    """Check what is installed and what the kernel has."""
    for extra, modules in _EXTRAS.items():
        missing = [module for module in modules if not _there(module)]
        if not missing:
            yield Check(f"extra {extra}", "ok", "installed")
        else:
            # A bare install is what an agent's own environment should have.
            says = f"not installed ({', '.join(missing)}); needed {_FOR[extra]}: pip install 'runreel[{extra}]'"
            yield Check(f"extra {extra}", "note", says)
    yield sandbox()


def sandbox() -> Check:
    """Check which walls of the sandbox the kernel can build, by building them around a process that does nothing."""
    from runreel.replay.sandbox import probe

    try:
        return Check("sandbox", "ok", str(probe()))
    except SandboxError as error:
        return Check("sandbox", "todo", "replay cannot keep an agent off the network here", str(error))


def home(folder: Path) -> Iterator[Check]:
    """Check the data folder, its key and the space it has. Makes nothing."""
    if not folder.exists():
        yield Check("home", "note", f"{folder} is not there yet: `runreel serve` and `runreel runs import` make it")
    elif not folder.is_dir():
        yield Check("home", "todo", f"{folder} is no folder", "set RUNREEL_HOME, or --home, to a folder")
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        fix = f"give it to the user that runs this command: chown -R {os.getuid()} {folder}"
        yield Check("home", "todo", f"{folder} may not be read and written", fix)
    else:
        yield Check("home", "ok", str(folder.absolute()))
        yield _key(folder)
    yield _space(folder)


def collector(place: Place) -> Iterator[Check]:
    """Check the collector that is named, or that runs on the data folder."""
    said: list[str] = []
    try:
        found = running(place, say=said.append)
    except RunReelError as error:
        yield Check("collector", "todo", str(error), "set RUNREEL_HOME, or --home, to a folder that can be read")
        return
    if found is None:
        if said:
            fix = f"remove {place.home / discovery.FILE}, or start `runreel serve` again"
            yield Check("collector", "todo", said[0], fix)
        else:
            yield Check("collector", "note", "none runs on this folder; `runreel serve` starts one")
        return
    where = ", ".join(
        f"{name} {at}" for name, at in (("gRPC", found.otlp_grpc), ("HTTP", found.otlp_http)) if at is not None
    )
    who = f"process {found.pid}" if found.pid else found.api
    theirs = discovery.version(found)
    if theirs == __version__:
        yield Check("collector", "ok", f"{who}, version {theirs}: {where}")
    else:
        says = f"{who} has version {theirs or 'unknown'}, this command {__version__}: {where}"
        yield Check("collector", "todo", says, "stop it and start `runreel serve` of this version")
    yield from _stores(place, found)


def _stores(place: Place, found: Collector) -> Iterator[Check]:
    """Check the stores of a collector, which it writes to and reads, and what became of what it acknowledged."""
    try:
        told = remote_runs(place, found).stores()
    except RunReelError as error:
        yield Check("stores", "note", str(error))
        return
    for name, state in told.get("stores", {}).items():
        fix = "" if state == "ok" else "what is acknowledged waits in the spool until the store takes it again"
        yield Check(f"store {name}", "todo" if fix else "ok", state if fix else "written to and read", fix)
    spool = told.get("spool")
    if spool:
        waits = f"{many(spool['batches'], 'request')} wait ({spool['bytes']:,} bytes)"
        full = "make room, or raise extensions::spool::limit_mib: until then clients are told to come back"
        yield Check("spool", "todo" if spool["full"] else "ok", waits, full if spool["full"] else "")
    yield from _quarantine(told.get("quarantine"))
    for tenant, counts in told.get("ledger", {}).items():
        yield Check(*_ledger(tenant, counts))


def _quarantine(told: Mapping[str, Any] | None) -> Iterator[Check]:
    """Check what is kept aside instead of stored; it is worth a look, since it is in no run."""
    for one in told["kept"] if told else ():
        whose = f" of {one['tenant']}" if one["tenant"] else ""
        says = f"{many(one['records'], 'record')} ({one['bytes']:,} bytes){whose}: {one['reason']}"
        yield Check("quarantine", "todo", says, "`runreel quarantine ls` lists them; release or drop them")
    if told and told["full"]:
        fix = "release or drop some, or raise exporters::clickhouse::quarantine_limit_mib"
        yield Check("quarantine", "todo", "full: spans that belong there are rejected", fix)


def _ledger(tenant: str, counts: Mapping[str, int]) -> tuple[str, State, str, str]:
    if not tenant:
        says = f"{many(counts.get('damaged_records', 0), 'record')} of the spool were damaged on the disk"
        return "spool", "todo", says, "look at the disk; what could not be read is kept in the spool's folder damaged"
    parts = [
        f"{counts.get(f'acknowledged_{kind}', 0):,} {kind} acknowledged = {counts.get(f'stored_{kind}', 0):,} stored + "
        f"{counts.get(f'spooled_{kind}', 0):,} waiting + {counts.get(f'quarantined_{kind}', 0):,} quarantined"
        for kind in ("spans", "logs")
        if counts.get(f"acknowledged_{kind}")
    ]
    rejected = sum(count for what, count in counts.items() if what.startswith("rejected:"))
    parts += [f"{rejected:,} rejected"] if rejected else []
    for what, first in (("withdrawn", "stored"), ("released", "quarantined")):
        moved = counts.get(f"{what}_spans", 0) + counts.get(f"{what}_logs", 0)
        parts += [f"{moved:,} of the {first} were {what}"] if moved else []
    return f"ledger {tenant}", "ok", "; ".join(parts), ""


def look(store: RunStore, last: int) -> Seen:
    """Read the last runs. One that cannot be read is a check of its own."""
    from runreel.semconv.dialects import DIALECTS

    verified = {dialect.name: dialect.verified for dialect in DIALECTS}
    runs: list[Run] = []
    broken: list[Check] = []
    for summary in store.runs(RunQuery(limit=last)):
        try:
            runs.append(store.run(summary.tenant or DEFAULT_TENANT, summary.run_id))
        except RunReelError as error:
            fix = "take it from a copy of the data folder, or from a reel; other runs are not affected"
            broken.append(Check("store", "todo", f"run {summary.run_id} cannot be read: {error}", fix))
    steps: dict[str, int] = {}
    for run in runs:
        for step in run.steps:
            if step.dialect:
                steps[step.dialect] = steps.get(step.dialect, 0) + 1
    dialects = {name: (count, verified.get(name, False)) for name, count in sorted(steps.items())}
    full = sum(1 for run in runs if run.replayable == "full")
    return Seen(len(runs), full, dialects, tuple(lacks(runs)), tuple(broken), tuple(news(runs)))


def lacks(runs: Sequence[Run]) -> list[Lack]:
    """Return what is missing for `full`, the same thing of one service once; what stops most runs comes first."""
    found: dict[tuple[str, str, str], Lack] = {}
    for run in runs:
        name = run.service.get("service.name")
        service = name if isinstance(name, str) and name else run.agent_id
        for gap in run.gaps:
            if gap.needed_for != "frozen":
                continue
            kind = gap.cause.partition(":")[0]
            lack = found.setdefault((service, kind, gap.fix), Lack(service, gap.cause, gap.fix))
            lack.times += 1
            for value, known in ((gap.field, lack.fields), (run.run_id, lack.runs)):
                if value not in known:
                    known.append(value)
    return sorted(found.values(), key=lambda lack: (lack.service, -len(lack.runs), -lack.times, lack.cause))


def news(runs: Sequence[Run]) -> list[News]:
    """Return what steps hold that is not known here, the most frequent first."""
    found: dict[str, News] = {}
    for run in runs:
        for step in run.steps:
            listed = step.fields.get("unknown")
            for what in listed if isinstance(listed, tuple) else ():
                one = found.setdefault(str(what), News(str(what)))
                one.times += 1
                if run.run_id not in one.runs:
                    one.runs.append(run.run_id)
    return sorted(found.values(), key=lambda one: (-one.times, one.what))


def _there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it is missing
        return False


def _key(folder: Path) -> Check:
    from runreel.processors.redact.keys import VARIABLE, load_key

    path = folder / "keys" / f"{DEFAULT_TENANT}.json"
    if VARIABLE not in os.environ and not path.exists():
        if (folder / "store").exists():
            says = "gone: new tokens would not be those of the runs that are stored"
            return Check("key", "todo", says, f"put {path} back from a copy, or set {VARIABLE}")
        return Check("key", "note", "not made yet: the first run makes it")
    try:
        key = load_key(folder, DEFAULT_TENANT)
    except ConfigError as error:
        return Check("key", "todo", f"the tenant's key is not usable ({error.source})", "; ".join(error.problems))
    where = f"variable {VARIABLE}" if VARIABLE in os.environ else f"{path}, readable by its owner alone"
    return Check("key", "ok", f"{key.key_id} in {where}")


def _space(folder: Path) -> Check:
    at = folder.absolute()
    while not at.exists():
        at = at.parent
    free = shutil.disk_usage(at).free
    says = f"{free / 1024**3:.1f} GiB free"
    if free < _LEAST_FREE:
        return Check("space", "todo", says, f"make room on the disk of {at}: a store that is full takes no runs")
    return Check("space", "ok", says)
