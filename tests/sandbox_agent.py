"""An agent that tries every way out: `python sandbox_agent.py ADDRESSES_JSON REPORT_FD INHERITED_FD`.

It prints one JSON object: for each try "reached", or how it was refused. Its own audit reports go to REPORT_FD.
"""

import ctypes
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable

from runreel.replay.sandbox import audit

ADDRESSES = json.loads(sys.argv[1])
REPORT_FD, INHERITED_FD = int(sys.argv[2]), int(sys.argv[3])
QUERY = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04leak\x07invalid\x00\x00\x01\x00\x01"
Try = Callable[[], object]


def address(name: str) -> object:
    value = ADDRESSES[name]
    return tuple(value) if isinstance(value, list) else value


def stream(name: str, family: int) -> Try:
    def attempt() -> None:
        with socket.socket(family, socket.SOCK_STREAM) as it:
            it.settimeout(5)
            it.connect(address(name))
            it.sendall(b"leak")
            it.recv(1)

    return attempt


def datagram(name: str, family: int, data: bytes = b"leak") -> Try:
    def attempt() -> None:
        with socket.socket(family, socket.SOCK_DGRAM) as it:
            it.settimeout(5)
            it.sendto(data, address(name))
            if data == QUERY:
                it.recvfrom(512)

    return attempt


def through_a_pair() -> None:
    one, _two = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendmsg([b"leak"], [], 0, address("unix_dgram"))


def reconnected_pair() -> None:
    one, _two = socket.socketpair()
    one.connect(address("unix"))


def in_c() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    host, port = address("tcp4")
    packed = struct.pack("<H", socket.AF_INET) + struct.pack(">H", port) + socket.inet_aton(host) + bytes(8)
    if descriptor < 0 or libc.connect(descriptor, packed, len(packed)):
        raise OSError(ctypes.get_errno(), "in C")
    os.write(descriptor, b"leak")


def in_a_thread(attempt: Try) -> Try:
    def other() -> None:
        raised: list[BaseException] = []

        def body() -> None:
            try:
                attempt()
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        if raised:
            raise raised[0]

    return other


def curl(*words: str) -> Try:
    def attempt() -> None:
        done = subprocess.run(["curl", "-s", "-m", "5", "--noproxy", "*", *words], capture_output=True)
        if done.returncode:
            raise OSError(done.returncode, "curl")

    return attempt


def tries() -> dict[str, Try]:
    host, port = address("tcp4")
    found: dict[str, Try] = {
        "tcp4": stream("tcp4", socket.AF_INET),
        "udp4": datagram("udp4", socket.AF_INET),
        "resolver": datagram("resolver", socket.AF_INET, QUERY),
        "unix": stream("unix", socket.AF_UNIX),
        "unix_dgram": datagram("unix_dgram", socket.AF_UNIX),
        "abstract": stream("abstract", socket.AF_UNIX),
        "a datagram pair": through_a_pair,
    }
    if "tcp6" in ADDRESSES:
        found["tcp6"] = stream("tcp6", socket.AF_INET6)
    found |= {f"{name} in a thread": in_a_thread(attempt) for name, attempt in dict(found).items()}
    found |= {"in C": in_c, "a stream pair": reconnected_pair}
    if shutil.which("curl"):
        found["curl"] = curl(f"http://{host}:{port}/")
        found["curl to a Unix socket"] = curl("--unix-socket", str(address("unix")), "http://localhost/")
    found["inherited"] = lambda: os.write(INHERITED_FD, b"leak")
    return found


def outcome(attempt: Try) -> str:
    try:
        attempt()
    except OSError as error:
        return f"{type(error).__name__} {error.errno}"
    return "reached"


audit.install(lambda report: os.write(REPORT_FD, json.dumps(dict(report)).encode() + b"\n"))
print(json.dumps({name: outcome(attempt) for name, attempt in tries().items()}))
