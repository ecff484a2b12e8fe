"""Builds a collector from its configuration, starts and stops its parts in order, and writes where it listens.

Start: ports are taken (a taken one is said before anything costs time), stores open, then receivers answer. Stop is the
reverse: receivers first, requests in flight end, stores last.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from runreel import otlp
from runreel.collector import content, ports, quarantine, sweeping
from runreel.collector.admission import Admission
from runreel.collector.api import ReadApi
from runreel.collector.auth import BearerTokens
from runreel.collector.config import Config, type_of
from runreel.collector.flags import Flags
from runreel.collector.goldens import Goldens
from runreel.collector.health import Health
from runreel.collector.http import HttpServer
from runreel.collector.pipeline import Pipeline, Route
from runreel.collector.quarantine import Keeper, QuarantineApi
from runreel.collector.receivers.intake import Intake
from runreel.collector.receivers.otlp_http import OtlpHttp
from runreel.collector.regularly import Regularly
from runreel.collector.run_list import RunList
from runreel.collector.settings import (
    MIB,
    AuthConfig,
    BearerTokenAuthConfig,
    ClickHouseConfig,
    HealthCheckConfig,
    OtlpConfig,
    ReadApiConfig,
    RunListConfig,
    SchemaConfig,
    SpoolConfig,
    TlsConfig,
)
from runreel.collector.settled import Settled
from runreel.collector.telemetry import Telemetry
from runreel.collector.tls import Renewed
from runreel.collector.watch import Watch
from runreel.components import SPOOL
from runreel.errors import LockedError, StoreError
from runreel.runs import discovery
from runreel.runs.discovery import Collector
from runreel.runs.load import StoreRuns
from runreel.spool import Spool
from runreel.spool.custody import Custody
from runreel.storage import RunStore

_READ_API, _READ_API_TLS = "read_api", "read_api over tls"
_METRICS = "metrics"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a configuration is built into: the route of each signal, the runs that the read API shows, how it redacts a
    text for a client, and where what a collector counts is told."""

    routes: dict[otlp.Signal, Route]
    runs: RunStore
    redact: Callable[[str], str] | None = None
    ledger: Callable[[str, Mapping[str, Mapping[str, int]]], None] | None = None


Build = Callable[[Config, Path], Parts]
"""Opens stores and makes chains; called in a thread. See `components.py`."""


def _goldens(parts: Parts) -> Goldens | None:
    if parts.redact is None or not isinstance(parts.runs, StoreRuns):
        return None
    return Goldens(parts.runs, parts.redact)


