"""How `runs import` stores what it read: through a running collector's OTLP port, else straight into the store."""

import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from runreel import otlp
from runreel.errors import StoreError
from runreel.runs import discovery, importer
from runreel.values import DEFAULT_TENANT, RawBatch

# One flush of the store takes some milliseconds whatever it holds: small requests go together.
_FLUSH_SPANS = 512
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def import_paths(home: Path, paths: list[Path], say: Callable[[str], object]) -> importer.Imported:
    """Import files and folders and return what was counted. They pass the same processors as the network.

    Raises:
        NotFoundError, UsageError: a path that is not there, or named outright and no OTLP.
        StoreError: the store, or the running collector, does not take them.
    """
    result = importer.Imported()
    collector = discovery.find(home, say=say)
    read = importer.batches(paths, DEFAULT_TENANT, result, progress=_progress(say))
    if collector is None:
        store(home, grouped(read))
    elif collector.otlp_http is None:
        raise StoreError(
            f"the collector on {home} has no OTLP/HTTP receiver, and holds the store: "
            "give it one (receivers::otlp::protocols::http), or stop it first"
        )
    else:
        for batch in grouped(read):
            _send(collector.otlp_http, batch)
    return result


def grouped(batches: Iterable[RawBatch]) -> Iterator[RawBatch]:
    """Put small batches together; what was rejected stays with them."""
    held: RawBatch | None = None
    for batch in batches:
        held = batch if held is None else _together(held, batch)
        if len(held.spans) + len(held.logs) >= _FLUSH_SPANS:
            yield held
            held = None
    if held is not None:
        yield held


def _together(a: RawBatch, b: RawBatch) -> RawBatch:
    return replace(a, spans=a.spans + b.spans, logs=a.logs + b.logs, rejected=a.rejected + b.rejected)


def store(home: Path, batches: Iterable[RawBatch]) -> None:
    """Store batches in the data folder, processed as the network's are. Raises LockedError, StoreError."""
    from runreel.components import open_database
    from runreel.processors.chain import default_chain

    database = open_database(home)
    try:
        chain = default_chain(home)
        database.start()
        for batch in batches:
            database.export(chain.process(batch))
    finally:
        database.shutdown()


def _send(endpoint: str, batch: RawBatch) -> None:
    if batch.spans:
        _post(f"{endpoint}/v1/traces", otlp.encode("traces", batch.spans, "protobuf"))
    if batch.logs:
        _post(f"{endpoint}/v1/logs", otlp.encode("logs", batch.logs, "protobuf"))


def _post(url: str, body: bytes) -> None:
    request = urllib.request.Request(url, body, {"Content-Type": "application/x-protobuf"})  # noqa: S310
    try:
        with _OPENER.open(request, timeout=300) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        raise StoreError(f"the collector answered {error.code} to {url}: see its log") from None
    except OSError as error:
        raise StoreError(f"the collector at {url} does not answer ({error})") from None


def _progress(say: Callable[[str], object]) -> Callable[[int, int], object]:
    """Say every hundredth file: short imports are quiet."""
    return lambda done, of: say(f"{done}/{of} files") if done % 100 == 0 else None
