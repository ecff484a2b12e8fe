"""What `runs import` reads: OTLP requests in files and folders, and reels."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from runreel import otlp
from runreel.canonical import canonical
from runreel.errors import DecodeError, NotFoundError, StoreError, UsageError
from runreel.runs import reel
from runreel.values import RawBatch

Signal = Literal["traces", "logs"]
LIMIT_BYTES = 1 << 30
_GZIP = b"\x1f\x8b"


@dataclass(slots=True)
class Imported:
    """What an import did, counted. `failed` are files that looked like OTLP and could not be decoded."""

    requests: int = 0
    spans: int = 0
    logs: int = 0
    repeated: int = 0
    skipped: int = 0
    rejected: int = 0
    failed: list[str] = field(default_factory=list)
    trace_ids: set[str] = field(default_factory=set)


def batches(
    paths: list[Path], tenant: str, result: Imported, progress: Callable[[int, int], object] = lambda *_: None
) -> Iterator[RawBatch]:
    """Yield every OTLP request under the paths once, decoded; counts go into `result`.

    A request that stands there in several encodings (`.bin`, `.json`, `.body`), or several times, counts once: equal
    content has an equal digest. In a folder, what is not OTLP is skipped and counted; a file named outright that is
    not OTLP is an error.

    Raises:
        NotFoundError: a path that is not there.
        UsageError: a file named outright that holds no OTLP.
    """
    files = [(file, path.is_dir()) for path in paths for file in _files(path, result)]
    seen: set[bytes] = set()
    for done, (file, found) in enumerate(files, 1):
        for batch in _file(file, tenant, result, found=found):
            digest = _digest(batch)
            if digest in seen:
                result.repeated += 1
                continue
            seen.add(digest)
            result.requests += 1
            result.spans += len(batch.spans)
            result.logs += len(batch.logs)
            result.rejected += len(batch.rejected)
            result.trace_ids |= {span.key.trace_id for span in batch.spans}
            yield batch
        progress(done, len(files))


def _files(path: Path, result: Imported) -> list[Path]:
    """Return the files under a path, sorted; a folder that cannot be read is listed as failed."""
    if not path.is_dir():
        if not path.exists():
            raise NotFoundError(f"{path}: no such file or folder")
        return [path]
    unread: list[OSError] = []
    folders = os.walk(path, onerror=unread.append)
    files = sorted(file for folder, _, names in folders for name in names if (file := Path(folder, name)).is_file())
    result.failed += [f"{error.filename}: {error.strerror}" for error in unread]
    return files


def _file(file: Path, tenant: str, result: Imported, *, found: bool) -> Iterator[RawBatch]:
    try:
        data = file.read_bytes()
        if data[:2] == _GZIP:
            data = otlp.gunzip(data, LIMIT_BYTES)
    except OSError as error:
        if not found:
            raise StoreError(f"{file}: {error.strerror}") from None
        result.failed.append(f"{file}: {error.strerror}")
        return
    except DecodeError as error:
        result.failed.append(f"{file}: {error}")
        return
    if reel.is_reel(data):
        yield from _in_zip(data, file, tenant, result, found=found)
        return
    kinds = [(line, kind) for line in _documents(file, data) for kind in _kinds(line)]
    if not kinds and found:
        result.skipped += 1
    elif not kinds:
        raise UsageError(f"{file}: no OTLP request (protobuf, JSON, JSON lines, gzip of these) and no reel")
    for line, (signal, encoding) in kinds:
        try:
            yield otlp.decode(signal, line, encoding, tenant)
        except DecodeError as error:
            result.failed.append(f"{file}: {error}")


def _kinds(data: bytes) -> list[tuple[otlp.Signal, otlp.Encoding]]:
    """Return what a document is to be read as: nothing, one signal, or both where a JSON document holds both."""
    kind = otlp.sniff(data)
    if kind is None:
        return []
    both = kind[1] == "json" and b'"resourceSpans"' in data and b'"resourceLogs"' in data
    held = otlp.held(data, "json") if both else frozenset()
    return [(signal, kind[1]) for signal in sorted(held, reverse=True)] or [kind]


def _documents(file: Path, data: bytes) -> list[bytes]:
    """Return the requests in a file: the whole file, or its lines where it is JSON lines."""
    if data[:1] == b"{" and (file.suffix in {".jsonl", ".ndjson"} or _is_lines(data)):
        return [line for line in data.splitlines() if line.strip()]
    return [data]


def _is_lines(data: bytes) -> bool:
    first, newline, rest = data.partition(b"\n")
    return bool(newline) and first.rstrip().endswith(b"}") and rest.lstrip()[:1] == b"{"


def _in_zip(data: bytes, file: Path, tenant: str, result: Imported, *, found: bool) -> Iterator[RawBatch]:
    """Yield what a reel holds. In a folder, a zip of something else is skipped, and a damaged reel ends nothing."""
    try:
        yield _from_reel(data, file, tenant)
    except StoreError as error:
        if not found:
            raise
        if file.suffix == reel.SUFFIX:
            result.failed.append(str(error))
        else:
            result.skipped += 1


def _from_reel(data: bytes, file: Path, tenant: str) -> RawBatch:
    """Return a reel's spans and log events whole, under the importing tenant: they pass the processors again."""
    spans, logs = reel.whole(data, str(file), tenant)
    # Their identity is the content that this store's redaction leaves, not what another's left.
    spans = tuple(replace(span, key=replace(span.key, copy="")) for span in spans)
    return RawBatch(tenant, spans, tuple(replace(log, copy="") for log in logs))


def _digest(batch: RawBatch) -> bytes:
    """Return a digest of what a request says, whichever encoding said it."""
    hashed = hashlib.sha256()
    for span in batch.spans:
        hashed.update(canonical(reel.span_value(span)))
    for log in batch.logs:
        hashed.update(canonical(reel.log_value(log)))
    for rejection in batch.rejected:
        hashed.update(f"{rejection.signal}{rejection.reason}".encode())
    return hashed.digest()
