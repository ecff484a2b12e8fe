"""Reads the configuration file: OpenTelemetry Collector grammar, every problem at once, each with path and line."""

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from runreel.collector import yaml_lines
from runreel.collector.settings import (
    TYPES,
    BearerTokenAuthConfig,
    OtlpConfig,
    PipelineConfig,
    Role,
    RunsConfig,
    ServiceConfig,
    TelemetryConfig,
    Types,
)
from runreel.collector.strict import Strict
from runreel.collector.yaml_lines import Document
from runreel.components import BLOBS
from runreel.errors import ConfigError

ROLES: tuple[Role, ...] = ("receivers", "processors", "exporters", "extensions")
SIGNALS = ("traces", "logs")
_COMPONENT_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}(/[^\s/]+)?")
# Order of the three processors, and why each stands where it does.
_ORDER = ("schema", "redact", "split")
_WHY = {
    ("schema", "redact"): "schema must come before redact: facts are taken from a span first, and redacted with it",
    ("redact", "split"): (
        "redact must come before split: split stores text under its hash, and what is stored unredacted under a hash "
        "cannot be cleaned afterwards"
    ),
    ("schema", "split"): "schema must come before split: it reads whole values, and split leaves references behind",
}
_NEEDED = {
    "schema": "it takes out what runs are found by",
    "redact": "nothing unredacted may be stored",
    "split": "stores take split batches only",
}


@dataclass(frozen=True, slots=True)
class Config:
    """A valid configuration. Component ids (`type` or `type/name`) map to the settings of declared components."""

    source: str
    receivers: Mapping[str, Strict]
    processors: Mapping[str, Strict]
    exporters: Mapping[str, Strict]
    extensions: Mapping[str, Strict]
    pipelines: Mapping[str, PipelineConfig]
    started_extensions: tuple[str, ...]
    telemetry: TelemetryConfig
    runs: RunsConfig


def type_of(component_id: str) -> str:
    """Return the type in a component id: `otlp` of `otlp/edge`."""
    return component_id.partition("/")[0]


def load(path: Path | None, env: Mapping[str, str] | None = None) -> Config:
    """Read a configuration file; None means the built-in default. Raises ConfigError with every problem."""
    if path is None:
        return parse(default_text(), "built-in configuration", env)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(str(path), ["the file is not UTF-8 text"]) from None
    except OSError as error:
        raise ConfigError(str(path), [f"cannot read the file: {error.strerror or type(error).__name__}"]) from error
    return parse(text, str(path), env)


def default_text() -> str:
    """Return the configuration that `runreel serve` uses without `--config`."""
    return resources.files("runreel.collector").joinpath("default.yaml").read_text(encoding="utf-8")


def parse(text: str, source: str, env: Mapping[str, str] | None = None, types: Types = TYPES) -> Config:
    """Check a configuration text and return it typed. Raises ConfigError with every problem, sorted by line."""
    document = yaml_lines.read(text, os.environ if env is None else env)
    reader = _Reader(document, types)
    config = reader.read(source)
    if reader.problems or config is None:
        ordered = sorted(dict.fromkeys(reader.problems), key=lambda problem: (problem.line or 0, str(problem)))
        raise ConfigError(source, [str(problem) for problem in ordered])
    return config