class Service:
    """One collector on one data folder. `start` once, then `stop`; `stop` is safe without `start`, and twice."""

    def __init__(self, config: Config, home: Path, build: Build) -> None:
        self.counts = Telemetry()
        self._config = config
        self._home = home
        self._build = build
        self.spool: Spool | None = None
        self.metrics_at = self.api_at = ""
        self.otlp_http: str | None = None
        """Where it takes OTLP over HTTP, as clients with a certificate see it."""
        self._certificates: Mapping[str, Renewed | None] = {}
        self._stack = contextlib.AsyncExitStack()
        self._health: list[Health] = []

    async def start(self) -> Collector:
        """Start everything and return where it listens. What was started is stopped again where something fails.

        Raises UsageError (a port in use), StoreError (the data folder), LockedError (another collector has it).
        """
        try:
            return await self._start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop taking requests, finish those in flight, close the stores."""
        for health in self._health:
            health.ready = False
        await self._stack.aclose()

    async def _start(self) -> Collector:
        self._claim_home()
        self._certificates = await asyncio.to_thread(self._read_certificates)
        taken = self._take_ports()
        await self._start_health(taken)
        parts = await asyncio.to_thread(self._build, self._config, self._home)
        self._stack.callback(parts.runs.close)
        self.spool = self._spool()
        pipeline = Pipeline(parts.routes, self.counts, spool=self.spool)
        self._stack.push_async_callback(pipeline.shutdown)
        await pipeline.start()
        runs = Settled(parts.runs, self.spool) if self.spool else parts.runs

        exporters = next(iter(parts.routes.values())).exporters
        self._keep_run_list(parts)
        aside = self._keep_quarantine(parts, pipeline)
        token = secrets.token_urlsafe(32)
        reading = ReadApi(
            runs,
            token,
            redact=parts.redact,
            flag=Flags(runs, pipeline).add,
            goldens=_goldens(parts),
            more=[*(QuarantineApi(aside[1], self.counts).routes if aside else ()), *sweeping.routes_of(exporters)],
        )
        self._stack.push_async_callback((await self._serve(reading, taken[_READ_API])).stop)
        if _READ_API_TLS in taken:
            abroad = await self._serve(reading, taken[_READ_API_TLS], self._certificates[_READ_API_TLS])
            self._stack.push_async_callback(abroad.stop)
            self.api_at = f"https://{ports.address(taken[_READ_API_TLS])}"
        keeper = aside[0] if aside else None
        if _METRICS in taken:
            from runreel.collector.metrics import Metrics

            self.metrics_at = ports.address(taken[_METRICS])
            metrics = await self._serve(Metrics(self.counts, self.spool, keeper), taken[_METRICS])
            self._stack.push_async_callback(metrics.stop)
        api = f"http://{ports.address(taken[_READ_API])}"
        receivers = await self._start_receivers(pipeline, taken, reading)
        self.otlp_http = receivers.get("http")
        collector = Collector(
            pid=os.getpid(),
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            otlp_grpc=receivers.get("grpc"),
            otlp_http=api if reading.otlp else self.otlp_http,
            api=api,
            token=token,
        )
        reading.otlp_http = collector.otlp_http
        reading.watch = watch = Watch(exporters, self.spool, keeper=keeper)
        discovery.write(self._home, collector)
        self._stack.callback(discovery.remove, self._home, collector.pid)
        for health in self._health:
            health.watch, health.ready = watch, True
        return collector

    def _claim_home(self) -> None:
        """Make the data folder, for its owner only; refuse it where a collector runs on it already."""
        try:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._home / discovery.FILE).exists()
        except OSError as error:
            raise StoreError(f"cannot use the data folder {self._home}: {error.strerror}; set RUNREEL_HOME") from None
        running = discovery.find(self._home, say=_log.warning)
        if running is not None:
            raise LockedError(
                f"a collector (process {running.pid}) runs on {self._home} already, since {running.started_at}: "
                "stop it, or set RUNREEL_HOME to another folder"
            )

    def _take_ports(self) -> dict[str, socket.socket]:
        """Bind the HTTP ports. gRPC takes its own later; whether it can is found out here."""
        taken: dict[str, socket.socket] = {}

        def take(name: str, endpoint: str, where: str, key: str = "endpoint") -> None:
            taken[name] = ports.bind(endpoint, f"{where}::{key}")
            self._stack.callback(taken[name].close)

        for receiver_id, settings in self._receivers().items():
            grpc, http = settings.protocols.grpc, settings.protocols.http
            where = f"receivers::{receiver_id}::protocols"
            if grpc is not None:
                ports.bind(grpc.endpoint, f"{where}::grpc::endpoint").close()
            if http is not None:
                take(receiver_id, http.endpoint, f"{where}::http")
        read_api = ReadApiConfig()
        for extension_id in self._config.started_extensions:
            extension = self._config.extensions[extension_id]
            if isinstance(extension, HealthCheckConfig):
                take(extension_id, extension.endpoint, f"extensions::{extension_id}")
            elif isinstance(extension, ReadApiConfig):
                read_api = extension
        where = f"extensions::{_READ_API}"
        if read_api.tls is None:
            take(_READ_API, read_api.endpoint, where)
        else:  # beside the one of this machine, which `collector.json` names
            take(_READ_API, ReadApiConfig().endpoint, where)
            take(_READ_API_TLS, read_api.endpoint, where)
        metrics = self._config.telemetry.metrics.address
        if metrics is not None:
            take(_METRICS, metrics, "service::telemetry::metrics", "address")
        return taken

    def _spool(self) -> Spool | None:
        """Return the spool where the configuration starts one."""
        for extension_id in self._config.started_extensions:
            extension = self._config.extensions[extension_id]
            if isinstance(extension, SpoolConfig):
                folder = Path(extension.path) if extension.path else self._home / SPOOL
                return Spool(folder, limit_bytes=extension.limit_mib * MIB, sync=extension.fsync)
        return None

    def _tokens(self, auth: AuthConfig | None) -> BearerTokens | None:
        """Return what checks tokens for a receiver. Raises StoreError where a file of them cannot be read."""
        if auth is None:
            return None
        return BearerTokens(cast("BearerTokenAuthConfig", self._config.extensions[auth.authenticator]))

    def _keep_run_list(self, parts: Parts) -> None:
        """Start what keeps the tables of runs and the ledger, where the configuration wants it."""
        runs, spool, ledger = parts.runs, self.spool, parts.ledger

        def tell() -> None:
            if spool is not None and ledger is not None:
                ledger(spool.name, spool.counted())

        for extension_id in self._config.started_extensions:
            extension = self._config.extensions[extension_id]
            if isinstance(extension, RunListConfig) and isinstance(runs, StoreRuns):
                kept = Regularly(
                    RunList(runs, tell=tell).look,
                    extension.interval_s,
                    name="runreel-run-list",
                    failing="the table of runs is not kept up to date",
                )
                kept.start()
                self._stack.push_async_callback(asyncio.to_thread, kept.stop)

    def _keep_quarantine(self, parts: Parts, pipeline: Pipeline) -> tuple[Keeper, Custody, Regularly] | None:
        """Start what keeps the quarantine, where a store has one."""
        exporters = next(iter(parts.routes.values())).exporters
        settings = next((one for one in self._config.exporters.values() if isinstance(one, ClickHouseConfig)), None)
        started = quarantine.start(exporters, pipeline, self.counts, settings or ClickHouseConfig(), self.spool)
        if started is None:
            return None
        self._stack.push_async_callback(asyncio.to_thread, started[2].stop)
        schemas = (one for one in self._config.processors.values() if isinstance(one, SchemaConfig))
        looking = content.start(
            parts.runs,
            exporters,
            pipeline,
            self.counts,
            next(schemas, SchemaConfig()).required_fields,
            room=started[0].room,
            moving=started[1].moving,
            spool=self.spool,
        )
        if looking is not None:
            self._stack.push_async_callback(asyncio.to_thread, looking.stop)
        return started

    def _receivers(self) -> dict[str, OtlpConfig]:
        """Return the receivers that a pipeline names."""
        used = {name for pipeline in self._config.pipelines.values() for name in pipeline.receivers}
        return {name: cast("OtlpConfig", self._config.receivers[name]) for name in sorted(used)}

    def _read_certificates(self) -> Mapping[str, Renewed | None]:
        """Read the certificates of everything that listens, by its place in the configuration. Raises StoreError."""

        def read(settings: TlsConfig | None, place: str) -> Renewed | None:
            return Renewed(settings, place, self.counts) if settings else None

        found = {}
        for receiver_id, settings in self._receivers().items():
            for name, protocol in (("grpc", settings.protocols.grpc), ("http", settings.protocols.http)):
                place = f"receivers::{receiver_id}::protocols::{name}"
                found[place] = read(protocol.tls if protocol else None, f"{place}::tls")
        for extension_id in self._config.started_extensions:
            extension = self._config.extensions[extension_id]
            if isinstance(extension, ReadApiConfig):
                found[_READ_API_TLS] = read(extension.tls, f"extensions::{extension_id}::tls")
        return found

    async def _serve(self, app: Any, listener: socket.socket, certificate: Renewed | None = None) -> HttpServer:
        server = HttpServer(app, listener, certificate)
        await server.start()
        return server

    async def _start_health(self, taken: dict[str, socket.socket]) -> None:
        """Answer health checks from now on: 503 until everything is up."""
        for extension_id in self._config.started_extensions:
            extension = self._config.extensions[extension_id]
            if isinstance(extension, HealthCheckConfig):
                health = Health(extension.path)
                self._health.append(health)
                server = await self._serve(health, taken[extension_id])
                self._stack.push_async_callback(server.stop)

    async def _start_receivers(
        self, pipeline: Pipeline, taken: dict[str, socket.socket], reading: ReadApi
    ) -> dict[str, str]:
        """Start what takes requests; return the first address of gRPC, the first URL of HTTP."""
        from runreel.collector.receivers.otlp_grpc import OtlpGrpc

        addresses: dict[str, str] = {}
        stops: list[Callable[[], Awaitable[None]]] = []

        async def stop_all() -> None:
            # Together: while one waits for its last request, the other must not take new ones.
            await asyncio.gather(*(stop() for stop in stops))

        self._stack.push_async_callback(stop_all)
        for receiver_id, settings in self._receivers().items():
            signals = frozenset(
                cast("otlp.Signal", type_of(name))
                for name, pipeline_ in self._config.pipelines.items()
                if receiver_id in pipeline_.receivers
            )
            intake = Intake(pipeline, Admission(settings.admission.request_limit_mib * MIB), self.counts, signals)
            grpc, http = settings.protocols.grpc, settings.protocols.http
            if grpc is not None:
                server = OtlpGrpc(intake, grpc.max_recv_msg_size_mib * MIB, self._tokens(grpc.auth))
                where = f"receivers::{receiver_id}::protocols::grpc"
                bound = server.bind(grpc.endpoint, f"{where}::endpoint", self._certificates[where])
                addresses.setdefault("grpc", bound)
                await server.start()
                stops.append(server.stop)
            if http is not None:
                app = OtlpHttp(intake, http.max_request_body_size, self._tokens(http.auth))
                certificate = self._certificates[f"receivers::{receiver_id}::protocols::http"]
                web = await self._serve(app, taken[receiver_id], certificate)
                # What the receiver wants of its clients, commands need not have: they bring the read API's token.
                guarded = certificate is not None or http.auth is not None or _READ_API_TLS in taken
                if guarded and "http" not in addresses:
                    reading.otlp = OtlpHttp(intake, http.max_request_body_size)
                scheme = "https" if certificate else "http"
                addresses.setdefault("http", f"{scheme}://{ports.address(taken[receiver_id])}")
                stops.append(web.stop)
        return addresses
