"""`runreel serve`: run the collector until it is told to stop."""

import argparse
import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from runreel.cli import common
from runreel.cli.dumps import no_core_dumps

if TYPE_CHECKING:
    from runreel.collector.service import Service
    from runreel.runs.discovery import Collector


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="configuration in OpenTelemetry Collector grammar (default: built in)",
    )
    common.add_home(parser)
    parser.add_argument(
        "--ready-file", metavar="FILE", type=Path, help="write the addresses there once requests are answered"
    )


def run(args: argparse.Namespace) -> int:
    """Run the collector. Returns 0 after SIGTERM or SIGINT."""
    no_core_dumps()
    # It would write to stderr in a form of its own, before anybody could set that up.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from runreel.collector import build, config, logs
    from runreel.collector.service import Service

    home = args.home.absolute()
    loaded = config.load(args.config, {**os.environ, common.HOME: str(home)})
    logs.configure(loaded.telemetry.logs.level, loaded.telemetry.logs.encoding)
    return asyncio.run(_serve(Service(loaded, home, build.parts), args.ready_file))


async def _serve(service: "Service", ready_file: Path | None) -> int:
    import logging

    from runreel.collector.garbage import collect_rarely

    log = logging.getLogger("runreel.serve")
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _on_signal, number, stopping)
    starting = asyncio.create_task(service.start())
    stopped = asyncio.create_task(stopping.wait())
    await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.wait({starting})  # it stops what it started
        return 0
    line = ready_line(starting.result(), service.otlp_http, service.api_at)
    collect_rarely()
    if ready_file is not None:
        _write(ready_file, line)
    print(line, flush=True)
    await stopped
    log.info("stopping: finishing what is in flight")
    await service.stop()
    log.info("stopped", extra=dict(service.counts.snapshot()))
    return 0


def _on_signal(number: signal.Signals, stopping: asyncio.Event) -> None:
    if stopping.is_set():
        # Asked twice: at once. What was not acknowledged, its sender still has.
        os._exit(128 + number)
    stopping.set()


def ready_line(collector: "Collector", otlp_http: str | None = None, api: str = "") -> str:
    """Say where a collector listens, in one line. `otlp_http` and `api` are where others than this machine find them,
    where that is elsewhere."""
    grpc = f" grpc {collector.otlp_grpc}" if collector.otlp_grpc else ""
    http = f" http {otlp_http or collector.otlp_http}" if otlp_http or collector.otlp_http else ""
    return f"ready:{grpc}{http} api {api or collector.api}"


def _write(path: Path, line: str) -> None:
    """Write the file in one step: whoever waits for it reads it whole."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(line + "\n", encoding="utf-8")
    new.replace(path)
