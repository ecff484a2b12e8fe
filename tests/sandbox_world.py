"""A network of its own with a listener for each escape: `python sandbox_world.py UID FOLDER PATH...`, as root.

Runs sandbox_escapes.py there as the user, without the sandbox and behind two kinds of walls, and prints as JSON how
each escape ended and how many contacts its listener counted. The network (loopback with a resolver on port 53 and the
metadata address of clouds) is this process's alone. Ends with 77 where the machine does not allow that.
"""

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ordinary_user
from sandbox_escapes import METADATA
from sandbox_listeners import Listeners

_NEW_NETWORK = 0x40000000
_SET_FLAGS, _SET_ADDRESS, _UP = 0x8914, 0x8916, 0x1 | 0x8 | 0x40
STREAM, DATAGRAM = socket.SOCK_STREAM, socket.SOCK_DGRAM
INET, INET6, UNIX = socket.AF_INET, socket.AF_INET6, socket.AF_UNIX


def own_network(folder: Path) -> None:
    """Leave for a network and mounts of our own: loopback up, the metadata address on it, names asked of 127.0.0.1."""
    if ordinary_user._LIBC.unshare(_NEW_NETWORK):
        raise PermissionError("no network namespace")
    ordinary_user.own_mounts()
    with socket.socket(INET, DATAGRAM) as it:
        fcntl.ioctl(it, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))
        address = struct.pack("16sHH4s8x", b"lo:1", INET, 0, socket.inet_aton(METADATA))
        fcntl.ioctl(it, _SET_ADDRESS, address)
    names = folder / "resolv.conf"
    names.write_text("nameserver 127.0.0.1\noptions timeout:5 attempts:1\n")
    ordinary_user.mount(str(names), os.path.realpath("/etc/resolv.conf"), None, 0x1000)


def wanted(folder: Path) -> dict[str, tuple[int, int, object]]:
    here = ("127.0.0.1", 0)
    streams = ["raw socket", "thread", "subprocess with curl", "httpx2", "aiohttp", "ctypes connect"]
    return {
        **dict.fromkeys((*streams, "inherited descriptor", "proxy variables"), (INET, STREAM, here)),
        "UDP": (INET, DATAGRAM, here),
        "DNS": (INET, DATAGRAM, ("127.0.0.1", 53)),
        "IPv6": (INET6, STREAM, ("::1", 0)),
        "AF_UNIX to a daemon": (UNIX, STREAM, str(folder / "daemon.sock")),
        "link-local metadata address": (INET, STREAM, (METADATA, 80)),
    }


class Calls:
    """A gRPC server that counts its calls."""

    def __init__(self) -> None:
        import grpc

        self.count = 0
        self._server = grpc.server(ThreadPoolExecutor(1))
        handler = grpc.unary_unary_rpc_method_handler(self._call)
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("leak.Leak", {"Call": handler}),))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def _call(self, request: bytes, _: object) -> bytes:
        self.count += 1
        return request

    def counts(self) -> dict[str, int]:
        found, self.count = self.count, 0
        return {"grpc": found} if found else {}


def main() -> None:
    uid, folder, paths = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    try:
        own_network(folder)
    except OSError as error:
        print(f"this machine does not let root make a network: {error}", file=sys.stderr)
        sys.exit(ordinary_user.NOT_ALLOWED)
    listeners, calls = Listeners(folder, wanted(folder)), Calls()
    addresses = {**listeners.addresses, "grpc": ("127.0.0.1", calls.port)}
    here = Path(__file__).parent
    argv = [sys.executable, str(here / "sandbox_phases.py"), json.dumps(addresses)]
    become = [sys.executable, str(here / "ordinary_user.py"), uid, *paths, "--"]
    phases = {}
    with subprocess.Popen(
        [*become, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
    ) as driver:
        for line in driver.stdout:
            phase = json.loads(line)
            phase["counts"] = {**listeners.counts(), **calls.counts()}
            phases[phase["name"]] = phase
            driver.stdin.write("\n")
            driver.stdin.flush()
    if driver.returncode:
        sys.exit(driver.returncode)
    print(json.dumps({"addresses": addresses, **phases}))


if __name__ == "__main__":
    main()