class _Reader:
    """One reading of one document; collects problems instead of stopping at the first."""

    def __init__(self, document: Document, types: Types) -> None:
        self.document = document
        self.types = types
        self.problems = list(document.problems)

    def problem(self, path: yaml_lines.Path, text: str) -> None:
        self.problems.append(self.document.problem(path, text))

    def read(self, source: str) -> Config | None:
        data = self.document.data
        if not isinstance(data, dict):
            if not self.problems:
                self.problem((), "a configuration is a map with receivers, processors, exporters and service")
            return None
        if self.document.problems and not data:
            return None
        known = (*ROLES, "service")
        for key in data:
            if key not in known:
                self.problem((key,), f"unknown key {key!r}{_suggest(key, known)}")
        declared: dict[Role, dict[str, Strict | None]] = {
            role: dict(self.components(role, data.get(role))) for role in ROLES
        }
        for role in ROLES[:3]:
            if not data.get(role):
                self.problem((role,) if role in data else (), f"no {role} are declared: {_example(role, self.types)}")
        body = data.get("service")
        if not isinstance(body, dict) or not body:
            missing = "service is missing: it names the pipelines to start, service::pipelines::traces"
            self.problem(("service",) if "service" in data else (), missing)
            return None
        pipelines = dict(self.pipelines(body.get("pipelines"), data))
        rest = {key: value for key, value in body.items() if key != "pipelines"}
        service: ServiceConfig | None = self.model(ServiceConfig, rest, ("service",))
        self.references("extensions", _texts(body.get("extensions")), data, ("service", "extensions"))
        self.authenticators(declared, _texts(body.get("extensions")))
        if service is None:
            return None
        used = {role: _present(declared[role]) for role in ROLES}
        return Config(
            source,
            used["receivers"],
            used["processors"],
            used["exporters"],
            used["extensions"],
            {name: pipeline for name, pipeline in pipelines.items() if pipeline is not None},
            service.extensions,
            service.telemetry,
            service.runs,
        )

    def components(self, role: Role, section: object) -> Iterator[tuple[str, Strict | None]]:
        """Yield (id, settings) of each declared component; None settings where they have a problem."""
        if section is None:
            return
        if not isinstance(section, dict):
            self.problem((role,), "must be a map of component ids to their settings")
            return
        for component_id, body in section.items():
            path = (role, component_id)
            if not _COMPONENT_ID.fullmatch(component_id):
                self.problem(path, f"{component_id!r} is no component id: write type or type/name")
                continue
            model = self.types[role].get(type_of(component_id))
            if model is None:
                kind, known = type_of(component_id), sorted(self.types[role])
                self.problem(path, f"unknown {role.removesuffix('s')} type {kind!r}{_suggest(kind, known)}")
                continue
            yield component_id, self.model(model, body if body is not None else {}, path)

    def model(self, model: type[Strict], body: object, path: yaml_lines.Path) -> Any:
        """Validate one part with its model; None after a problem."""
        try:
            return model.model_validate(body)
        except ValidationError as error:
            for item in error.errors(include_url=False, include_input=False):
                where = (*path, *item["loc"])
                self.problem(where, _explain(cast("Mapping[str, Any]", item), model))
            return None

    def pipelines(self, section: object, data: Mapping[str, object]) -> Iterator[tuple[str, PipelineConfig | None]]:
        """Check every pipeline for itself, as far as it can be read: one problem never hides another."""
        if not isinstance(section, dict) or not section:
            self.problem(("service", "pipelines"), "names no pipeline: write traces:, logs: or both")
            return
        taken: dict[str, str] = {}
        stores: dict[str, list[str]] = {}
        for pipeline_id, body in section.items():
            path: yaml_lines.Path = ("service", "pipelines", pipeline_id)
            signal = type_of(pipeline_id)
            if signal == "metrics":
                self.problem(path, "metrics are answered and dropped: remove this pipeline")
                continue
            if signal not in SIGNALS or not _COMPONENT_ID.fullmatch(pipeline_id):
                self.problem(path, f"unknown signal {signal!r}: a pipeline is named traces or logs")
            elif signal in taken:
                self.problem(path, f"{taken[signal]!r} takes {signal} already: one signal has one pipeline")
            taken.setdefault(signal, pipeline_id)
            yield pipeline_id, self.model(PipelineConfig, body if body is not None else {}, path)
            if not isinstance(body, dict):
                continue
            for role in ROLES[:3]:
                self.references(role, _texts(body.get(role)), data, (*path, role))
            self.processors(_texts(body.get("processors")), (*path, "processors"), path)
            self.vault(body, data, path)
            if body.get("exporters"):
                self.exporters(_texts(body["exporters"]), (*path, "exporters"))
                stores[pipeline_id] = _texts(body["exporters"])
        first, *others = stores or [""]
        for other in others:
            if stores[other] != stores[first]:
                why = f"must be those of {first!r}: in this version a collector has one store, for spans and their logs"
                self.problem(("service", "pipelines", other, "exporters"), why)

    def authenticators(self, declared: Mapping[Role, Mapping[str, Strict | None]], started: Sequence[str]) -> None:
        """What a receiver is protected by must be started, and be such an extension."""
        for receiver_id, body in declared["receivers"].items():
            protocols = body.protocols if isinstance(body, OtlpConfig) else None
            for name in ("grpc", "http") if protocols else ():
                auth = getattr(getattr(protocols, name), "auth", None)
                if auth is None:
                    continue
                path = ("receivers", receiver_id, "protocols", name, "auth", "authenticator")
                extension = declared["extensions"].get(auth.authenticator)
                if not isinstance(extension, BearerTokenAuthConfig):
                    self.problem(path, f"{auth.authenticator!r} is no declared extension of type bearertokenauth")
                elif auth.authenticator not in started:
                    self.problem(path, f"{auth.authenticator!r} is not started: add it to service::extensions")

    def references(self, role: Role, ids: Sequence[str], data: Mapping[str, object], path: yaml_lines.Path) -> None:
        """Every id in a list must be declared, once."""
        section = data.get(role)
        declared = [*section] if isinstance(section, dict) else []
        for index, component_id in enumerate(ids):
            if component_id not in declared:
                missing = f"{component_id!r} is not declared under {role}{_suggest(component_id, declared)}"
                self.problem((*path, index), missing)
            elif component_id in ids[:index]:
                self.problem((*path, index), f"{component_id!r} is named twice")

    def processors(self, ids: Sequence[str], path: yaml_lines.Path, pipeline: yaml_lines.Path) -> None:
        """Exactly schema, redact, split, in this order."""
        kinds = [type_of(component_id) for component_id in ids]
        for kind in _ORDER:
            if kind not in kinds:
                right = ", ".join(_ORDER)
                self.problem(pipeline, f"the processor {kind} is missing: {_NEEDED[kind]}. Write processors: [{right}]")
            elif kinds.count(kind) > 1 and len(set(ids)) == len(ids):
                self.problem(path, f"two processors of type {kind}: a pipeline has one")
        for (first, second), why in _WHY.items():
            if first in kinds and second in kinds and kinds.index(first) > kinds.index(second):
                self.problem(path, why)

    def vault(self, body: Mapping[str, object], data: Mapping[str, object], path: yaml_lines.Path) -> None:
        """What is sealed needs a vault to go to, and a vault needs what is sealed."""
        declared = data.get("processors")
        redactors = [name for name in _texts(body.get("processors")) if type_of(name) == "redact"]
        found = [declared.get(name) for name in redactors] if isinstance(declared, dict) else []
        seals = any(isinstance(one, dict) and one.get("vault_key") for one in found)
        stores = any(type_of(name) == "vault" for name in _texts(body.get("exporters")))
        if stores and not seals:
            why = (
                "vault stores what redact seals, and it seals nothing: set its vault_key (runreel vault init makes one)"
            )
            self.problem((*path, "exporters"), why)
        elif seals and not stores:
            why = "redact seals values, and no exporter vault is there to store them: add it, or remove vault_key"
            self.problem((*path, "exporters"), why)

    def exporters(self, ids: Sequence[str], path: yaml_lines.Path) -> None:
        """Heavy parts first, then the rows that name them."""
        kinds = [type_of(component_id) for component_id in ids]
        if "clickhouse" not in kinds:
            self.problem(path, "no exporter that keeps rows: add clickhouse")
        for kind in (kind for kind in kinds if kind in BLOBS):
            if "clickhouse" in kinds and kinds.index(kind) > kinds.index("clickhouse"):
                why = f"{kind} must come before clickhouse: a row may only name parts that are stored already"
                self.problem(path, why)
        if {*kinds} >= BLOBS:
            self.problem(path, "files and s3 in one pipeline: heavy parts are kept in one place, write one of them")
        for kind in sorted({*kinds}):
            if kinds.count(kind) > 1 and len(set(ids)) == len(ids):
                self.problem(path, f"two exporters of type {kind}: a pipeline has one")


