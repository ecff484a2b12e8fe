"""Runs a program as another user: `python ordinary_user.py UID PATH... -- ARGV`, started as root.

The PATHs are made reachable for that user first, in a mount namespace of this process alone: a folder on the way that
only root may enter is covered by an empty one, with the PATHs below it put back in their places. Nothing of this is
seen outside. Ends with 77 where the machine does not allow it.
"""

import ctypes
import os
import sys
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS, _BIND, _RECURSIVE, _PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
NOT_ALLOWED = 77


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = (word.encode() if word is not None else None for word in (source, target, kind))
    if _LIBC.mount(*words, flags, data.encode() if data else None):
        raise OSError(ctypes.get_errno(), "mount", target)


def blocker(path: Path) -> Path | None:
    """Return the first folder on the way to a path that others may not enter."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)


def own_mounts() -> None:
    if _LIBC.unshare(_NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "unshare")
    mount("none", "/", None, _RECURSIVE | _PRIVATE)


def open_up(paths: list[Path]) -> None:
    blocked: dict[Path, list[Path]] = {}
    for path in paths:
        folder = blocker(path)
        if folder is not None:
            blocked.setdefault(folder, []).append(path)
    if blocked:
        own_mounts()
    for folder, below in blocked.items():
        covered = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        mount("none", str(folder), "tmpfs", 0, "mode=755")
        for path in below:
            path.mkdir(parents=True, exist_ok=True)
            mount(f"/proc/self/fd/{covered}/{path.relative_to(folder)}", str(path), None, _BIND | _RECURSIVE)
        os.close(covered)


def main() -> None:
    uid = int(sys.argv[1])
    split = sys.argv.index("--")
    try:
        open_up([Path(word).resolve() for word in sys.argv[2:split]])
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    except PermissionError as error:
        print(f"this machine does not let root become another user: {error}", file=sys.stderr)
        sys.exit(NOT_ALLOWED)
    os.execv(sys.argv[split + 1], sys.argv[split + 1 :])


if __name__ == "__main__":
    main()
