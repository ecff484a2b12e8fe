"""What of an agent would be recorded: who writes spans of its models, whether content is sent, and where to."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final, Literal

from runreel.replay.looking.known import (
    BY_KEY,
    Instrumentation,
    Library,
    content_problem,
    instrumentation_of,
    instrumentations,
)
from runreel.replay.looking.sources import Sources
from runreel.runs.loose_ends import LOOP_FIX
from runreel.runs.verdict import CODE_FIX, LENGTH_FIX
from runreel.semconv.switches import model_switch

Row = tuple[str, Literal["ok", "note", "todo"], str, str]
"""Name, state, what it says, fix."""

_EXPORTERS: Final = ("opentelemetry.exporter.otlp", "logfire", "phoenix.otel", "traceloop.sdk", "openlit", "langfuse")
_ALL_OF: Final = (("traceloop.sdk", "opentelemetry.instrumentation."), ("openlit", "openlit"))
_AUTO: Final = "opentelemetry/instrumentation/auto_instrumentation"
_SPANS: Final = frozenset({"start_as_current_span", "start_span", "workflow", "agent", "chain", "observe", "span"})
_LIMITS: Final = (
    "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT",
)
_EXPORT: Final = (
    "set up a TracerProvider with an OTLPSpanExporter, or: pip install opentelemetry-distro "
    "opentelemetry-exporter-otlp, and start it with opentelemetry-instrument"
)


def recorded(sources: Sources, used: Sequence[Library], settings: Mapping[str, str]) -> Iterator[Row]:
    """Yield what would be recorded, and what stands in the way."""
    if sources.imported("runreel.record"):
        yield "recorder", "ok", "runreel.record is used: its boundaries record themselves", ""
    active, rows = _active(sources, used, settings)
    yield from rows
    yield from _model_calls(used, active, sources)
    yield from _loop(sources, used)
    yield from _content(sources, active, settings)
    yield from _export(sources, settings)
    yield from _settings(sources, settings)


def _active(
    sources: Sources, used: Sequence[Library], settings: Mapping[str, str]
) -> tuple[list[Instrumentation], list[Row]]:
    """Return the instrumentations that are switched on, as far as reading tells, with a row for each that is there."""
    active: list[Instrumentation] = []
    rows: list[Row] = []
    everything = _AUTO in settings.get("PYTHONPATH", "")
    wanted = {key for one in used for key in (one.key, *one.below)} | {"mcp"}
    installed = sorted(set(instrumentations()), key=lambda one: one.module)
    rows += _not_installed(sources, {one.module for one in installed})
    for one in installed:
        seen = sources.imported(one.module)
        by_all = everything or any(
            sources.imported(package) and one.module.startswith(start) for package, start in _ALL_OF
        )
        if by_all:
            active.append(one)
            rows.append((_short(one.module), "ok", f"{one.title}, switched on with all that is installed", ""))
        elif seen is None:
            if one.covers in wanted:
                rows.append(
                    (_short(one.module), "note", f"{one.title} is installed, and nothing here switches it on", "")
                )
        elif "instrument" not in sources.calls:
            fix = f"call .instrument() of the instrumentor that {seen.place} imports"
            rows.append(
                (_short(one.module), "todo", f"{one.title} is imported at {seen.place} and never switched on", fix)
            )
        else:
            active.append(replace(one, sure=seen.sure))
            where = f"switched on at {seen.place}" if seen.sure else f"at {seen.place}, where running decides"
            rows.append((_short(one.module), "ok" if seen.sure else "note", f"{one.title}, {where}", ""))
    for library in used:
        if library.own:
            active_itself = not library.switched or _is_switched(library, sources)
            if active_itself:
                active.append(Instrumentation(library.own, library.package, library.key))
                rows.append((library.title, "ok", f"{library.package} records itself", ""))
    return active, rows


def _not_installed(sources: Sources, installed: Set[str]) -> Iterator[Row]:
    for module in sorted({instrumentation_of(name) for name in sources.imports} - installed - {""}):
        seen = sources.imported(module)
        assert seen is not None
        if seen.sure:
            package = module.replace(".", "-").replace("_", "-")
            says = f"{module} is imported at {seen.place} and not installed"
            yield _short(module), "todo", says, f"pip install {package}"
        else:
            yield _short(module), "note", f"at {seen.place}, where running decides; not installed", ""


def _short(module: str) -> str:
    return module.removeprefix("opentelemetry.instrumentation.").replace("openinference.instrumentation", "oi")


def _is_switched(library: Library, sources: Sources) -> bool:
    return any(name in sources.calls or (name, True) in sources.keywords for name in library.switched)


def _model_calls(used: Sequence[Library], active: Sequence[Instrumentation], sources: Sources) -> Iterator[Row]:
    """Yield a row for each client whose model calls nobody records, and one where all are recorded."""
    covered = {one.covers for one in active if not model_switch(one.scope)}
    lacking = False
    for one in used:
        above = {other.key for other in used if one.key in other.below}
        if covered & {one.key, *one.below, *above} or not (one.instrument or one.own):
            continue
        lacking = True
        told = next((fix for other in active if other.covers == one.key and (fix := model_switch(other.scope))), "")
        says = f"nothing records what {one.title} asks its models"
        yield "model calls", "todo", says, told or one.instrument or f"instrument {BY_KEY[one.key].title}"
    if used and not lacking:
        yield "model calls", "ok", "recorded", ""
    if not used and not active and not sources.imported("runreel.record"):
        fix = "instrument the model client: without its spans there is nothing to replay"
        yield "model calls", "todo", "no instrumentation that is known here is switched on", fix


def _loop(sources: Sources, used: Sequence[Library]) -> Iterator[Row]:
    """Yield a note where only clients are used, and no span is seen that would hold their calls together."""
    alone = used and not any(one.below or one.own for one in used)
    if alone and not sources.imported("runreel.record") and not _SPANS & sources.calls.keys():
        yield (
            "run",
            "note",
            f"no span is seen around the agent's loop. If it asks a model more than once: {LOOP_FIX}",
            "",
        )


def _content(sources: Sources, active: Sequence[Instrumentation], settings: Mapping[str, str]) -> Iterator[Row]:
    """Yield who would not send content. One that may not be switched on is no fault where another one sends it."""
    problems = {one: content_problem(one.scope, settings, sources) for one in active}
    alone = all(says for says, _ in problems.values())
    for one, (says, fix) in problems.items():
        if says:
            yield "content", "todo" if one.sure or alone else "note", f"{one.package}: {says}", fix
    if problems and not any(says for says, _ in problems.values()):
        yield "content", "ok", "is sent: nothing that was looked at keeps it back", ""


def _export(sources: Sources, settings: Mapping[str, str]) -> Iterator[Row]:
    exporter = sources.imported(*_EXPORTERS)
    if exporter is not None or sources.imported("runreel.record") or _AUTO in settings.get("PYTHONPATH", ""):
        to = settings.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
        says = f"over OTLP, to {to}" if to else "over OTLP, to the exporter's default (localhost:4317 for gRPC)"
        yield "export", "ok", says, ""
    else:
        yield "export", "todo", "no OTLP exporter is set up in what was read", _EXPORT


def _settings(sources: Sources, settings: Mapping[str, str]) -> Iterator[Row]:
    """Yield what the environment keeps back."""
    if settings.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield "telemetry", "todo", "OTEL_SDK_DISABLED=true: nothing is recorded", "unset OTEL_SDK_DISABLED"
    if settings.get("OTEL_TRACES_EXPORTER", "").lower() == "none":
        yield "telemetry", "todo", "OTEL_TRACES_EXPORTER=none: no span is exported", "unset OTEL_TRACES_EXPORTER"
    sampler = settings.get("OTEL_TRACES_SAMPLER", "")
    if sampler and not sampler.endswith("always_on"):
        fix = "unset OTEL_TRACES_SAMPLER: a run is whole, or it is of no use"
        yield "sampling", "todo", f"OTEL_TRACES_SAMPLER={sampler}: some runs, or parts of them, are left out", fix
    limits = [name for name in _LIMITS if settings.get(name)]
    if limits:
        yield "limits", "todo", f"{', '.join(limits)}: content longer than that is cut", LENGTH_FIX
    named = settings.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not any(key in named or key in sources.texts for key in ("service.version", "vcs.ref.head.revision")):
        yield "code version", "note", f"no commit is named: {CODE_FIX}", ""
