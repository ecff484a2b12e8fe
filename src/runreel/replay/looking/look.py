"""Put a dry look together: what would be recorded, which tools and models are answered, what to type next."""

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from runreel.errors import EntryPointError
from runreel.replay import adapters, entry
from runreel.replay.boundaries import finding
from runreel.replay.engine import entry_of_text
from runreel.replay.looking import recording
from runreel.replay.looking.known import BESIDE, LIBRARIES, Library, version_of
from runreel.replay.looking.sources import Sources, read
from runreel.replay.transports.versions import TESTED, outside

_CHECKPOINTS: Final = "langgraph-checkpoint"
Part = Literal["recorded", "tools", "models", "transports"]
State = Literal["ok", "note", "todo"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `note`: worth knowing and nothing to do; `todo` has a `fix`."""

    part: Part
    name: str
    state: State
    says: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Looked:
    """What a dry look found. `files` were read, in that order; `next` are the commands to type."""

    agent: str
    files: tuple[str, ...]
    findings: tuple[Finding, ...]
    next: tuple[str, ...]

    @property
    def well(self) -> bool:
        """Say whether there is nothing to do."""
        return all(one.state != "todo" for one in self.findings)


def look(agent: str, *, env: Mapping[str, str] | None = None) -> Looked:
    """Look at an agent, `path/to/script.py` or `module:callable`, without importing or running anything of it.

    `env` is the environment that it would be started with; None is ours.

    Raises UsageError where `agent` is no entry, EntryPointError where there is no such file, module or callable, or it
    is no Python.
    """
    how = entry_of_text(agent)
    with _restored():
        place = entry.prepare(how.plan(), ())
        packages = (str(Path(place.file).resolve().parent),)
        sources = read(place, packages)
        if how.callable:
            _require_callable(how.callable, place, sources)
        used = [one for one in LIBRARIES if sources.imported(*one.modules)]
        settings = {**sources.settings, **(os.environ if env is None else env)}
        findings = [
            *(Finding("recorded", *one) for one in recording.recorded(sources, used, settings)),
            *_unreadable(sources),
            *_tools(place, packages, sources, used),
            *_models(used),
            *_transports(),
        ]
    files = tuple(os.path.relpath(file) for file in sources.found.files)
    return Looked(agent, files, tuple(findings), _next(agent, how.script, findings, settings))


@contextmanager
def _restored() -> Iterator[None]:
    """Leave this process's own path and arguments as they were: reading sets them as the agent's would be."""
    path, argv = list(sys.path), list(sys.argv)
    try:
        yield
    finally:
        sys.path[:], sys.argv[:] = path, argv


def _require_callable(path: str, place: finding.Place, sources: Sources) -> None:
    """Raise EntryPointError where the module surely has no such name; what only running could tell passes."""
    first = path.partition(".")[0]
    defined = sources.names_in.get(place.file, frozenset())
    if first not in defined and "*" not in defined and "__getattr__" not in defined:
        raise EntryPointError(f"{place.module} has no {path} to call")


def _unreadable(sources: Sources) -> Iterator[Finding]:
    for file, why in sources.found.unreadable.items():
        says = f"{os.path.relpath(file)} is no Python that can be read: {why}"
        yield Finding("tools", "source", "todo", says, "mend it: what it holds is not seen here, nor by a replay")


# --- tools ------------------------------------------------------------------------------------------------------------


def _tools(
    place: finding.Place, packages: Sequence[str], sources: Sources, used: Sequence[Library]
) -> Iterator[Finding]:
    """Say of each tool what would answer it in a replay."""
    names = sorted({*sources.tools, *sources.recorder})
    found = finding.find(place, names, packages=packages)
    packages_used = {one.package for one in used} | {one for one in BESIDE if sources.imported(*BESIDE[one])}
    mine = [one for one in adapters.ADAPTERS if one.package in packages_used and version_of(one.package)]
    tested = [one.name for one in mine if not one.problem and one.package != _CHECKPOINTS]
    needs = False
    for name in names:
        if name in found.boundaries:
            yield Finding("tools", name, "ok", "a boundary of runreel.record")
        elif found.has(name):
            yield _function(name, found)
        elif tested:
            yield Finding("tools", name, "ok", f"given at {sources.tools[name]}; answered by {tested[0]}")
        else:
            needs = True
            fix = f"replay with --tool {name}=MODULE:FUNCTION, or decorate it with runreel.record.tool"
            yield Finding("tools", name, "todo", found.told(name), fix)
    for text, where in sources.made.items():
        needs = needs or not tested
        yield _made(text, where, tested)
    for adapter in mine:
        yield _adapter(adapter, needs)
    if not names and not sources.made:
        says = "none found by reading; a replay looks for each recorded one by its name, and says which it lacks"
        yield Finding("tools", "tools", "note", says)


def _function(name: str, found: finding.Found) -> Finding:
    places = found.functions.get(name, [])
    if len(places) > 1:
        says = f"the name of {len(places)} functions, each would be answered: {', '.join(map(str, places))}"
        return Finding("tools", name, "note", f"{says}; where one is no tool: replay with --tool {name}={places[0]}")
    where = str(places[0]) if places else f"registered at {Path(found.registered[name][0].place).name}"
    return Finding("tools", name, "ok", f"function {where}, answered in its place")


def _made(text: str, where: str, tested: Sequence[str]) -> Finding:
    if tested:
        return Finding("tools", text, "ok", f"made by a library, at {where}; answered by {tested[0]}")
    fix = "put it into a function of yours, decorated with runreel.record.tool"
    return Finding("tools", text, "todo", f"made by a library, at {where}: no function of yours to answer in", fix)


def _adapter(adapter: adapters.Adapter, needs: bool) -> Finding:
    if not adapter.problem:
        says = f"{adapter.package} {version_of(adapter.package)}: it is answered"
        return Finding("tools", adapter.name, "ok", says)
    fix = "install a version that is tested, or put a function of yours around each tool that only it knows"
    says = f"{adapter.problem}; only functions of yours are answered"
    return Finding("tools", adapter.name, "todo" if needs else "note", says, fix if needs else "")


# --- models -----------------------------------------------------------------------------------------------------------


def _models(used: Sequence[Library]) -> Iterator[Finding]:
    for one in used:
        installed = version_of(one.package)
        name = f"{one.package} {installed}".strip()
        if not installed:
            fix = f"run this in the agent's own environment, or: pip install {one.package}"
            yield Finding("models", one.title, "todo", f"{one.package} is imported and not installed here", fix)
        elif one.api:
            yield Finding("models", one.title, "ok", f"{name}: {one.api}")
        else:
            fix = "ask it through an OpenAI-compatible endpoint, or wrap the call with runreel.record.model"
            yield Finding("models", one.title, "todo", f"{name}: its own API is not answered", fix)
    if not used:
        says = "no client or framework that is known here is imported by the agent's own modules"
        yield Finding("models", "models", "note", says)


def _transports() -> Iterator[Finding]:
    for package, (first, beyond) in TESTED.items():
        installed = version_of(package)
        if not installed:
            continue
        problem = outside(package, first, beyond)
        if problem:
            span = f">={'.'.join(map(str, first))},<{'.'.join(map(str, beyond))}"
            yield Finding("transports", package, "todo", problem, f"pip install '{package}{span}'")
        else:
            yield Finding("transports", package, "ok", f"{installed}, tested")


# --- what to type -----------------------------------------------------------------------------------------------------


def _next(agent: str, script: str, findings: Sequence[Finding], settings: Mapping[str, str]) -> tuple[str, ...]:
    start = f"python {shlex.quote(script)}" if script else f"your program that calls {agent}"
    wanted = (
        [] if settings.get("OTEL_EXPORTER_OTLP_ENDPOINT") else ["OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317"]
    )
    for one in findings:
        words = one.fix.split() if (one.name, one.state) == ("content", "todo") else []
        wanted += [word.rstrip(",;") for word in words[1:2] if "=" in word]
    return (
        "runreel serve &",
        " ".join([*dict.fromkeys(wanted), start]),
        "runreel runs show last",
        f"runreel replay last --agent {shlex.quote(agent)}",
    )
