"""Connect the recorder to OpenTelemetry: the application's own provider, or else one that exports OTLP."""

import importlib
import logging
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import baggage, trace

from runreel.record import _active, bypass
from runreel.record.calls import sensitive_tools
from runreel.record.losses import count, safely
from runreel.record.sending import send_with, within
from runreel.record.strip import attribute, command_line
from runreel.semconv import keys

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, Span
    from opentelemetry.sdk.trace.export import SpanExporter

_log = logging.getLogger("runreel.record")

_PACKAGE: Final = "opentelemetry.exporter.otlp."
# Protocol of OTEL_EXPORTER_OTLP_PROTOCOL -> module of its span exporter, in the order in which one is looked for.
_EXPORTERS: Final[Mapping[str, str]] = {
    "grpc": _PACKAGE + "proto.grpc.trace_exporter",
    "http/protobuf": _PACKAGE + "proto.http.trace_exporter",
    "http/json": _PACKAGE + "json.http.trace_exporter",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What `configure` was told. Empty: not said."""

    agent: str = ""
    code_version: str = ""
    entry: str = ""


_told = [Settings()]


def settings() -> Settings:
    """Return what `configure` was told, completed from the environment."""
    told, environ = _told[0], os.environ
    return replace(
        told,
        agent=told.agent or environ.get("RUNREEL_AGENT") or environ.get("OTEL_SERVICE_NAME") or "agent",
        code_version=told.code_version or environ.get("RUNREEL_CODE_VERSION", ""),
    )


def configure(*, agent: str, code_version: str = "", endpoint: str | None = None, entry: str = "") -> None:
    """Name the agent, and send its spans over OTLP unless the application has set up OpenTelemetry itself.

    Args:
        agent: Name of the agent.
        code_version: Commit of the code; default `RUNREEL_CODE_VERSION`.
        endpoint: Where to send to; default OpenTelemetry's own settings (`OTEL_EXPORTER_OTLP_ENDPOINT`...).
        entry: Where a replay starts the agent, `module:callable` or a script; default the script that runs.

    The protocol is that of `OTEL_EXPORTER_OTLP_PROTOCOL`, else the first one whose exporter is installed. Spans are
    exported in the background and at exit. Nothing is raised: without an exporter a warning is logged, and the agent
    runs on unrecorded.
    """
    _told[0] = Settings(agent, code_version, entry)
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        made = safely("exporter", lambda: _provider(endpoint), None)
        if made is None:
            _log.warning(
                "runreel: nothing is recorded: no OTLP exporter could be set up; install one, such as "
                "opentelemetry-exporter-otlp-proto-grpc, or see OTEL_EXPORTER_OTLP_PROTOCOL"
            )
            return
        trace.set_tracer_provider(made)
        provider = made
    if _active.current is None:  # a replay has an eye of its own on the network
        safely("bypassed", bypass.install, None)
    add = getattr(provider, "add_span_processor", None)
    if add is not None:
        safely("run ids", lambda: add(_stamp()), None)


def _provider(endpoint: str | None) -> Any:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    exporter = _exporter(endpoint)
    if exporter is None:
        count("exporter")
        return None
    told = settings()
    # How the process was started is how a replay starts it again.
    named: dict[str, Any] = {
        "process.command_args": command_line(sys.orig_argv),
        "process.runtime.name": sys.implementation.name,
        "process.runtime.version": platform.python_version(),
    }
    if told.code_version:
        named["vcs.ref.head.revision"] = told.code_version
    if not os.environ.get("OTEL_SERVICE_NAME") and "service.name=" not in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    ):
        named["service.name"] = told.agent
    made = Resource.create(named)
    said = {name: attribute(name, value) for name, value in made.attributes.items()}
    provider = TracerProvider(resource=Resource(said, made.schema_url), shutdown_on_exit=False)
    send_with(exporter, provider)
    return provider


def _exporter(endpoint: str | None) -> "SpanExporter | None":
    environ = os.environ
    wanted = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    for protocol in (wanted,) if wanted else _EXPORTERS:
        module = _EXPORTERS.get(protocol or "")
        if module is not None and _is_installed(module):
            options: dict[str, Any] = {}
            if endpoint and protocol == "grpc":
                options = {"endpoint": endpoint, "insecure": not endpoint.startswith("https://")}
            elif endpoint:
                path = "" if endpoint.rstrip("/").endswith("/v1/traces") else "/v1/traces"
                options = {"endpoint": endpoint.rstrip("/") + path}
            exporter: SpanExporter = importlib.import_module(module).OTLPSpanExporter(**options)
            return exporter
    return None


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it is missing
        return False


def _stamp() -> Any:
    """Make the processor that puts the run's id on every span of any instrumentation."""
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import SpanProcessor

    class Stamp(SpanProcessor):
        def on_start(self, span: "Span", parent_context: Context | None = None) -> None:
            run_id = baggage.get_baggage(keys.RUN_ID, parent_context)
            if isinstance(run_id, str):
                span.set_attribute(keys.RUN_ID, run_id)
            told = sensitive_tools()
            if told:
                # A model's answer quotes a call before the tool's own span is there to declare anything.
                span.set_attribute(keys.SENSITIVE_TOOLS, told)

        def on_end(self, span: "ReadableSpan") -> None:
            attributes = span.attributes or {}
            if "gen_ai.operation.name" in attributes and "server.address" in attributes:
                bypass.served(attributes["server.address"])

    return Stamp()


def entry() -> str:
    """Return where a replay would start this agent: as configured, else the script that runs, else ""."""
    if _told[0].entry:
        return _told[0].entry
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    spec = getattr(main, "__spec__", None)
    if spec is not None or not isinstance(path, str) or not path.endswith(".py"):
        return ""  # started as a module, or by a server or a test runner: that is no way to start the agent
    return os.path.relpath(path)


def flush(timeout_s: float = 10.0) -> bool:
    """Send what is waiting; False where that did not work in time. Spans that were not sent are counted in `losses`."""
    force = getattr(trace.get_tracer_provider(), "force_flush", None)
    if force is None:
        return True
    done: list[bool] = []
    return within(timeout_s, lambda: done.append(bool(force(int(timeout_s * 1000))))) and done == [True]
