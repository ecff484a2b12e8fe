"""The child's own eyes: an audit hook that says where Python code wanted to connect, and from which line.

The kernel's report has who tried, and the address; this adds the name that was looked up and the place in the code.
Runs inside the agent, so it imports little, catches nothing and changes nothing: it only looks on.
"""

import os
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType

from runreel.replay import frames

Report = Callable[[Mapping[str, str]], None]

_WITH_ADDRESS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind"})
_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"})
_OPENED = "socket.__new__"
_EVENTS = _WITH_ADDRESS | _LOOKUPS | {_OPENED}
_MOST_REPORTS = 10_000


def install(report: Report) -> None:
    """Report each socket call of Python code in this process from now on, each kind once a place in the code.

    A report is a flat map of texts: `event` (`socket.connect`...), `target` (as in findings.Attempt; a look-up's host
    is as it was asked for), `family`, `kind`, `where` (`file:line in function`, the nearest code outside of Python's
    own), `stack` (the agent's frames alone, one a line, innermost first), `pid`, `thread`, `ns` (monotonic clock). The
    first one is `audit.installed` and says that this process (after a fork: that one) is watched. The hook cannot be
    taken out again. `report` is called in the thread that makes the call, one at a time; what it does with sockets
    itself is not reported, and what it raises reaches the agent's code.
    """
    watcher = _Watcher(report)
    watcher.announce()
    os.register_at_fork(after_in_child=watcher.announce)
    sys.addaudithook(watcher)


class _Watcher:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._start()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._inside = threading.local()
        self._said: set[tuple[str, ...]] = set()

    def announce(self) -> None:
        """Say that this process is watched. After a fork: with a lock that no lost thread holds."""
        self._start()
        cmdline = shlex.join(sys.orig_argv)
        self._say({"event": "audit.installed", "command": sys.executable.rpartition("/")[2], "cmdline": cmdline})

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in _EVENTS or getattr(self._inside, "reporting", False):
            return
        frame = sys._getframe(1)
        if event == _OPENED and frame.f_code.co_name == "__init__" and frame.f_locals.get("fileno") is not None:
            return  # a socket object around a descriptor that exists: socketpair, accept, dup
        facts = {"event": event, **_describe(event, arguments), "where": _where(frame), "stack": _stack(frame)}
        key = tuple(facts.values())
        with self._lock:
            if key in self._said or len(self._said) >= _MOST_REPORTS:
                return
            self._said.add(key)
        self._say({**facts, "thread": str(threading.get_native_id())})

    def _say(self, facts: Mapping[str, str]) -> None:
        self._inside.reporting = True
        try:
            with self._lock:
                self._report({**facts, "pid": str(os.getpid()), "ns": str(time.monotonic_ns())})
        finally:
            self._inside.reporting = False


def _describe(event: str, arguments: tuple[object, ...]) -> dict[str, str]:
    """Return family, kind and target of a socket event (arguments as in CPython's audit table)."""
    if event in _LOOKUPS:
        host, port = (*arguments, None)[:2] if event == "socket.getaddrinfo" else (arguments[0], None)
        if isinstance(host, tuple):
            host, port = host[:2]
        return {"family": "", "kind": "", "target": _text(host) + (f":{_text(port)}" if port is not None else "")}
    it = arguments[0]
    if event == _OPENED:
        family, kind = arguments[1], arguments[2]
        return {"family": _family(family), "kind": _kind(kind), "target": ""}
    family, kind = (it.family, it.type) if isinstance(it, socket.SocketType) else ("", "")
    return {"family": _family(family), "kind": _kind(kind), "target": _target(arguments[1] if arguments[1:] else None)}


def _target(address: object) -> str:
    if isinstance(address, tuple) and len(address) >= 2:
        host, port = _text(address[0]), _text(address[1])
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    path = _text(address)
    return f"@{path[1:]}" if path.startswith("\0") else path


def _text(value: object) -> str:
    if value is None:
        return ""
    return os.fsdecode(value) if isinstance(value, str | bytes) else str(value)


def _family(value: object) -> str:
    if not isinstance(value, int):
        return ""
    try:
        return socket.AddressFamily(value).name
    except ValueError:
        return f"family {value}"


def _kind(value: object) -> str:
    if not isinstance(value, int):
        return ""
    try:
        return socket.SocketKind(value & 0xF).name
    except ValueError:
        return ""


def _where(frame: FrameType) -> str:
    """Return the nearest place outside the standard library; the nearest of all where there is none."""
    outside = (one for one in frames.outwards(frame) if not frames.in_library(one))
    return frames.place(next(outside, frame))


def _stack(frame: FrameType) -> str:
    """Return the agent's own frames. A thread of a pool has none: what the main thread is at says the most then."""
    lines = frames.agents_places(frame)
    if not lines:
        main = sys._current_frames().get(threading.main_thread().ident or 0)
        lines = [f"{line}, the main thread" for line in frames.agents_places(main)[:1]]
    return "\n".join(lines)
