"""What people do with what is in quarantine: list it, look at it, have it stored after all, drop it.

It is in the store's table; batches that even that did not take are files in the spool's folder `refused`.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from runreel.component import Fate, Quarantine
from runreel.errors import CorruptError, NotFoundError, PermanentError
from runreel.runs.quarantined import document, record_document
from runreel.spool import records, segments
from runreel.spool.quarantine import opened
from runreel.spool.spool import REFUSED
from runreel.values import Quarantined, SplitBatch

ALL_REFUSED = "refused by every store"
_FILE = "refused-"
_CHUNK = 200
Store = Callable[[Sequence[SplitBatch]], Sequence[Exception | None]]
"""Stores batches, durable on return; says of each what went wrong."""


class Custody:
    """The quarantine of one store, and of the spool beside it. Thread-safe.

    Args:
        quarantine: The store's.
        store: Where what is released goes.
        spool: The spool's folder, where there is one.
        close: Closes the store, where nobody else has it open.
    """

    def __init__(
        self, quarantine: Quarantine, store: Store, spool: Path | None = None, close: Callable[[], None] = lambda: None
    ) -> None:
        self.close = close
        self.moving = threading.Lock()
        """Held while records go from the quarantine into the store, or the other way: never both at once."""
        self._quarantine = quarantine
        self._store = store
        self._folder = spool / REFUSED if spool else None

    def items(self, tenant: str, limit: int = 0) -> Sequence[Quarantined]:
        """Return what is kept, newest first, without the records. Raises StoreError."""
        found = [*self._quarantine.items(tenant, limit=limit), *(one for one in self._files() if one.tenant == tenant)]
        found.sort(key=lambda one: (-one.arrived_ns, one.id))
        return found[: limit or None]

    def look(self, tenant: str, id_: str) -> tuple[Quarantined, SplitBatch]:
        """Return one, and the batch that it is. `id_` may be the begin of one id.

        Raises NotFoundError, CorruptError (its bytes are damaged), StoreError.
        """
        (whole,) = self._whole(tenant, [self._full(tenant, id_)])
        return whole, self._opened(whole)

    def shown(self, tenant: str, id_: str) -> Mapping[str, Any]:
        """Return one record whole, as a document. Raises as `look`."""
        one, batch = self.look(tenant, id_)
        return document(one) | record_document(batch)

    def release(self, tenant: str, ids: Sequence[str]) -> tuple[int, Sequence[str]]:
        """Have these stored after all, whatever the policy says; return how many were, and why others were not. Those
        stay, as does what is refused once more.

        Raises NotFoundError (then nothing is released), StoreError.
        """
        released, said = 0, []
        for some in self._chunks(tenant, ids):
            batches: list[tuple[Quarantined, SplitBatch]] = []
            for one in some:
                try:
                    batches.append((one, self._opened(one)))
                except CorruptError as error:
                    said.append(str(error))
            with self.moving:
                outcomes = self._store([batch for _, batch in batches])
                done = [one for (one, _), why in zip(batches, outcomes, strict=True) if why is None]
                self._take_out(done, "released")
            said += [f"{one.id}: {why}" for (one, _), why in zip(batches, outcomes, strict=True) if why is not None]
            released += len(done)
        return released, said

    def drop(self, tenant: str, ids: Sequence[str]) -> int:
        """Delete these for good; return how many. Raises NotFoundError (then nothing is dropped), StoreError."""
        dropped = 0
        for some in self._chunks(tenant, ids):
            self._take_out(some, "dropped")
            dropped += len(some)
        return dropped

    def _chunks(self, tenant: str, ids: Sequence[str]) -> list[Sequence[Quarantined]]:
        names = [self._full(tenant, id_) for id_ in dict.fromkeys(ids)]
        return [self._whole(tenant, names[at : at + _CHUNK]) for at in range(0, len(names), _CHUNK)]

    def _full(self, tenant: str, id_: str) -> str:
        known = [one.id for one in self.items(tenant)]
        found = [id_] if id_ in known else [one for one in known if id_ and one.startswith(id_)]
        if len(found) != 1:
            raise NotFoundError(f"{id_[:60]!r} names {len(found) or 'nothing'} in quarantine: `runreel quarantine ls`")
        return found[0]

    def _whole(self, tenant: str, ids: Sequence[str]) -> Sequence[Quarantined]:
        of_spool = {one.id: one for one in self._files() if one.tenant == tenant}
        return [
            *(of_spool[id_] for id_ in ids if id_ in of_spool),
            *self._quarantine.get(tenant, [id_ for id_ in ids if id_ not in of_spool]),
        ]

    def _opened(self, one: Quarantined) -> SplitBatch:
        if one.kind != "batch":
            return opened(one)
        file = self._file(one)
        try:
            return records.decode(segments.body(file, 0, file.stat().st_size))
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptError(f"{one.id} is damaged ({type(error).__name__})") from None

    def _take_out(self, items: Sequence[Quarantined], fate: Fate) -> None:
        for one in items:
            if one.kind == "batch":
                self._file(one).unlink(missing_ok=True)
        self._quarantine.remove([one for one in items if one.kind != "batch"], fate)

    def _file(self, one: Quarantined) -> Path:
        assert self._folder is not None
        return self._folder / f"{one.id.removeprefix(_FILE)}.bin"

    def _files(self) -> list[Quarantined]:
        found: list[Quarantined] = []
        for file in sorted(self._folder.glob("*.bin")) if self._folder else ():
            with suppress(FileNotFoundError):  # released or dropped meanwhile
                held = next(segments.scan(file, 0), None)
                if held is None or held.tally is None:
                    continue  # no record any more: nothing that could be stored
                known = file.stat()
                what = f"{held.tally.spans} spans, {held.tally.logs} log records"
                found.append(
                    Quarantined(
                        held.tally.tenant,
                        f"{_FILE}{file.stem}",
                        "batch",
                        ALL_REFUSED,
                        "",
                        "",
                        what,
                        size=known.st_size,
                        arrived_ns=known.st_mtime_ns,
                    )
                )
        return found


def one_by_one(export: Callable[[SplitBatch], None]) -> Store:
    """Return a Store that hands batches to `export`, which raises what an exporter raises."""

    def store(batches: Sequence[SplitBatch]) -> Sequence[Exception | None]:
        outcomes: list[Exception | None] = []
        for batch in batches:
            try:
                export(batch)
            except PermanentError as error:
                outcomes.append(error)
            else:
                outcomes.append(None)
        return outcomes

    return store
