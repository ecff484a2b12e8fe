"""A reel: one run in one file, open, complete and re-importable.

A zip with `manifest.json` (format, version, run id, SHA-256 of every other member), `spans.jsonl` and `logs.jsonl` (the
stored rows as typed JSON, one a line), `payloads.jsonl` (skeletons by ref) and `parts/<sha256>` (bytes). The same run
always gives the same bytes: members are sorted and carry no time.
"""

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from runreel.canonical import dumps, loads
from runreel.errors import CorruptError, NotFoundError, StoreError
from runreel.exporters.memory import Memory
from runreel.exporters.rows import pack, unpack
from runreel.processors.split import join_log, join_row
from runreel.runs.load import StoreRuns
from runreel.runs.shape import check_log, check_payload, check_span
from runreel.semconv.recognise import recognise
from runreel.storage import RunStore
from runreel.values import (
    DEFAULT_TENANT,
    LogEvent,
    Part,
    Payload,
    Ref,
    Resource,
    Scope,
    Span,
    SpanKey,
    SpanRow,
    SplitBatch,
    Value,
)

FORMAT = "runreel-reel"
VERSION = 1
SUFFIX = ".reel"
LIMIT_BYTES = 4 << 30
"""What a reel may hold, unpacked: a zip of some kilobytes can claim any size."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
# What the library raises for damaged files; RuntimeError for a member that asks for a password.
_DAMAGES = (zipfile.BadZipFile, zlib.error, KeyError, EOFError, ValueError, OSError, RuntimeError)
T = TypeVar("T")


def check(data: bytes, sha256: str, place: str) -> None:
    """Raise CorruptError where bytes do not have the hash that they are stored under."""
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise CorruptError(f"{place}: stored under sha256:{sha256}, but its bytes have sha256:{found}")


def write(run_id: str, batch: SplitBatch) -> bytes:
    """Return a run's rows, payloads and parts as a reel."""
    rows = sorted(batch.rows, key=lambda row: (row.span.start_ns, row.span.key.span_id, row.span.key.copy))
    logs = sorted(batch.logs, key=lambda log: (log.observed_ns or log.time_ns, log.copy))
    payloads = {payload.ref.sha256: payload for payload in batch.payloads}
    parts = {part.sha256: part for part in batch.parts}
    media = {sha256: part.media_type for sha256, part in sorted(parts.items())}
    members: dict[str, bytes] = {
        "spans.jsonl": _lines(span_value(row.span) for row in rows),
        "logs.jsonl": _lines(log_value(log) for log in logs),
        "payloads.jsonl": _lines(_payload_value(payloads[sha256]) for sha256 in sorted(payloads)),
    }
    members |= {f"parts/{sha256}": parts[sha256].data for sha256 in sorted(parts)}
    manifest = {
        "format": FORMAT,
        "format_version": VERSION,
        "run_id": run_id,
        "tenant": batch.tenant,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
        "media_types": media,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        head = json.dumps(manifest, indent=1, sort_keys=True).encode()
        for name, data in [("manifest.json", head), *members.items()]:
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, compress_type=zipfile.ZIP_DEFLATED)
    return out.getvalue()


def read(data: bytes, source: str, tenant: str = DEFAULT_TENANT) -> tuple[str, SplitBatch]:
    """Return the run id and the stored rows of a reel, as the tenant's; every member is checked against the manifest.

    Raises:
        CorruptError: no zip, a member missing or changed, or not the rows of a reel.
        StoreError: a reel of a newer format version.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > LIMIT_BYTES:
                raise StoreError(f"{source}: it unpacks to {size} bytes, the limit is {LIMIT_BYTES}")
            manifest = _manifest(archive, source)
            members = {name: archive.read(name) for name in manifest["files"]}
    except _DAMAGES as error:
        raise CorruptError(f"{source}: no reel, or a damaged one ({type(error).__name__})") from None
    for name, sha256 in manifest["files"].items():
        check(members[name], sha256, f"{source}: {name}")
        if name.startswith("parts/"):
            check(members[name], name.removeprefix("parts/"), f"{source}: {name}")
    try:
        spans = [_span_from(value, tenant) for value in _values(members["spans.jsonl"])]
        logs = tuple(_log_from(value, tenant) for value in _values(members["logs.jsonl"]))
        payloads = tuple(_payload_from(tenant, value) for value in _values(members["payloads.jsonl"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptError(f"{source}: a row is not what this version writes ({type(error).__name__})") from None
    media = manifest["media_types"]
    parts = tuple(
        Part(tenant, name.removeprefix("parts/"), content, str(media.get(name.removeprefix("parts/"), "text/plain")))
        for name, content in members.items()
        if name.startswith("parts/")
    )
    rows = tuple(SpanRow(span, recognise(span)) for span in spans)
    return str(manifest["run_id"]), SplitBatch(tenant, rows, logs, payloads, parts)


def open_reel(data: bytes, source: str, tenant: str = DEFAULT_TENANT) -> RunStore:
    """Return a store over the one run of a reel, which there belongs to the tenant."""
    _, batch = read(data, source, tenant)
    memory = Memory()
    memory.export(batch)
    return StoreRuns(memory, memory)


def open_path(path: Path) -> tuple[RunStore, str]:
    """Return a store over a reel file, and the id of its run. Raises NotFoundError, CorruptError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"no reel {path}") from None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from None
    run_id, _ = read(data, str(path))
    return open_reel(data, str(path)), run_id


