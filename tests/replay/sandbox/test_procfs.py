"""Reading /proc and socket addresses."""

import os
import socket
import struct
import subprocess
import sys
import threading

import pytest

from runreel.replay.sandbox import procfs


def test_a_thread_is_told_as_its_process() -> None:
    tids: list[int] = []
    gate = threading.Event()
    started = threading.Event()

    def body() -> None:
        tids.append(threading.get_native_id())
        started.set()
        gate.wait()

    thread = threading.Thread(target=body)
    thread.start()
    try:
        assert started.wait(20)
        who = procfs.who(tids[0])
    finally:
        gate.set()
        thread.join()

    assert who.pid == os.getpid() != tids[0]
    assert who.cmdline == tuple(sys.orig_argv) or who.cmdline[1:] == tuple(sys.orig_argv[1:])


def test_a_process_that_has_ended_leaves_its_number_only() -> None:
    process = subprocess.Popen(["/bin/true"])
    process.wait()

    assert procfs.who(process.pid) == (process.pid, "?", ())
    assert procfs.address(process.pid, 8, 16) == ("", "")
    assert list(procfs.descendants(process.pid)) == []


@pytest.mark.parametrize(
    ("raw", "parsed"),
    [
        (struct.pack("<H", 2) + b"\x01\xbb\xcb\x00\x71\x01" + bytes(8), ("AF_INET", "203.0.113.1:443")),
        (
            struct.pack("<H", 10)
            + b"\x00\x50"
            + bytes(4)
            + socket.inet_pton(socket.AF_INET6, "2001:db8::1")
            + bytes(4),
            ("AF_INET6", "[2001:db8::1]:80"),
        ),
        (struct.pack("<H", 1) + b"/run/x.sock\0garbage", ("AF_UNIX", "/run/x.sock")),
        (struct.pack("<H", 1) + b"\0name", ("AF_UNIX", "@name")),
        (struct.pack("<H", 1), ("AF_UNIX", "")),
        (struct.pack("<H", 2) + b"\x01", ("AF_INET", "")),
        (struct.pack("<H", 0) + bytes(14), ("AF_UNSPEC", "")),
        (struct.pack("<H", 999) + bytes(14), ("family 999", "")),
        (b"\x02", ("", "")),
        (b"", ("", "")),
    ],
)
def test_socket_addresses_are_taken_apart(raw: bytes, parsed: tuple[str, str]) -> None:
    assert procfs.parse_address(raw) == parsed


def test_descendants_are_children_and_theirs() -> None:
    inner = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        grandchild = int(process.stdout.readline())
        found = list(procfs.descendants(os.getpid()))
        process.stdin.close()

    assert {process.pid, grandchild} <= set(found)