def _present(components: Mapping[str, Strict | None]) -> dict[str, Strict]:
    return {component_id: body for component_id, body in components.items() if body is not None}


def _texts(section: object) -> list[str]:
    return [item for item in section if isinstance(item, str)] if isinstance(section, list) else []


def _suggest(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f": did you mean {close[0]!r}?"
    return f" (known: {', '.join(known)})" if known else ""


def _example(role: Role, types: Types) -> str:
    return f"write {role}: with one of {', '.join(sorted(types[role]))}"


_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
}


def _explain(item: Mapping[str, Any], model: type[BaseModel]) -> str:
    """Say what is wrong in words that fit a configuration file; never with the value, which may be a secret."""
    kind, loc = str(item["type"]), item["loc"]
    if kind == "extra_forbidden":
        known = _keys(model, loc[:-1])
        return f"unknown key {loc[-1]!r}{_suggest(str(loc[-1]), known) if known else ' (there are no settings here)'}"
    if kind == "missing":
        return f"{loc[-1]} is missing"
    if kind in _EXPECTED:
        return f"wrong type: must be {_EXPECTED[kind]}"
    context = item.get("ctx", {})
    if kind == "value_error":
        return str(context.get("error", item["msg"]))
    if kind in {"too_short", "string_too_short"}:
        return "must not be empty"
    return str(item["msg"]).replace("Input should be", "must be")


def _keys(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """List the keys that a (nested) model knows."""
    for step in loc:
        field = model.model_fields.get(str(step))
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            return []
        model = inner
    return sorted(model.model_fields)


def _model_in(annotation: object) -> type[BaseModel] | None:
    """Find the model inside `Model` or `Model | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _model_in(inner)
        if found is not None:
            return found
    return None
