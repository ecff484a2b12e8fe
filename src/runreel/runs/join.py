"""Puts the payloads and parts of stored rows back in their places, every one checked against its hash."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from runreel.canonical import dumps, join_payload, payload_ref
from runreel.errors import CorruptError, NotFoundError
from runreel.processors.split import join_log, join_row
from runreel.storage import BlobStore, Database, StoredPart
from runreel.values import LogEvent, Part, Payload, Span, SpanRow, Value


class Shelf:
    """The payloads and parts that some rows name, fetched together.

    Args:
        database: Where skeletons and light parts are.
        blobs: Where heavy parts are.
        tenant: Whose.
    """

    def __init__(self, database: Database, blobs: BlobStore, tenant: str) -> None:
        self._database = database
        self._blobs = blobs
        self._tenant = tenant
        self._payloads: dict[str, Payload] = {}
        self._stored: dict[str, StoredPart] = {}
        self._checked: dict[str, bytes] = {}

    def fetch(self, rows: Sequence[SpanRow], logs: Sequence[LogEvent]) -> None:
        """Fetch what the rows name. What is missing is found out by whoever asks for it."""
        self._payloads |= self._database.payloads(self._tenant, list(named(rows, logs)))
        wanted = [sha256 for payload in self._payloads.values() for sha256 in payload.parts]
        self._stored |= self._database.parts(self._tenant, wanted)

    def skeleton(self, sha256: str) -> str:
        """Return the skeleton of a payload. Raises CorruptError where it is not there."""
        if sha256 not in self._payloads:
            raise CorruptError(f"payload sha256:{sha256} is not in the store, and a row names it")
        return self._payloads[sha256].skeleton

    def part(self, sha256: str) -> bytes:
        """Return the bytes of a part. Raises CorruptError where they are not there, or not those of the hash."""
        if sha256 not in self._checked:
            if sha256 not in self._stored:
                self._stored |= self._database.parts(self._tenant, [sha256])
            if sha256 not in self._stored:
                raise CorruptError(f"part sha256:{sha256} is not in the store, and a payload names it")
            self._checked[sha256] = self._verified(self._stored[sha256])
        return self._checked[sha256]

    def span(self, row: SpanRow) -> Span:
        """Return a row's span, whole. Raises CorruptError."""
        return join_row(row, self.skeleton, self.part)

    def log(self, log: LogEvent) -> LogEvent:
        """Return a log event, whole. Raises CorruptError."""
        return join_log(log, self.skeleton, self.part)

    def contents(self, rows: Sequence[SpanRow], logs: Sequence[LogEvent]) -> tuple[list[Payload], list[Part]]:
        """Return what these rows name, for a copy of them elsewhere. Raises CorruptError."""
        payloads = [self._payloads[sha256] for sha256 in sorted(set(named(rows, logs)))]
        hashes = sorted({sha256 for payload in payloads for sha256 in payload.parts})
        parts = [Part(self._tenant, sha256, self.part(sha256), self._stored[sha256].media_type) for sha256 in hashes]
        return payloads, parts

    def _verified(self, stored: StoredPart) -> bytes:
        if stored.data is None:
            try:
                return self._blobs.get(self._tenant, stored.sha256)
            except NotFoundError as error:
                raise CorruptError(f"{error}, and a row names it") from None
        if hashlib.sha256(stored.data).hexdigest() != stored.sha256:
            raise CorruptError(f"part sha256:{stored.sha256} is damaged: its row does not hold the bytes of that hash")
        return stored.data


def named(rows: Sequence[SpanRow], logs: Sequence[LogEvent]) -> Iterable[str]:
    """Yield the hash of every payload that the rows name."""
    for row in rows:
        yield from _refs(row.span.attributes)
        for event in row.span.events:
            yield from _refs(event.attributes)
    for log in logs:
        yield from _refs(log.attributes)
        if (sha256 := payload_ref(log.body)) is not None:
            yield sha256


def one(database: Database, blobs: BlobStore, tenant: str, sha256: str) -> bytes:
    """Return one part, or one payload as typed text, by hash, verified. Raises NotFoundError, CorruptError."""
    shelf = Shelf(database, blobs, tenant)
    if database.parts(tenant, [sha256]):
        return shelf.part(sha256)
    found = database.payloads(tenant, [sha256])
    if sha256 not in found:
        raise NotFoundError(f"no part or payload sha256:{sha256[:64]} in the store")
    return dumps(join_payload(sha256, found[sha256].skeleton, shelf.part)).encode()


def _refs(attributes: Mapping[str, Value]) -> Iterable[str]:
    for value in attributes.values():
        if (sha256 := payload_ref(value)) is not None:
            yield sha256