def whole(data: bytes, source: str, tenant: str = DEFAULT_TENANT) -> tuple[tuple[Span, ...], tuple[LogEvent, ...]]:
    """Return a reel's spans and log events with their payloads joined in. Raises CorruptError."""
    _, batch = read(data, source, tenant)
    payload, part = part_of(batch)
    spans = tuple(join_row(row, payload, part) for row in batch.rows)
    return spans, tuple(join_log(log, payload, part) for log in batch.logs)


def is_reel(data: bytes) -> bool:
    """Say whether bytes look like a reel (or any zip)."""
    return data[:4] == b"PK\x03\x04"


def part_of(batch: SplitBatch) -> tuple[Callable[[str], str], Callable[[str], bytes]]:
    """Return look-ups into a batch: payload skeleton by ref, part by hash. They raise NotFoundError."""
    payloads = {payload.ref.sha256: payload.skeleton for payload in batch.payloads}
    parts = {part.sha256: part.data for part in batch.parts}
    return _looker(payloads, "payload"), _looker(parts, "part")


def span_value(span: Span) -> Value:
    """Return a span as a map: its fields by their names in values.py, without those that have their default."""
    around = {"key": pack(span.key), "scope": pack(span.scope), "resource": pack(span.resource)}
    return {**pack(span, frozenset(around)), **around}


def log_value(log: LogEvent) -> Value:
    """Return a log event as a map, as `span_value` does."""
    around = {"scope": pack(log.scope), "resource": pack(log.resource)}
    return {**pack(log, frozenset(around)), **around}


def _span_from(value: Mapping[str, Any], tenant: str) -> Span:
    around = {"scope": unpack(Scope, value["scope"]), "resource": unpack(Resource, value["resource"])}
    key = unpack(SpanKey, {**value["key"], "tenant": tenant})
    rest = {name: held for name, held in value.items() if name not in {*around, "key"}}
    return check_span(unpack(Span, rest, key=key, **around))


def _log_from(value: Mapping[str, Any], tenant: str) -> LogEvent:
    around = {"scope": unpack(Scope, value["scope"]), "resource": unpack(Resource, value["resource"])}
    rest = {name: held for name, held in value.items() if name not in {*around, "tenant"}}
    return check_log(unpack(LogEvent, rest, tenant=tenant, **around))


def _looker(known: Mapping[str, T], what: str) -> Callable[[str], T]:
    def look(sha256: str) -> T:
        try:
            return known[sha256]
        except KeyError:
            raise NotFoundError(f"no {what} sha256:{sha256} in this reel") from None

    return look


def _manifest(archive: zipfile.ZipFile, source: str) -> dict[str, Any]:
    try:
        manifest = json.loads(archive.read("manifest.json"))
        if manifest["format"] != FORMAT:
            raise CorruptError(f"{source}: a zip, but no reel (format {str(manifest['format'])[:40]!r})")
        version = int(manifest["format_version"])
        if version > VERSION:
            advice = f"this version reads up to {VERSION}: update runreel"
            raise StoreError(f"{source}: a reel of format {version}; {advice}")
        named = {"media_types": {}, **manifest}
        if not isinstance(named["files"], dict) or not isinstance(named["media_types"], dict):
            raise TypeError("no object")
    except (ValueError, TypeError, RecursionError):
        raise CorruptError(f"{source}: manifest.json is not what a reel has") from None
    return named


def _lines(values: Iterable[Value]) -> bytes:
    return "".join(dumps(value) + "\n" for value in values).encode("utf-8", "surrogatepass")


def _values(data: bytes) -> list[Mapping[str, Value]]:
    found = [loads(line) for line in data.decode("utf-8", "surrogatepass").split("\n") if line]
    if not all(isinstance(value, Mapping) for value in found):
        raise ValueError("a row is no object")
    return [value for value in found if isinstance(value, Mapping)]


def _payload_value(payload: Payload) -> Value:
    return {
        "sha256": payload.ref.sha256,
        "size": payload.ref.size,
        "state": payload.ref.state,
        "reason": payload.ref.reason,
        "skeleton": payload.skeleton,
        "parts": payload.parts,
    }


def _payload_from(tenant: str, value: Mapping[str, Any]) -> Payload:
    ref = Ref(value["sha256"], value["size"], value["state"], value["reason"])
    return check_payload(Payload(tenant, ref, value["skeleton"], tuple(value["parts"])))
