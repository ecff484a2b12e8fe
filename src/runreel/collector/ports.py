"""Binds listening sockets, and says who has a port that is taken."""

import errno
import socket
from pathlib import Path

from runreel.collector.settings import split_endpoint
from runreel.errors import UsageError
from runreel.semconv.secrets import strip_secrets
from runreel.text import one_line

_LISTEN = "0A"  # state column of /proc/net/tcp
_COMMAND_CHARS = 120


def bind(endpoint: str, where: str) -> socket.socket:
    """Bind `host:port` for listening; port 0 takes a free one. `localhost` means 127.0.0.1.

    `where` is the configuration path of the endpoint. Raises UsageError naming it, and who has the port.
    """
    host, port = split_endpoint(endpoint)
    host = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        # Two sockets may be bound to one port with SO_REUSEADDR until one listens: listen here, where it can be said.
        listener.listen(512)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise refused(endpoint, where, error) from None
    return listener


def address(listener: socket.socket) -> str:
    """Return where a socket listens, `host:port`, brackets around IPv6."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def refused(endpoint: str, where: str, error: OSError) -> UsageError:
    """Turn a failed bind into what to do about it."""
    if error.errno == errno.EADDRINUSE:
        taken = f"{where}: {endpoint} is in use{_by(split_endpoint(endpoint)[1])}"
        return UsageError(f"{taken}; set {where} to another port, or to port 0 for a free one")
    reason = error.strerror or str(error)
    return UsageError(f"{where}: cannot listen on {endpoint}: {reason}; set {where} to an address of this machine")


def _by(port: int) -> str:
    owner = owner_of(port)
    return f" by process {owner[0]} ({owner[1]})" if owner else " by another process"


def owner_of(port: int) -> tuple[int, str] | None:
    """Find the process that listens on a TCP port: its id and command line. None where /proc does not tell.

    It may be anybody's command line: what looks like a secret in it is left out, as are control characters.
    """
    inodes = _listening(port)
    if not inodes:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(_target(descriptor) in inodes for descriptor in (process / "fd").iterdir()):
                words = (process / "cmdline").read_bytes().split(b"\0")
                command = " ".join(word.decode(errors="replace") for word in words if word)
                return int(process.name), one_line(strip_secrets(command), _COMMAND_CHARS) or "no command line"
        except OSError:
            continue  # ended meanwhile, or another user's: the next one
    return None


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:
        return ""  # closed meanwhile


def _listening(port: int) -> set[str]:
    """Return `socket:[inode]` of every socket that listens on a port."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue  # not Linux, or no IPv6
        for line in lines:
            columns = line.split()
            if columns[3] == _LISTEN and int(columns[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{columns[9]}]")
    return found
