"""An agent that tries fourteen ways out, each to a listener of its own, and the calls that lead around a filter.

`python sandbox_escapes.py ADDRESSES_JSON REPORT_FD INHERITED_FD` prints one JSON object: for each escape "reached", or
how it ended; what the audit hook saw goes to REPORT_FD.
"""

import asyncio
import ctypes
import json
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable

from runreel.replay.sandbox import audit

DNS_NAME = "leak.example.com"
METADATA = "169.254.169.254"


def raw_socket(host, port):
    with socket.create_connection((host, port), 5) as it:
        it.sendall(b"leak")
        it.recv(1)


def thread(host, port):
    raised = []

    def body():
        try:
            raw_socket(host, port)
        except OSError as error:
            raised.append(error)

    other = threading.Thread(target=body)
    other.start()
    other.join()
    if raised:
        raise raised[0]


def curl(host, port):
    done = subprocess.run(["curl", "-s", "-m", "5", "--noproxy", "*", f"http://{host}:{port}/"], capture_output=True)
    if done.returncode:
        raise OSError(done.returncode, "curl")


def httpx2(host, port):
    import httpx2

    httpx2.get(f"http://{host}:{port}/", timeout=5)


def aiohttp(host, port):
    import aiohttp

    async def get():
        async with aiohttp.ClientSession() as session, session.get(f"http://{host}:{port}/") as answer:
            await answer.read()

    asyncio.run(get())


def grpc(host, port):
    import grpc

    with grpc.insecure_channel(f"{host}:{port}") as channel:
        channel.unary_unary("/leak.Leak/Call")(b"leak", timeout=10)


def udp(host, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
        it.sendto(b"leak", (host, port))


def dns(*_):
    found = socket.getaddrinfo(DNS_NAME, 80, proto=socket.IPPROTO_TCP)
    assert found[0][4][0] == "127.0.0.1"


def ipv6(host, port):
    with socket.socket(socket.AF_INET6) as it:
        it.connect((host, port))
        it.sendall(b"leak")


def unix_daemon(path):
    with socket.socket(socket.AF_UNIX) as it:
        it.connect(path)
        it.sendall(b"leak")


def ctypes_connect(host, port):
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    packed = struct.pack("<H", socket.AF_INET) + struct.pack(">H", port) + socket.inet_aton(host) + bytes(8)
    if descriptor < 0 or libc.connect(descriptor, packed, len(packed)):
        raise OSError(ctypes.get_errno(), "in C")
    os.write(descriptor, b"leak")


def inherited(*_):
    os.write(int(sys.argv[3]), b"leak")


def proxy(host, port):
    os.environ["http_proxy"] = f"http://{host}:{port}"  # as if the scrubbing of the environment had missed it
    try:
        urllib.request.urlopen("http://model.example.com/v1", timeout=5).read()
    finally:
        del os.environ["http_proxy"]


ESCAPES: dict[str, Callable[..., None]] = {
    "raw socket": raw_socket,
    "thread": thread,
    "subprocess with curl": curl,
    "httpx2": httpx2,
    "aiohttp": aiohttp,
    "grpc": grpc,
    "UDP": udp,
    "DNS": dns,
    "IPv6": ipv6,
    "AF_UNIX to a daemon": unix_daemon,
    "ctypes connect": ctypes_connect,
    "inherited descriptor": inherited,
    "proxy variables": proxy,
    "link-local metadata address": raw_socket,
}


# --- around the filter ------------------------------------------------------------------------------------------------


def call(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    # As longs: of an int on the stack the upper half is whatever was there.
    longs = (ctypes.c_long(one) if isinstance(one, int) else one for one in arguments)
    result = libc.syscall(ctypes.c_long(number), *longs)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def io_uring():
    os.close(call(425, 8, ctypes.create_string_buffer(120)))


def on_a_child(act):
    """Act on a child that waits, as whoever wants to use another process's descriptors would."""
    pid = os.fork()
    if pid == 0:
        signal.pause()
    try:
        act(pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def ptrace(pid):
    call({"x86_64": 101, "aarch64": 117}[os.uname().machine], 16, pid, 0, 0)


def process_vm_writev(pid):
    text = ctypes.create_string_buffer(8)  # at the same address in a forked child
    place = (ctypes.c_void_p * 2)(ctypes.addressof(text), 8)
    call({"x86_64": 311, "aarch64": 271}[os.uname().machine], pid, place, 1, place, 1, 0)


def pidfd_getfd(pid):
    handle = os.pidfd_open(pid)
    try:
        os.close(call(438, handle, 0, 0))
    finally:
        os.close(handle)


def machine_code(code):
    """Run bytes as a function in a forked child; raise how it ended."""
    pid = os.fork()
    if pid == 0:
        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        os._exit(0 if result > 0 else -result)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        raise OSError(status, "ended so")


def i386():
    machine_code(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid of i386); int 0x80; ret


def x32():
    call(0x40000000 + 39)  # getpid


AROUND: dict[str, Callable[[], None]] = {
    "io_uring_setup": io_uring,
    "ptrace": lambda: on_a_child(ptrace),
    "process_vm_writev": lambda: on_a_child(process_vm_writev),
    "pidfd_getfd": lambda: on_a_child(pidfd_getfd),
}
if os.uname().machine == "x86_64":
    AROUND |= {"i386 calls": i386, "x32 calls": x32}


def outcome(attempt, *arguments):
    try:
        attempt(*arguments)
    except Exception as error:
        number = getattr(error, "errno", None)
        return f"{type(error).__name__} {number}" if number is not None else type(error).__name__
    return "reached"


def main():
    report = int(sys.argv[2])
    audit.install(lambda facts: os.write(report, json.dumps(dict(facts)).encode() + b"\n"))
    addresses = json.loads(sys.argv[1])
    found = {}
    for name, escape in ESCAPES.items():
        address = addresses[name]
        found[name] = outcome(escape, *(address[:2] if isinstance(address, list) else [address]))
    print(json.dumps({"escapes": found, "around": {name: outcome(act) for name, act in AROUND.items()}}))


if __name__ == "__main__":
    main()
