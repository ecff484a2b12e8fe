"""Notes the hosts that a run connects to outside of any recorded call: what went that way, no record holds.

An audit hook sees each connection of the process. Inside of a call (a model's, a tool's, an index's) it is part of
what is recorded; the exporter's own happen where no run is, or where instrumentation is suppressed. A host that a model
span of the run names as its server is none either, whenever the connection to it was made.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry import context, trace

from runreel.record.losses import safely

_INSIDE: Final = frozenset(
    {"chat", "text_completion", "generate_content", "embeddings", "execute_tool", "retrieval"}
    | {f"{op}_memory" for op in ("search", "create", "update", "upsert", "delete")}
)
_SUPPRESSED: Final = ("suppress_instrumentation", "suppress_http_instrumentation")
_MOST_HOSTS: Final = 32


@dataclass(slots=True)
class Hosts:
    """The hosts of one run. `looked_up` are names asked for, by thread: a connection knows its address alone."""

    connected: dict[str, None] = field(default_factory=dict)
    served: set[str] = field(default_factory=set)
    looked_up: dict[int, str] = field(default_factory=dict)

    def found(self) -> list[str]:
        """Return the hosts that were connected to outside of any call, each once, in order."""
        return [host for host in self.connected if host not in self.served][:_MOST_HOSTS]


_hosts: ContextVar[Hosts | None] = ContextVar("runreel_hosts", default=None)
_installed: list[bool] = []


def install() -> None:
    """Watch this process's connections from now on; a hook cannot be taken out again, and there is one."""
    if not _installed:
        _installed.append(True)
        sys.addaudithook(_hear)


@contextmanager
def noting() -> Iterator[Hosts]:
    """Note what the block connects to."""
    hosts = Hosts()
    token = _hosts.set(hosts)
    try:
        yield hosts
    finally:
        _hosts.reset(token)


def served(address: object) -> None:
    """Hear that a model span names the host that it called."""
    hosts = _hosts.get()
    if hosts is not None and isinstance(address, str):
        hosts.served.add(address)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    # What a hook raises would keep the agent from connecting.
    if event in ("socket.connect", "socket.getaddrinfo"):
        safely("bypassed", lambda: _note(event, arguments), None)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    hosts = _hosts.get()
    if hosts is None:
        return
    if event == "socket.getaddrinfo":
        name = arguments[0]
        if isinstance(name, bytes):
            name = name.decode("ascii", "replace")
        if isinstance(name, str):
            hosts.looked_up[threading.get_ident()] = name
        return
    address = arguments[1]
    if isinstance(address, tuple) and address and not _inside():
        hosts.connected[hosts.looked_up.get(threading.get_ident(), str(address[0]))] = None


def _inside() -> bool:
    if any(context.get_value(key) for key in _SUPPRESSED):
        return True
    attributes = getattr(trace.get_current_span(), "attributes", None) or {}
    return attributes.get("gen_ai.operation.name") in _INSIDE
