"""Takes away heavy parts that nothing names any more, in two steps, while others write.

First a part that is older than the grace and that no row names is moved aside, where readers still find it. A grace
later it is deleted, unless a row names it by then: then it goes back into its place. Who puts a part that is not in its
place puts it there; so one is lost only where more than a grace lies between the part and the row that names it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from runreel.errors import UsageError
from runreel.exporters.aside import Aside, Blob
from runreel.exporters.blobs import LEAST_GRACE_S

GRACE_S = 86_400.0
_CHUNK = 500
_FEW = 20
Named = Callable[[str, Sequence[str]], Iterable[str]]
"""Tenant and hashes; returns those of them that rows name."""


@dataclass(slots=True)
class Swept:
    """What a sweep came to: parts looked at, moved aside, moved back, deleted; and those that are too young to say."""

    looked_at: int = 0
    set_aside: int = 0
    put_back: int = 0
    deleted: int = 0
    young: int = 0


class Sweep:
    """One sweep. What cannot be asked or moved ends it; what it did until then was safe.

    Args:
        named: Which parts rows name, in every table that may name one of this store's.
        blobs: The blob store.
        grace_s: See the module. At least LEAST_GRACE_S: UsageError.
        clock: Seconds since 1970.
    """

    def __init__(
        self, named: Named, blobs: Aside, grace_s: float = GRACE_S, clock: Callable[[], float] = time.time
    ) -> None:
        if not grace_s >= LEAST_GRACE_S:  # nor is NaN at least anything
            raise UsageError(f"a grace of {grace_s / 3600:g} hours: at least {LEAST_GRACE_S / 3600:g} is wanted")
        self._named = named
        self._blobs = blobs
        self._grace_s = grace_s
        self._clock = clock

    def run(self, *, dry: bool = False, force: bool = False) -> Swept:
        """Sweep; with `dry` only say what would be done.

        Raises:
            UsageError: more than half of the parts are named by nothing, and `force` is not said: these are hardly the
                rows of this blob store.
            StoreError: rows or blobs cannot be read.
        """
        swept = Swept()
        before = self._clock() - self._grace_s
        self._finish(swept, before, dry=dry)
        old, orphans = 0, []
        for tenant, hashes in self._by_tenant(self._old(swept, before)):
            named = set(self._named(tenant, hashes))
            old += len(hashes)
            orphans += [(tenant, sha256) for sha256 in hashes if sha256 not in named]
        if len(orphans) > max(_FEW, old // 2) and not force:
            raise UsageError(
                f"{len(orphans)} of {old} parts are named by no row: is this the store of these blobs? "
                "None was moved; --force moves them"
            )
        for tenant, sha256 in orphans:
            if not dry:
                self._blobs.set_aside(tenant, sha256)
            swept.set_aside += 1
        return swept

    def _finish(self, swept: Swept, before: float, *, dry: bool) -> None:
        """Delete what was set aside long ago, and put back what turned out to be named."""
        for tenant, blobs in groupby(sorted(self._blobs.aside()), key=lambda blob: blob[0]):
            since = {sha256: at for _, sha256, at in blobs}
            named = {sha256 for some in _chunks(list(since)) for sha256 in self._named(tenant, some)}
            for sha256, at in since.items():
                swept.looked_at += 1
                if sha256 in named:
                    swept.put_back += 1
                    if not dry:
                        self._blobs.put_back(tenant, sha256)
                elif at < before:
                    swept.deleted += 1
                    if not dry:
                        self._blobs.drop(tenant, sha256)
                else:
                    swept.young += 1

    def _old(self, swept: Swept, before: float) -> Iterator[Blob]:
        for blob in self._blobs.standing():
            swept.looked_at += 1
            if blob[2] < before:
                yield blob
            else:
                swept.young += 1

    def _by_tenant(self, blobs: Iterator[Blob]) -> Iterator[tuple[str, list[str]]]:
        while some := list(islice(blobs, _CHUNK)):
            for tenant, group in groupby(sorted(some), key=lambda blob: blob[0]):
                yield tenant, [sha256 for _, sha256, _ in group]


def _chunks(hashes: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(hashes), _CHUNK):
        yield hashes[start : start + _CHUNK]
