"""Bounds the bytes of requests that are in memory at once; above the bound it says no with RetryableError."""

import threading
from types import TracebackType

from runreel.errors import RetryableError

RETRY_AFTER_S = 1.0


class Admission:
    """Counts bytes in flight. Thread-safe: requests grow in worker threads when they are decompressed.

    A request alone in the house is always admitted, so that one of the permitted size never starves.
    """

    def __init__(self, capacity_bytes: int) -> None:
        self.capacity_bytes = capacity_bytes
        self._lock = threading.Lock()
        self._used = 0

    @property
    def used_bytes(self) -> int:
        """Bytes held now."""
        with self._lock:
            return self._used

    def lease(self) -> "Lease":
        """Open a lease of no bytes; it grows as the request does."""
        return Lease(self)

    def _take(self, size: int, held: int) -> None:
        with self._lock:
            others = self._used - held
            if others and self._used + size > self.capacity_bytes:
                raise RetryableError(
                    f"{self._used} bytes of requests are being stored, the limit is {self.capacity_bytes}: send again",
                    RETRY_AFTER_S,
                )
            self._used += size

    def _give(self, size: int) -> None:
        with self._lock:
            self._used -= size


class Lease:
    """The bytes of one request. A context manager: whatever happens, they are given back once."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._held = 0

    def grow(self, size: int) -> None:
        """Take more bytes. Raises RetryableError where others hold too many; what was held stays held."""
        if size > 0:
            self._admission._take(size, self._held)
            self._held += size

    def hand_over(self) -> "Lease":
        """Move what is held into a lease of its own; this one holds nothing any more."""
        other = Lease(self._admission)
        other._held, self._held = self._held, 0
        return other

    def release(self) -> None:
        """Give everything back; twice is no error."""
        held, self._held = self._held, 0
        self._admission._give(held)

    def __enter__(self) -> "Lease":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
