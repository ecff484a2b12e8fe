"""Says who has a data folder open: a lock file with the owner's process id, held by the kernel until that one ends."""

import fcntl
import json
import os
from pathlib import Path

from runreel.errors import LockedError, StoreError

_COLLECTOR = "collector.json"


class Lock:
    """A lock that this process holds. `release` is safe twice; the kernel releases it when the process dies."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Let the folder go."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            try:
                os.ftruncate(descriptor, 0)
            finally:
                os.close(descriptor)


def take(path: Path) -> Lock:
    """Take the lock of a store's folder; its file stands beside the folder.

    Raises:
        LockedError: names the folder and the process that has it, where that is known.
        StoreError: the lock file cannot be written.
    """
    file = path.with_name(f"{path.name}.lock")
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"cannot use the data folder {path.parent}: {file.name}: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise LockedError(_refusal(path, file)) from None
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"%d\n" % os.getpid())
    except OSError as error:  # the disk is full, say
        os.close(descriptor)
        raise StoreError(f"cannot use the data folder {path.parent}: {file.name}: {error.strerror}") from None
    return Lock(descriptor)


def holder(path: Path) -> int | None:
    """Return the process that has a store's folder open, by its lock; None where there is none or it is unknown."""
    return _pid_in(path.with_name(f"{path.name}.lock"))


def _refusal(path: Path, file: Path) -> str:
    holder = _pid_in(file)
    if holder == os.getpid():
        return f"the store {path} is open in this process already; close it first"
    collector = _collector_pid(path.parent)
    if holder is not None and holder == collector:
        who, advice = (
            f"the collector, process {holder}",
            "commands ask it by themselves; stop it to open the store here",
        )
    else:
        who, advice = f"process {holder}" if holder else "another process", "wait for it to end, or stop it"
    return f"the store {path} is open in {who}: one process at a time may have it; {advice}"


def _pid_in(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        # Just taken and not written yet, or not ours to read: the message does without.
        return None


def _collector_pid(home: Path) -> int | None:
    try:
        return int(json.loads((home / _COLLECTOR).read_text(encoding="utf-8"))["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        # No collector, or a stale or foreign file: whoever reads it for its address says so.
        return None
