"""Turns a checked configuration into its parts: a chain for each signal, the exporters, and the runs read from them."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

from runreel import otlp
from runreel.collector.config import Config, type_of
from runreel.collector.pipeline import Route
from runreel.collector.service import Parts
from runreel.collector.strict import Strict
from runreel.components import PROCESSORS, Site, open_exporters, runs_in
from runreel.exporters.clickhouse import ClickHouse
from runreel.processors.chain import Chain
from runreel.runs.load import Settings


def parts(config: Config, home: Path) -> Parts:
    """Open the stores and make the chains. Raises StoreError, LockedError, ConfigError (the tenant's key)."""
    site = Site(home)
    # Side by side: one waits for the engine while the other imports detectors, and each takes more than a second.
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(_chains, config, site)
        # Every pipeline names the same exporters: the configuration was checked for that.
        ids = next(iter(config.pipelines.values())).exporters
        exporters = open_exporters({name: _plain(config.exporters[name]) for name in ids}, site)
        try:
            chains = making.result()
        except BaseException:
            for exporter in exporters.values():
                exporter.shutdown()
            raise
    routes = {signal: Route(chain, exporters) for signal, chain in chains.items()}
    rows = next((one for one in exporters.values() if isinstance(one, ClickHouse)), None)
    text = next(iter(chains.values())).text
    over = Settings(config.runs.quiet_s, config.runs.idle_s)
    return Parts(routes, runs_in(exporters, over), text, rows.tell_ledger if rows else None)


def migrate(config: Config, home: Path) -> tuple[str, int]:
    """Open the configuration's ClickHouse, which brings its tables up to date; return what it is called and the tables'
    version. Raises StoreError, LockedError."""
    ids = next(iter(config.pipelines.values())).exporters
    name = next(name for name in ids if type_of(name) == "clickhouse")
    (opened,) = open_exporters({name: _plain(config.exporters[name])}, Site(home)).values()
    assert isinstance(opened, ClickHouse)
    try:
        return opened.version()
    finally:
        opened.shutdown()


def _chains(config: Config, site: Site) -> Mapping[otlp.Signal, Chain]:
    """Make the chain of each pipeline; pipelines that name the same processor share it, and its memo."""
    used = {name for pipeline in config.pipelines.values() for name in pipeline.processors}
    made = {name: PROCESSORS[type_of(name)](_plain(config.processors[name]), site) for name in sorted(used)}
    chains: dict[otlp.Signal, Chain] = {}
    for pipeline_id, pipeline in config.pipelines.items():
        by_type = {type_of(name): made[name] for name in pipeline.processors}
        signal = cast("otlp.Signal", type_of(pipeline_id))
        chains[signal] = Chain(by_type["schema"], by_type["redact"], by_type["split"])
    return chains


def _plain(settings: Strict) -> Mapping[str, Any]:
    return settings.model_dump()
